// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// database is the etcd of a cluster of its own, spoken to by its JSON gateway
// (https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/).
type database struct {
	t   *testing.T
	url string
}

// smallCluster starts an API server of its own, whose etcd takes 16 MiB.
func smallCluster(t *testing.T) (*database, *apitest.Server) {
	t.Helper()
	portion.Leave(t, left) // before an API server of its own is started
	etcd := &envtest.Etcd{}
	etcd.Configure().Set("quota-backend-bytes", fmt.Sprint(16<<20))
	assets := server.Real(t).Assets
	environment := &envtest.Environment{BinaryAssetsDirectory: assets}
	environment.ControlPlane.Etcd = etcd
	t.Cleanup(func() { _ = environment.Stop() })
	config, err := apitest.Launch(environment)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apitest.InstallKinds(config, filepath.Join(apitest.ModuleRoot(t), "config", "crd", "bases")); err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	direct, err := client.NewWithWatch(config, client.Options{Scheme: apitest.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return &database{t, etcd.URL.String()}, &apitest.Server{Config: config, Client: direct, Assets: assets}
}

// fillUp writes until etcd takes no more.
func (d *database) fillUp() {
	d.t.Helper()
	value := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{'x'}, 1<<20))
	for i := range 100 {
		status, answer := d.call("/v3/kv/put", map[string]any{"key": key(fmt.Sprintf("/fill/%d", i)), "value": value})
		if status == http.StatusOK {
			continue
		}
		if !strings.Contains(fmt.Sprint(answer), "database space exceeded") {
			d.t.Fatalf("etcd answers %d: %v", status, answer)
		}
		return
	}
	d.t.Fatal("etcd is not full")
}

// makeRoom does what https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota says.
func (d *database) makeRoom() {
	d.t.Helper()
	gone := d.must("/v3/kv/deleterange", map[string]any{"key": key("/fill/"), "range_end": key("/fill0")})
	header, _ := gone["header"].(map[string]any)
	d.must("/v3/kv/compaction", map[string]any{"revision": header["revision"], "physical": true})
	d.must("/v3/maintenance/defragment", map[string]any{})
	alarms, _ := d.must("/v3/maintenance/alarm", map[string]any{"action": "GET"})["alarms"].([]any)
	for _, alarm := range alarms {
		raised, _ := alarm.(map[string]any)
		raised["action"] = "DEACTIVATE"
		d.must("/v3/maintenance/alarm", raised)
	}
}

func key(name string) string { return base64.StdEncoding.EncodeToString([]byte(name)) }

func (d *database) must(path string, request map[string]any) map[string]any {
	d.t.Helper()
	status, answer := d.call(path, request)
	if status != http.StatusOK {
		d.t.Fatalf("etcd answers %s with %d: %v", path, status, answer)
	}
	return answer
}

func (d *database) call(path string, request map[string]any) (status int, answer map[string]any) {
	d.t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		d.t.Fatal(err)
	}
	posted, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.url+path, bytes.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(posted)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		d.t.Fatal(err)
	}
	return response.StatusCode, answer
}

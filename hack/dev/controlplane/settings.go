// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/client-go/util/keyutil"
)

// controllers are those without which objects would not behave as they do in a cluster.
var controllers = []string{
	"clusterrole-aggregation-controller",
	"garbage-collector-controller",
	"namespace-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
}

// settings are what the processes are told: where the others listen, and which keys to use.
type settings struct {
	binaries Binaries
	dir      string
	fresh    bool
	etcdPort int
	apiPort  int
	// Two authorities, so that a client of the API server is none of etcd.
	clients *authority
	storage *authority

	etcdCertificate, etcdKey       string
	storageClient                  tls.Certificate
	storageCertificate, storageKey string
	servingCertificate, servingKey string
	accountKey, accountPublicKey   string
}

// newSettings chooses free ports, and opens or makes the keys in a folder.
func newSettings(ctx context.Context, binaries Binaries, dir string, fresh bool) (*settings, error) {
	s := &settings{binaries: binaries, dir: dir, fresh: fresh}
	keys := filepath.Join(dir, "keys")
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return nil, err
	}
	ports, err := freePorts(ctx, 2)
	if err != nil {
		return nil, err
	}
	s.etcdPort, s.apiPort = ports[0], ports[1]
	if s.clients, err = openAuthority(keys, "kubernetes"); err != nil {
		return nil, err
	}
	if s.storage, err = openAuthority(keys, "etcd"); err != nil {
		return nil, err
	}
	return s, s.makeIdentities(keys)
}

func (s *settings) makeIdentities(keys string) error {
	identity, err := s.storage.server("etcd")
	if err != nil {
		return err
	}
	if s.etcdCertificate, s.etcdKey, err = s.storage.write("etcd-server", identity); err != nil {
		return err
	}
	if identity, err = s.storage.client("kube-apiserver"); err != nil {
		return err
	}
	if s.storageClient, err = tls.X509KeyPair(identity.certificate, identity.key); err != nil {
		return err
	}
	if s.storageCertificate, s.storageKey, err = s.storage.write("etcd-client", identity); err != nil {
		return err
	}
	if identity, err = s.clients.server("kube-apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc"); err != nil {
		return err
	}
	if s.servingCertificate, s.servingKey, err = s.clients.write("kube-apiserver", identity); err != nil {
		return err
	}

	s.accountKey, s.accountPublicKey = filepath.Join(keys, "service-accounts.key"), filepath.Join(keys, "service-accounts.pub")
	key, _, err := openKey(s.accountKey)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: keyutil.PublicKeyBlockType, Bytes: public})
	return os.WriteFile(s.accountPublicKey, block, 0o600)
}

func (s *settings) endpoint() string { return "https://127.0.0.1:" + strconv.Itoa(s.apiPort) }

func (s *settings) etcdURL() string { return "https://127.0.0.1:" + strconv.Itoa(s.etcdPort) }

func (s *settings) etcdArguments() []string {
	arguments := []string{
		"--data-dir=" + filepath.Join(s.dir, "etcd"),
		"--listen-client-urls=" + s.etcdURL(),
		"--advertise-client-urls=" + s.etcdURL(),
		"--cert-file=" + s.etcdCertificate,
		"--key-file=" + s.etcdKey,
		"--trusted-ca-file=" + s.storage.file,
		"--client-cert-auth",
		// There are no peers, but etcd insists on listening for them.
		"--listen-peer-urls=https://127.0.0.1:0",
		"--peer-cert-file=" + s.etcdCertificate,
		"--peer-key-file=" + s.etcdKey,
		"--peer-trusted-ca-file=" + s.storage.file,
		"--peer-client-cert-auth",
		"--log-level=warn",
	}
	if s.fresh {
		arguments = append(arguments, "--unsafe-no-fsync")
	}
	return arguments
}

func (s *settings) etcdHealthy(ctx context.Context) error {
	roots := x509.NewCertPool()
	roots.AddCert(s.storage.certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{s.storageClient},
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.etcdURL()+"/health", nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // read only
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answers %s", response.Status)
	}
	return nil
}

func (s *settings) apiServerArguments() []string {
	return []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(s.apiPort),
		"--advertise-address=127.0.0.1",
		// The address is a loopback one, which the object "endpoints/kubernetes" must not hold.
		"--endpoint-reconciler-type=none",
		"--etcd-servers=" + s.etcdURL(),
		"--etcd-cafile=" + s.storage.file,
		"--etcd-certfile=" + s.storageCertificate,
		"--etcd-keyfile=" + s.storageKey,
		"--authorization-mode=RBAC",
		"--client-ca-file=" + s.clients.file,
		"--tls-cert-file=" + s.servingCertificate,
		"--tls-private-key-file=" + s.servingKey,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + s.accountPublicKey,
		"--service-account-signing-key-file=" + s.accountKey,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--allow-privileged",
		"--profiling=false",
	}
}

func (s *settings) controllerManagerArguments(kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--controllers=" + strings.Join(controllers, ","),
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + s.accountKey,
		"--root-ca-file=" + s.clients.file,
		"--leader-elect=false",
		// It serves nothing that anybody here asks for.
		"--secure-port=0",
		"--profiling=false",
	}
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

// R5.4: what people can do by the page is for those who have shown who they are, or are on the machine itself; a mistake is told in words that say what to do.
func TestActionsWithoutAuthAreForLoopbackOnly(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                    "",
		"--dashboard-actions": "",
		"--dashboard-actions --dashboard-bind-address=localhost:1":            "",
		"--dashboard-actions --dashboard-bind-address=[::1]:1":                "",
		"--dashboard-actions --dashboard-bind-address=127.9.9.9:1":            "",
		"--dashboard-actions --dashboard-bind-address=0":                      "",
		"--dashboard-bind-address=:8083":                                      "",
		"--dashboard-actions --dashboard-auth --dashboard-bind-address=:8083": "",
		"--dashboard-actions --dashboard-bind-address=:8083":                  "bind it to loopback",
		"--dashboard-actions --dashboard-bind-address=0.0.0.0:8083":           "--dashboard-auth",
		"--dashboard-actions --dashboard-bind-address=[::]:8083":              "--dashboard-bind-address=127.0.0.1:8083",
		"--dashboard-actions --dashboard-bind-address=10.0.0.1:8083":          "bind it to loopback",
		"--dashboard-actions --dashboard-bind-address=localhost.evil.org:1":   "bind it to loopback",
		"--dashboard-bind-address=8083":                                       "is not an address",
		"--dashboard-host=https://feeds.example.org":                          "without a scheme",
		"--dashboard-host=feeds.example.org":                                  "",
	} {
		_, _, err := parseFlags(strings.Fields(args), io.Discard)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// settings is as much of a manager as clients are made of.
type settings struct{ ctrl.Manager }

func (settings) GetConfig() *rest.Config        { return &rest.Config{Host: "http://127.0.0.1:1"} }
func (settings) GetScheme() *runtime.Scheme     { return runtime.NewScheme() }
func (settings) GetRESTMapper() meta.RESTMapper { return meta.NewDefaultRESTMapper(nil) }

// R3.13, R5.4: people show as many tokens as they care to make. The log masks them, and they are not the operator's own, which would never be forgotten: then
// no room would be left for what tenants hold.
func TestTokensOfPeopleAreMaskedAndForgotten(t *testing.T) {
	t.Parallel()
	remembered := map[string]string{}
	write := writerFor(settings{}, func(owner, secret string) { remembered[secret] = owner })
	for _, token := range []string{"the token of ann", "the token of bob"} {
		if _, err := write(token); err != nil {
			t.Fatal(err)
		}
		if owner, is := remembered[token]; !is || owner == "" || len(validation.IsDNS1123Label(owner)) == 0 {
			t.Errorf("it is remembered: %t, as one of %q", is, owner)
		}
	}
	if _, err := write(""); err == nil {
		t.Error("nobody writes")
	}
}

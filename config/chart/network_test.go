// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"net/netip"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/feed-operator/feed-operator/internal/portion"
	"github.com/feed-operator/feed-operator/internal/tooltest"
)

// out reports whether a policy lets TCP out to an address, as the comments on NetworkPolicyEgressRule and IPBlock say. Rules for pods let nothing out to
// an address of which nobody knows a pod.
func out(t *testing.T, policy *networkingv1.NetworkPolicy, to string) bool {
	t.Helper()
	address := netip.MustParseAddrPort(to)
	for _, rule := range policy.Spec.Egress {
		port := len(rule.Ports) == 0
		for _, of := range rule.Ports {
			port = port || string(*of.Protocol) == "TCP" && of.Port.IntValue() == int(address.Port())
		}
		peer := len(rule.To) == 0
		for _, of := range rule.To {
			if of.IPBlock == nil || !netip.MustParsePrefix(of.IPBlock.CIDR).Contains(address.Addr()) {
				continue
			}
			excepted := false
			for _, except := range of.IPBlock.Except {
				excepted = excepted || netip.MustParsePrefix(except).Contains(address.Addr())
			}
			peer = peer || !excepted
		}
		if port && peer {
			return true
		}
	}
	return false
}

// R3.7, R6.2: by the network's own rules, too, the operator reaches DNS, the API server and the world, and nothing private that nobody has named.
func TestThePolicyLetsOutNothingPrivate(t *testing.T) {
	t.Parallel()
	always := map[string]bool{
		"93.184.216.34:443": true, "[2606:2800:220:1::1]:443": true, "93.184.216.34:8000": true,
		"10.96.0.10:53": true, "[fd00::a]:53": true, // DNS
		"10.96.0.1:80": false, "10.96.0.1:8080": false, "192.168.1.1:80": false, "172.16.0.1:5432": false, "100.64.0.1:80": false,
		"169.254.169.254:80": false, "[fd00:ec2::254]:80": false, "[fe80::1]:80": false,
	}
	renderings := map[string]struct {
		text  string
		wants map[string]bool
	}{
		"kustomize": {kustomized(t, "default"), map[string]bool{"10.96.0.1:443": true, "172.18.0.2:6443": true, "[fd00::1]:6443": true, "192.0.2.1:80": true}},
		"helm":      {rendered(t, "feeds"), map[string]bool{"10.96.0.1:443": true, "172.18.0.2:6443": true, "[fd00::1]:6443": true, "192.0.2.1:80": true}},
		"helm, where the API server is known": {rendered(t, "feeds", "--set=networkPolicy.apiServer.cidrs={10.96.0.1/32,172.18.0.2/32}"),
			map[string]bool{"10.96.0.1:443": true, "172.18.0.2:6443": true, "10.96.0.2:443": false, "172.18.0.3:6443": false}},
		"helm, with ranges of one's own": {
			rendered(t, "feeds", "--set=allowCIDRs={10.1.2.0/24}", "--set=denyCIDRs={192.0.2.0/24,2001:db8::/32}"),
			map[string]bool{"10.1.2.3:11434": true, "10.1.3.3:11434": false, "192.0.2.1:80": false, "[2001:db8::1]:443": false},
		},
	}
	for name, rendering := range renderings {
		var policy networkingv1.NetworkPolicy
		only(t, objects(t, rendering.text), "NetworkPolicy", &policy)
		for _, wants := range []map[string]bool{always, rendering.wants} {
			for to, want := range wants {
				if got := out(t, &policy, to); got != want {
					t.Errorf("%s: lets out to %s: %t", name, to, got)
				}
			}
		}
		if len(policy.Spec.PolicyTypes) != 2 || len(policy.Spec.Ingress) != 2 {
			t.Errorf("%s: %+v", name, policy.Spec)
		}
	}
}

// R6.2: what makes no sense is refused before anything is installed, in words that say what to do.
func TestValuesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for set, want := range portion.Some(map[string]string{
		"replica=2":                                             "additional properties 'replica' not allowed",
		"metrics.auht=false":                                    "additional properties 'auht' not allowed",
		"replicas=-1":                                           "minimum",
		"watchNamespaces={Team A}":                              "does not match pattern",
		"allowCIDRs={10.0.0.1}":                                 "does not match pattern",
		"image.digest=sha256:short":                             "does not match pattern",
		"feeds.baseURL=feeds.example.org":                       "does not match pattern",
		"extraArgs={workers=3}":                                 "does not match pattern",
		"dashboard.expose=true":                                 "dashboard.expose needs dashboard.auth",
		"serviceAccount.create=false":                           "serviceAccount.create=false needs serviceAccount.name",
		"serviceMonitor.enabled=true,metrics.enabled=false":     "serviceMonitor.enabled needs metrics.enabled",
		"prometheusRule.alerts.deadLetters.severity=null":       "missing property 'severity'",
		"prometheusRule.alerts.queueGrowing.for=half an hour":   "does not match pattern",
		"networkPolicy.apiServer.ports={0}":                     "minimum",
		"podDisruptionBudget.maxUnavailable=many":               "does not match pattern",
		"feeds.service.type=ExternalName":                       "must be one of",
		"metrics.readers[0].name=prometheus-k8s":                "missing property 'namespace'",
		"imagePullSecrets={registry}":                           "got string, want object",
		"serviceAccount.annotations.example\\.org/enabled=true": "got boolean, want string",
	}, 8) {
		if _, err := tooltest.Try(t, "helm", "", "template", "feeds", ".", "--set="+set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", set, want, err)
		}
	}
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	goflag "flag"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/feed-operator/feed-operator/internal/budget"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/shard"
)

// flags are what a person can set when the operator is started.
type flags struct {
	pageFlags

	kubeconfig                   string
	metricsAddress, probeAddress string
	metricsAuth                  bool
	metricsCertDir               string
	feedsAddress                 string
	pprofAddress                 string
	feedsBaseURL                 *url.URL
	otlpEndpoint                 string
	leaderElect                  bool
	leaderElectionNamespace      string
	shards                       int
	namespaces                   []string
	allowCIDRs, denyCIDRs        []netip.Prefix
	allowHTTP                    bool
	workers, pollWorkers         int
	documentMemory               resource.QuantityValue
	requestsPerHost              int
	hostInterval                 time.Duration
	kubeQPS                      float32
	kubeBurst                    int
	log                          zap.Options
}

// parseFlags reads the command line. It is done when all that was asked for was an answer, such as
// the help.
func parseFlags(args []string, out io.Writer) (parsed *flags, done bool, err error) {
	f := &flags{}
	set := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	set.SortFlags = false
	set.SetOutput(out)
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "file that says how to reach the API server; empty inside a cluster")
	set.StringArrayVar(&f.namespaces, "namespace", nil, "namespace to work in; repeatable. Default: all")
	set.StringVar(&f.feedsAddress, "feeds-bind-address", ":8082", "address that serves the summaries as Atom and JSON feeds; 0 to turn it off")
	baseURL := set.String("feeds-base-url", "", "URL under which readers reach that address, such as https://feeds.example.org")
	set.StringVar(&f.pageAddress, "dashboard-bind-address", "127.0.0.1:8083", "address that serves the web page; 0 to turn it off")
	set.BoolVar(&f.pageAuth, "dashboard-auth", false, "ask who opens the web page for a token of the cluster, "+
		"and show them the namespaces in which they may list FeedItems")
	set.BoolVar(&f.pageActions, "dashboard-actions", false, "let people retry items, and suspend and resume sources, by the web page")
	set.StringArrayVar(&f.pageHosts, "dashboard-host", nil, "name under which browsers reach the web page, beside localhost and addresses; repeatable")
	set.StringVar(&f.metricsAddress, "metrics-bind-address", ":8080", "address that serves metrics; 0 to turn it off")
	set.BoolVar(&f.metricsAuth, "metrics-auth", false, "serve metrics by https, and only to those whom the API server lets get /metrics by their token")
	set.StringVar(&f.metricsCertDir, "metrics-cert-dir", "", "folder with tls.crt and tls.key for --metrics-auth. "+
		"Default: a certificate that the operator signs itself")
	set.StringVar(&f.otlpEndpoint, "otlp-endpoint", "", "URL of a collector that takes traces by OTLP over HTTP, such as http://collector.observability:4318. "+
		"Default: what OTEL_EXPORTER_OTLP_ENDPOINT says; without both, no traces are made")
	set.StringVar(&f.probeAddress, "health-probe-bind-address", ":8081", "address that serves /healthz and /readyz; 0 to turn it off")
	set.StringVar(&f.pprofAddress, "pprof-bind-address", "0", "address that serves profiles for go tool pprof, such as 127.0.0.1:6060; 0 to turn it off")
	set.BoolVar(&f.leaderElect, "leader-elect", false, "let one of several replicas do the work, the others stand by")
	set.StringVar(&f.leaderElectionNamespace, "leader-election-namespace", "", "namespace of the leases; inside a cluster, that of the operator")
	set.IntVar(&f.shards, "shards", 1, "parts into which the namespaces are divided, for several replicas to work at the same time; with --leader-elect")
	allowed := set.StringArray("allow-cidr", nil, "private, loopback or other special address range that may be reached; "+
		"an address at which a cloud serves credentials must be named alone, such as 169.254.169.254/32; repeatable")
	denied := set.StringArray("deny-cidr", nil, "address range that is never reached, be it public or within --allow-cidr; repeatable")
	set.BoolVar(&f.allowHTTP, "allow-http", false, "allow plain http:// for providers and destinations")
	set.IntVar(&f.workers, "workers", 128, "items of one source worked on at the same time at most; "+
		"those of a namespace come to twice, and those of all namespaces to four times as many at most")
	set.IntVar(&f.pollWorkers, "poll-workers", 32, "feeds of a namespace polled at the same time at most while none of them fails; "+
		"with those that fail or are new it comes to twice, and of all namespaces to four times as many at most")
	f.documentMemory.Quantity = *resource.NewQuantity(budget.Default, resource.BinarySI)
	set.Var(&f.documentMemory, "document-memory", "memory for all that is fetched, decoded and parsed at the same time, such as 256Mi; 64Mi at least")
	set.IntVar(&f.requestsPerHost, "requests-per-host", 2, "requests to one host at the same time at most, of one namespace; "+
		"those of all namespaces come to twice as many at most")
	set.DurationVar(&f.hostInterval, "host-interval", 100*time.Millisecond, "time between the beginnings of two requests to one host at least; 0 for none")
	set.Float32Var(&f.kubeQPS, "kube-api-qps", -1, "requests a second to the API server at most; -1 leaves it to the server's own fairness")
	set.IntVar(&f.kubeBurst, "kube-api-burst", 100, "requests to the API server at once at most, with --kube-api-qps")
	showVersion := set.Bool("version", false, "print the version and exit")
	logFlags := goflag.NewFlagSet("log", goflag.ContinueOnError)
	f.log.BindFlags(logFlags)
	set.AddGoFlagSet(logFlags)

	switch err := set.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil, true, nil
	case err != nil:
		return nil, false, err
	case *showVersion:
		_, err := fmt.Fprintln(out, version)
		return nil, true, err
	case set.NArg() > 0:
		return nil, false, fmt.Errorf("unexpected argument %q: everything is set by flags, see --help", set.Arg(0))
	}
	if f.allowCIDRs, err = parseCIDRs("allow-cidr", *allowed); err != nil {
		return nil, false, err
	}
	if f.denyCIDRs, err = parseCIDRs("deny-cidr", *denied); err != nil {
		return nil, false, err
	}
	if f.feedsBaseURL, err = parseBaseURL(*baseURL); err != nil {
		return nil, false, err
	}
	return f, false, f.check()
}

// revealingLogLevel is the first level of logging at which what is read from the API server is logged,
// Secrets included.
const revealingLogLevel = zapcore.Level(-6)

func parseCIDRs(flag string, texts []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--%s %q is not an address range such as 10.0.0.0/8 or fd00::/8", flag, text)
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}

func parseBaseURL(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	base, err := url.Parse(text)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, errors.New("--feeds-base-url must be a full http:// or https:// URL")
	}
	return base, nil
}

func (f *flags) check() error {
	if f.log.Level != nil && f.log.Level.Enabled(revealingLogLevel) {
		return errors.New("--zap-log-level must not be above 5: from 6 on, what is read from the API server is logged, Secrets included")
	}
	for name, value := range map[string]int{"workers": f.workers, "poll-workers": f.pollWorkers, "requests-per-host": f.requestsPerHost} {
		if value < 1 {
			return fmt.Errorf("--%s must be at least 1", name)
		}
	}
	if f.shards < 1 || f.shards > shard.Most {
		return fmt.Errorf("--shards must be from 1 to %d", shard.Most)
	}
	if f.shards > 1 && !f.leaderElect {
		return errors.New("--shards needs --leader-elect: replicas agree by leases who works on which shard")
	}
	if f.documentMemory.Value() < budget.Min {
		return fmt.Errorf("--document-memory must be at least %s", resource.NewQuantity(budget.Min, resource.BinarySI))
	}
	if f.hostInterval < 0 {
		return errors.New("--host-interval must not be negative")
	}
	return f.checkPage()
}

// outbound is how the operator, whose clock shows now, reaches others. Which addresses it does not connect to
// is for the log alone to know.
func (f *flags) outbound(log logr.Logger, now func() time.Time) outbound.Config {
	return outbound.Config{
		Now:       now,
		UserAgent: userAgent(), AllowCIDRs: f.allowCIDRs, DenyCIDRs: f.denyCIDRs, AllowHTTP: f.allowHTTP,
		Budget: budget.New(f.documentMemory.Value(), time.Now),
		Refused: func(host string, address netip.Addr, because string) {
			log.Info("Address refused", "host", host, "address", address.String(), "because", because)
		},
	}
}

func (f *flags) restConfig() (*rest.Config, error) {
	restConfig, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	redact.Remember("", restConfig.BearerToken)
	redact.Remember("", restConfig.Password)
	restConfig.QPS, restConfig.Burst = f.kubeQPS, f.kubeBurst
	if f.kubeQPS > 0 { // one for all clients of the process
		restConfig.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(f.kubeQPS, f.kubeBurst)
	}
	// What the API server tells of changes would be compressed else, at the cost of both, on a way that is short. The components of
	// Kubernetes itself set this too.
	restConfig.DisableCompression = true
	return restConfig, nil
}

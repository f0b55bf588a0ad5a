// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/connect"
	"github.com/feed-operator/feed-operator/internal/opml"
	"github.com/feed-operator/feed-operator/internal/outbound"
	"github.com/feed-operator/feed-operator/internal/preview"
	"github.com/feed-operator/feed-operator/internal/provider/extractive"
	"github.com/feed-operator/feed-operator/internal/redact"
	"github.com/feed-operator/feed-operator/internal/terminal"
)

// previewFlags are what a person can set for a preview.
type previewFlags struct {
	files       []string
	secrets     []string
	fromCluster bool
	entries     int
	output      string
	allowCIDRs  []string
	allowHTTP   bool
}

// mostEntries bounds a preview: each entry may cost a call of an AI provider.
const mostEntries = 100

func newPreview(cluster *cluster) *cobra.Command {
	var flags previewFlags
	command := &cobra.Command{
		Use:   "preview [URL | NAME]",
		Short: "Show what would be created, screened, summarized and posted, without doing it",
		Long: `Show what would become of a feed, without an operator and without a cluster: how it is read, which
entries become items and what they are known by, the text of their articles, the verdict and the
summary, and the exact text of the posts, and the bodies of webhooks. Nothing is written, posted or sent.

Give the URL of a feed, or a file with a FeedSource and what it refers to: AIProviders,
FeedDestinations and Secrets. The source is treated as a new one, as at its first poll.

THE AI PROVIDERS THAT THE SOURCE NAMES ARE CALLED, one call for each entry or more, if their keys are
there. This costs what they cost, and sends them the articles. Without a provider the built-in summarizer
writes, which costs nothing. A destination whose token is there is asked how long posts may be.

What is in no file is read from the cluster only with --from-cluster.`,
		Example: `  # What a feed would become, with the built-in summarizer
  kubectl feed preview https://www.example.org/news.atom

  # A whole bot, with its provider and its posts; the key comes from the environment
  kubectl feed preview -f bot.yaml --secret-from-env gemini-key/apiKey=GEMINI_API_KEY --entries 1

  # A source of the cluster, as it is there
  kubectl feed preview --from-cluster ministry-press

  # Only the FeedItems as they would be created: no page is fetched, no provider is called
  kubectl feed preview -f bot.yaml -o yaml`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error { return flags.run(command, args, cluster) },
	}
	set := command.Flags()
	set.StringArrayVarP(&flags.files, "filename", "f", nil, "file or folder with a FeedSource and what it refers to, - for standard input; repeatable")
	set.StringArrayVar(&flags.secrets, "secret-from-env", nil, "value of a Secret as NAME/KEY=VARIABLE, taken from an environment variable; repeatable")
	set.BoolVar(&flags.fromCluster, "from-cluster", false, "read what is in no file from the cluster, Secrets too")
	set.IntVar(&flags.entries, "entries", 0, "how many of the newest entries are worked on, up to 100; 0 is for those that would become items")
	set.StringVarP(&flags.output, "output", "o", "", "yaml or json: print the FeedItems as they would be created, and nothing else")
	set.StringArrayVar(&flags.allowCIDRs, "allow-cidr", nil, "private, loopback or other special address range that may be reached; repeatable")
	set.BoolVar(&flags.allowHTTP, "allow-http", false, "allow plain http:// for providers and destinations")
	return command
}

func (f *previewFlags) check(args []string) ([]netip.Prefix, error) {
	switch {
	case len(args) == 0 && len(f.files) == 0:
		return nil, usageError{errors.New("name the URL of a feed, or a file with a FeedSource (-f)")}
	case len(args) == 1 && !isURL(args[0]) && len(f.files) == 0 && !f.fromCluster:
		return nil, usageError{fmt.Errorf("%q is no URL; a FeedSource by its name is read with --from-cluster, or out of a file (-f)", args[0])}
	case f.entries < 0 || f.entries > mostEntries:
		return nil, usageError{fmt.Errorf("--entries must be from 0 to %d", mostEntries)}
	case !slices.Contains([]string{"", "yaml", "json"}, f.output):
		return nil, usageError{errors.New("--output must be yaml or json")}
	}
	var allowed []netip.Prefix
	for _, text := range f.allowCIDRs {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--allow-cidr %q is not an address range such as 10.0.0.0/8 or fd00::/8", text)}
		}
		allowed = append(allowed, prefix.Masked())
	}
	return allowed, nil
}

func (f *previewFlags) run(command *cobra.Command, args []string, cluster *cluster) error {
	allowed, err := f.check(args)
	if err != nil {
		return err
	}
	objects, sources, err := f.gather(command, args, cluster)
	if err != nil {
		return err
	}
	out := outbound.New(outbound.Config{
		UserAgent:  "feed-operator/" + version + " (preview; +https://github.com/feed-operator/feed-operator)",
		AllowCIDRs: allowed, AllowHTTP: f.allowHTTP, Refused: logRefusals(command.ErrOrStderr()),
	})
	previewer := &preview.Previewer{
		Objects: objects, Outbound: out, Providers: connect.Providers(out), Destinations: connect.Destinations(out),
		Builtin: extractive.New(), Now: time.Now, Sleep: sleep, Entries: f.entries,
	}
	if f.output != "" {
		return preview.WriteItems(command.Context(), command.OutOrStdout(), previewer, sources, f.output)
	}
	return preview.Write(command.Context(), command.OutOrStdout(), previewer, sources)
}

// logRefusals tells once of each address that is not connected to, and what would allow it: it is the
// network of who runs this.
func logRefusals(to io.Writer) func(host string, address netip.Addr, because string) {
	var told sync.Map
	return func(host string, address netip.Addr, because string) {
		if _, before := told.LoadOrStore(address, true); !before {
			plain := address.WithZone("")
			_, _ = fmt.Fprintf(to, "%s has the address %s, which is refused: %s. To reach it, use --allow-cidr=%s/%d.\n",
				terminal.Line(host), address, because, plain, plain.BitLen())
		}
	}
}

// gather reads what is to be previewed.
func (f *previewFlags) gather(command *cobra.Command, args []string, cluster *cluster) (*preview.Objects, []*v1alpha1.FeedSource, error) {
	objects := &preview.Objects{Namespace: cmp.Or(cluster.overrides.Context.Namespace, metav1.NamespaceDefault)}
	if f.fromCluster {
		connected, namespace, err := cluster.connect()
		if err != nil {
			return nil, nil, err
		}
		objects.Cluster, objects.Namespace = connected, namespace
	}
	for _, file := range f.files {
		if err := readManifests(objects, file, command.InOrStdin()); err != nil {
			return nil, nil, err
		}
	}
	for _, setting := range f.secrets {
		if err := setSecret(objects, setting); err != nil {
			return nil, nil, err
		}
	}
	if len(args) == 0 {
		if len(objects.Sources()) == 0 {
			return nil, nil, usageError{errors.New("there is no FeedSource in the files")}
		}
		return objects, objects.Sources(), nil
	}
	if isURL(args[0]) {
		// Credentials in a URL that a person has just written are theirs to send.
		source := &v1alpha1.FeedSource{Spec: v1alpha1.FeedSourceSpec{URL: args[0], AllowInsecure: true}}
		source.Name, source.Namespace = opml.Name("", args[0]), objects.Namespace
		return objects, []*v1alpha1.FeedSource{source}, nil
	}
	source := &v1alpha1.FeedSource{}
	if err := objects.Get(command.Context(), client.ObjectKey{Namespace: objects.Namespace, Name: args[0]}, source); err != nil {
		return nil, nil, notFound(err, objects.Namespace)
	}
	return objects, []*v1alpha1.FeedSource{source}, nil
}

func isURL(text string) bool { return strings.Contains(text, "://") }

// readManifests reads a file, standard input, or the manifests in a folder.
func readManifests(objects *preview.Objects, name string, in io.Reader) error {
	if name == "-" {
		if err := objects.Read(in); err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		return nil
	}
	names := []string{name}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		names = nil
		for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
			found, err := filepath.Glob(filepath.Join(name, pattern))
			if err != nil {
				return err
			}
			names = append(names, found...)
		}
		slices.Sort(names)
	}
	for _, name := range names {
		if err := readManifest(objects, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func readManifest(objects *preview.Objects, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return errors.Unwrap(err) // which names the file too
	}
	defer func() { _ = file.Close() }()
	return objects.Read(file)
}

// setSecret takes a value from the environment: NAME/KEY=VARIABLE. It is masked from then on.
func setSecret(objects *preview.Objects, setting string) error {
	place, variable, ok := strings.Cut(setting, "=")
	name, key, hasKey := strings.Cut(place, "/")
	if !ok || !hasKey || name == "" || key == "" || variable == "" {
		return usageError{errors.New("--secret-from-env must look like NAME/KEY and, after an equals sign, the name of an environment variable (not its value)")}
	}
	value := os.Getenv(variable)
	if value == "" {
		return usageError{errors.New("--secret-from-env: the environment variable that is named for " + place + " is not set")}
	}
	redact.Remember("", value)
	objects.SetSecret(name, key, value)
	return nil
}

// sleep waits, or ends with the context.
func sleep(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
	"github.com/feed-operator/feed-operator/internal/promtest"
)

// runbooks are the pages that alerts lead to, by their path.
func runbooks(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("runbooks", "*.md"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d runbooks, %v", len(names), err)
	}
	texts := map[string]string{}
	for _, name := range names {
		texts[name] = read(t, name)
	}
	return texts
}

// R5.3: the table of alerts has each alert, in the order of the rules, with its thresholds and its severity.
func TestTheTableOfAlertsIsThatOfTheRules(t *testing.T) {
	t.Parallel()
	var values struct {
		Alerts map[string]any `json:"alerts"`
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(apitest.ModuleRoot(t), "config", "prometheus", "values.yaml"))), &values); err != nil {
		t.Fatal(err)
	}
	table, rules := rows(t, "monitoring.md", "alert", "fires when", "severity"), promtest.Rules(t)
	for i, row := range table {
		alert := strings.TrimPrefix(regexp.MustCompile(`^\[\w+`).FindString(row[0]), "[")
		if i >= len(rules) || alert != rules[i].Alert {
			t.Errorf("row %d of the table is about %q", i+1, alert)
			continue
		}
		name := strings.TrimPrefix(alert, "FeedOperator")
		thresholds, ok := values.Alerts[strings.ToLower(name[:1])+name[1:]].(map[string]any)
		if !ok {
			t.Errorf("%s has no thresholds", alert)
		}
		var want []string
		for key, value := range thresholds {
			if key != "severity" {
				want = append(want, fmt.Sprint(value))
			}
		}
		var got []string
		for _, code := range regexp.MustCompile("`([0-9a-z]+)`").FindAllStringSubmatch(row[1]+"`", -1) { // rows cuts the quotes at the ends
			got = append(got, code[1])
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) || row[2] != rules[i].Labels["severity"] {
			t.Errorf("%s is %q by the table, with %q, and %q by its values", alert, row[2], got, want)
		}
	}
	if len(table) != len(rules) {
		t.Errorf("the table has %d alerts, the rules %d", len(table), len(rules))
	}
	if gap := fmt.Sprintf("takes less than `%v`", values.Alerts["gap"]); !strings.Contains(read(t, "monitoring.md"), gap) {
		t.Errorf("the page does not say %q", gap)
	}
}

// R5.3: each runbook says what the alert means, what to look at, and what to do; and there is none without an alert.
func TestRunbooksSayWhatToDo(t *testing.T) {
	t.Parallel()
	pages := runbooks(t)
	for _, rule := range promtest.Rules(t) {
		name := filepath.Join("runbooks", rule.Alert+".md")
		headings := regexp.MustCompile(`(?m)^#+ .*$`).FindAllString(pages[name], -1)
		if want := []string{"# " + rule.Alert, "## What it means", "## What to look at", "## What to do"}; !slices.Equal(headings, want) {
			t.Errorf("%s has the headings %q", name, headings)
		}
		delete(pages, name)
	}
	for name := range pages {
		t.Errorf("%s is about no alert", name)
	}
}

// R5.3: each command of a runbook can be typed as it is written there: kubectl and the plugin take it, and what it names is there.
func TestCommandsOfRunbooksExist(t *testing.T) {
	t.Parallel()
	names := map[string]string{"NAMESPACE": server.Namespace(t), "NAME": "one"}
	things(t, names["NAMESPACE"], names["NAME"])
	home := administrator(t)
	ours, tried := installed(t, home), map[string]error{}
	plugin := strings.Join(slices.Collect(maps.Values(pluginSources(t))), "\n")
	command := regexp.MustCompile("(?m)(?:^|`)(kubectl [^`\\n]+)")
	count := 0
	for page, text := range runbooks(t) {
		for _, match := range command.FindAllStringSubmatch(text, -1) {
			typed := regexp.MustCompile(`\bNAME(SPACE)?\b`).ReplaceAllStringFunc(match[1], func(placeholder string) string { return names[placeholder] })
			count++
			err, known := tried[typed]
			if !known {
				err = exists(t, home, typed, plugin, ours)
				tried[typed] = err
			}
			if err != nil {
				t.Errorf("%s: %s: %v", page, match[1], err)
			}
		}
	}
	if count < 30 {
		t.Errorf("only %d commands were found", count)
	}
}

// things makes one object of each kind that people make, and an item.
func things(t *testing.T, namespace, name string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	source := &v1alpha1.FeedSource{ObjectMeta: meta}
	source.Spec.URL = "https://feeds.example/feed.xml"
	provider := &v1alpha1.AIProvider{ObjectMeta: meta}
	provider.Spec.Extractive = &v1alpha1.ExtractiveProvider{}
	destination := &v1alpha1.FeedDestination{ObjectMeta: meta}
	destination.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: "https://social.example", SecretRef: v1alpha1.SecretReference{Name: name}}
	item := &v1alpha1.FeedItem{ObjectMeta: meta}
	item.Spec.SourceRef = v1alpha1.SourceReference{Name: name, UID: "one"}
	item.Spec.GUID, item.Spec.URL, item.Spec.Title = "one", "https://feeds.example/one", "One"
	for _, object := range []client.Object{source, provider, destination, item} {
		if err := server.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// installed is what is applied on a cluster, as text.
func installed(t *testing.T, home string) string {
	t.Helper()
	var all string
	for _, folder := range []string{"default", "prometheus", "grafana"} {
		out, err := kubectl(t, home, "kubectl kustomize "+filepath.Join(apitest.ModuleRoot(t), "config", folder))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		all += out
	}
	return all
}

// exists checks a command: what can be run is run, on an API server without an operator.
func exists(t *testing.T, home, typed, plugin, ours string) error {
	t.Helper()
	words := strings.Fields(typed)
	switch {
	case words[1] == "feed":
		if !regexp.MustCompile(`Use:\s+"` + words[2] + `[" ]`).MatchString(plugin) {
			return fmt.Errorf("the plugin has no command %s", words[2])
		}
		for _, flag := range words[3:] {
			if name, is := strings.CutPrefix(flag, "--"); is && !strings.Contains(plugin, `"`+name+`"`) {
				return fmt.Errorf("the plugin has no flag %s", flag)
			}
		}
		return nil
	case strings.Contains(typed, "feed-operator-system"):
		named := regexp.MustCompile(`(?:deployment/|services/|deployment .*|lease .*)(feed-operator-[a-z]+)(?:[: ]|$)`).FindStringSubmatch(typed)
		if named != nil && named[1] != "feed-operator-leader" && !strings.Contains(ours, "name: "+named[1]+"\n") {
			return fmt.Errorf("nothing of that name is installed: %s", named[1])
		}
		if strings.Contains(typed, "servicemonitors") || named != nil {
			return nil // of another operator's kinds, or of what runs on a cluster alone
		}
	}
	if words[1] == "delete" || words[1] == "patch" {
		typed += " --dry-run=server"
	}
	out, err := kubectl(t, home, typed)
	if words[1] == "auth" && strings.TrimSpace(out) == "no" {
		return nil // without an operator nobody has its rights, which is an answer
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// administrator is a home for kubectl, which keeps there what it knows of the API server.
func administrator(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "kubeconfig"), server.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// kubectl runs a command line with the real kubectl, as an administrator.
func kubectl(t *testing.T, home, line string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-c", line)
	command.Env = []string{"HOME=" + home, "KUBECONFIG=" + filepath.Join(home, "kubeconfig"), "PATH=" + server.Assets + ":" + os.Getenv("PATH"), "GOGC=400"} // it ends in a moment
	out, err := command.CombinedOutput()
	return string(out), err
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs_test holds the documentation against what it speaks of.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/feed-operator/feed-operator/internal/apitest"
)

var server *apitest.Server

func TestMain(m *testing.M) { os.Exit(apitest.Run(m, &server)) }

// pages are the README, all that lies beside this file, and the runbooks, by their path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := runbooks(t)
	for _, name := range append(names, filepath.Join("..", "README.md")) {
		texts[name] = read(t, name)
	}
	return texts
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rows returns the cells of the table with the given header, without the marks of code.
func rows(t *testing.T, page string, header ...string) [][]string {
	t.Helper()
	var found [][]string
	inTable := false
	for line := range strings.Lines(read(t, page)) {
		if !strings.HasPrefix(line, "|") {
			inTable = false
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		switch {
		case slices.Equal(cells[:min(len(header), len(cells))], header):
			inTable = true
		case inTable && !strings.HasPrefix(cells[0], "---"):
			found = append(found, cells)
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no table %q", page, header)
	}
	return found
}

// What a reader copies is accepted by the API server, to the last field.
func TestManifestsAreAccepted(t *testing.T) {
	t.Parallel()
	strict := client.WithFieldValidation(server.Client, metav1.FieldValidationStrict)
	block := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	count := 0
	for page, text := range pages(t) {
		for _, match := range block.FindAllStringSubmatch(text, -1) {
			for manifest := range strings.SplitSeq(match[1], "\n---\n") {
				object := &unstructured.Unstructured{}
				if err := yaml.UnmarshalStrict([]byte(manifest), &object.Object); err != nil {
					t.Fatalf("%s: %v in\n%s", page, err, manifest)
				}
				object.SetNamespace(metav1.NamespaceDefault)
				if err := strict.Create(t.Context(), object, client.DryRunAll); err != nil {
					t.Errorf("%s: %v in\n%s", page, err, manifest)
				}
				count++
			}
		}
	}
	if count == 0 {
		t.Error("no manifest was found")
	}
}

// R2.2: the table of phase, reason and cause is the same in the API and in its documentation.
func TestReasonsAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	var want [][]string
	spaces := regexp.MustCompile(`\s{2,}`)
	for line := range strings.Lines(commentOn(t, "Reason")) {
		cells := spaces.Split(strings.TrimSpace(line), -1)
		if strings.HasPrefix(line, "\t") && cells[0] != "phase" {
			want = append(want, cells)
		}
	}
	var got [][]string
	for _, row := range rows(t, "api.md", "phase", "reason", "cause") {
		got = append(got, row[:3])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the comment on Reason and docs/api.md differ (-comment +page):\n%s", diff)
	}
}

// R5.1: every word that a person may meet is explained: constants, and what a field may be.
func TestEveryWordOfTheAPIIsExplained(t *testing.T) {
	t.Parallel()
	page := read(t, "api.md")
	words := map[string]string{}
	choice := regexp.MustCompile(`\+kubebuilder:validation:Enum=(\S+)`)
	for name, file := range apiFiles(t) {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, isValue := node.(*ast.ValueSpec)
			if !isValue {
				return true
			}
			for i, constant := range spec.Names {
				if i >= len(spec.Values) {
					continue
				}
				if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
					words[literal.Value] = constant.Name
				}
			}
			return true
		})
		for _, comment := range file.Comments {
			for _, line := range comment.List {
				if match := choice.FindStringSubmatch(line.Text); match != nil {
					for word := range strings.SplitSeq(match[1], ";") {
						words[strconv.Quote(strings.Trim(word, `"`))] = name
					}
				}
			}
		}
	}
	for literal, where := range words {
		word, err := strconv.Unquote(literal)
		if err != nil {
			t.Fatal(err)
		}
		if word != "" && !strings.Contains(page, "`"+word+"`") {
			t.Errorf("docs/api.md does not explain `%s` (%s)", word, where)
		}
	}
	if len(words) < 70 {
		t.Errorf("only %d words were found", len(words))
	}
}

// R5.1: the table of kinds has each kind, and its short name.
func TestKindsAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(apitest.ModuleRoot(t), "config", "crd", "bases", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, file := range files {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict([]byte(read(t, file)), &crd); err != nil {
			t.Fatal(err)
		}
		want[crd.Spec.Names.Kind] = strings.Join(crd.Spec.Names.ShortNames, ", ")
	}
	for _, row := range rows(t, "api.md", "kind", "short") {
		got[row[0]] = row[1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the API and docs/api.md differ (-API +page):\n%s", diff)
	}
}

// apiFiles are the files of the API's types, by their name.
func apiFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(apitest.ModuleRoot(t), "api", "v1alpha1", "*_types.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = file
	}
	return files
}

// commentOn returns the comment on a type of the API.
func commentOn(t *testing.T, name string) string {
	t.Helper()
	for _, declaration := range apiFiles(t)["common_types.go"].Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		if spec, ok := general.Specs[0].(*ast.TypeSpec); ok && spec.Name.Name == name {
			return general.Doc.Text()
		}
	}
	t.Fatalf("there is no type %s", name)
	return ""
}

// A flag with a unit has its default in its value.
const (
	setDocumentMemory = `"document-memory", `
	asItsDefault      = `"document-memory", "128Mi", `
)

// The table of flags has each flag of the program, and no other, with its default.
func TestFlagsAreThoseOfTheProgram(t *testing.T) {
	t.Parallel()
	source := read(t, filepath.Join(apitest.ModuleRoot(t), "cmd", "manager", "flags.go"))
	declared := regexp.MustCompile(`set\.\w+\((?:&f\.[\w.]+, )?"([a-z-]+)", ([^,]+), "`)
	var want, got [][]string
	for _, match := range declared.FindAllStringSubmatch(strings.ReplaceAll(source, setDocumentMemory, asItsDefault), -1) {
		standard := strings.Trim(match[2], `"`)
		if standard == "nil" || match[1] == "version" {
			standard = ""
		}
		standard = strings.Replace(standard, "*time.Millisecond", "ms", 1)
		want = append(want, []string{"--" + match[1], standard})
	}
	inWords := map[string]string{"--namespace": "", "--leader-election-namespace": ""} // their defaults are told in words
	for _, row := range rows(t, "operations.md", "flag", "default") {
		if word, ok := inWords[row[0]]; ok {
			row[1] = word
		}
		got = append(got, row[:2])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cmd/manager/flags.go and docs/operations.md differ (-program +page):\n%s", diff)
	}
}

// Whatever a page leads to is there: other pages, their parts, files, flags and make targets.
func TestNothingLeadsNowhere(t *testing.T) {
	t.Parallel()
	root := apitest.ModuleRoot(t)
	makefile, flags := read(t, filepath.Join(root, "Makefile")), read(t, filepath.Join(root, "cmd", "manager", "flags.go"))
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	target := regexp.MustCompile("(?m)(?:`|^)make ([a-z]+)")
	file := regexp.MustCompile("`((?:api|cmd|config|controllers|docs|hack|internal)/[a-z0-9_./-]+)`")
	flag := regexp.MustCompile("`--([a-z-]+)[=`]")
	for _, command := range pluginSources(t) {
		flags += command
	}
	flags += `"all-namespaces" "context" "kubeconfig" "namespace"` // those of kubectl that pages name
	code := regexp.MustCompile("`[^`\n]*`")                        // such as a pattern, which may look like a link
	parts := map[string][]string{}
	for page, text := range pages(t) {
		for _, match := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			to := page
			if match[1] != "" {
				to = filepath.Join(filepath.Dir(page), match[1])
			}
			content := read(t, to)
			if match[2] != "" && parts[to] == nil {
				parts[to] = anchors(content)
			}
			if match[2] != "" && !slices.Contains(parts[to], match[2]) {
				t.Errorf("%s: %s has no part %q", page, to, match[2])
			}
		}
		for _, match := range file.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
		for _, match := range target.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+match[1]+":") {
				t.Errorf("%s: the Makefile has no target %q", page, match[1])
			}
		}
		for _, match := range flag.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(match[1], "zap-") && !strings.Contains(flags, `"`+match[1]+`"`) {
				t.Errorf("%s: the program has no flag --%s", page, match[1])
			}
		}
	}
}

// R6.4, R6.5: docs/plugin.md has each command of the plugin, and the table of each command's flags each flag.
func TestThePluginIsDocumented(t *testing.T) {
	t.Parallel()
	page := read(t, "plugin.md")
	command := regexp.MustCompile(`Use:\s+"([a-z]+)[" ]`)
	declared := regexp.MustCompile(`\.\w+VarP?\(&?[\w.]+, "([a-z-]+)"`)
	documented := map[string]bool{}
	for _, row := range rows(t, "plugin.md", "flag", "of") {
		for name := range strings.SplitSeq(row[0], ", ") {
			documented[strings.Trim(name, "`")] = true
		}
	}
	commands, flags := 0, map[string]bool{}
	for name, source := range pluginSources(t) {
		for _, match := range command.FindAllStringSubmatch(source, -1) {
			commands++
			if !strings.Contains(page, "kubectl feed "+match[1]) {
				t.Errorf("docs/plugin.md does not speak of kubectl feed %s (%s)", match[1], name)
			}
		}
		for _, match := range declared.FindAllStringSubmatch(strings.ReplaceAll(source, setDocumentMemory, asItsDefault), -1) {
			flags["--"+match[1]] = true
		}
	}
	if diff := cmp.Diff(flags, documented); diff != "" || commands < 6 || len(flags) < 10 {
		t.Errorf("%d commands; the program and docs/plugin.md differ (-program +page):\n%s", commands, diff)
	}
}

// pluginSources are the files of the plugin, by their name.
func pluginSources(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(apitest.ModuleRoot(t), "cmd", "kubectl-feed", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			texts[filepath.Base(name)] = read(t, name)
		}
	}
	return texts
}

// anchors are the names of a page's headings in links.
func anchors(text string) []string {
	var names []string
	dropped := regexp.MustCompile(`[^a-z0-9 -]`)
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		names = append(names, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-"))
	}
	return names
}

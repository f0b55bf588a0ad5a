// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R5.4: every reason, phase and stage that the kinds know is explained on the page.
func TestEveryWordOfThePageIsExplained(t *testing.T) {
	t.Parallel()
	enum := func(file, declared string) []string {
		text, err := os.ReadFile("../../api/v1alpha1/" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`Enum=([^\n]*)\ntype ` + declared + " string").FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s is not declared in %s", declared, file)
		}
		return strings.Split(strings.Trim(strings.TrimPrefix(string(found[1]), `"";`), ";"), ";")
	}
	for _, reason := range enum("common_types.go", "Reason") {
		if reasons[v1alpha1.Reason(reason)] == "" {
			t.Errorf("the reason %s is not explained", reason)
		}
	}
	for _, phase := range enum("common_types.go", "Phase") {
		if phaseWords[v1alpha1.Phase(phase)] == "" {
			t.Errorf("the phase %s is not explained", phase)
		}
	}
	for _, stage := range enum("common_types.go", "Stage") {
		if stages[v1alpha1.Stage(stage)] == "" {
			t.Errorf("the stage %s is not named", stage)
		}
	}
}

// colours are the colours of a stylesheet by their names, light or dark.
func colours(t *testing.T, block string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, declared := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(block, -1) {
		found[declared[1]] = declared[2]
	}
	return found
}

// luminance is the relative luminance of a colour (WCAG 2.2, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance).
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	channel := func(from int) float64 {
		value, err := strconv.ParseUint(colour[from:from+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(value) / 255
		if c > 0.04045 {
			return math.Pow((c+0.055)/1.055, 2.4)
		}
		return c / 12.92
	}
	return 0.2126*channel(1) + 0.7152*channel(3) + 0.0722*channel(5)
}

// R5.4: what is written can be read, and what is drawn can be told, in light and dark: 4.5:1 and 3:1 (WCAG AA, 1.4.3 and 1.4.11).
func TestContrast(t *testing.T) {
	t.Parallel()
	sheet, err := os.ReadFile("assets/page.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, found := strings.Cut(string(sheet), "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("there is no dark scheme")
	}
	dark, rest, _ := strings.Cut(dark, "* { box-sizing")
	if loose := regexp.MustCompile(`#[0-9a-f]{3,8}\b|rgba?\(|hsl\(`).FindString(rest); loose != "" {
		t.Errorf("the colour %s is outside of the schemes", loose)
	}
	written := map[string][]string{
		"text": {"page", "card", "hover", "bad-back", "note-back"}, "soft": {"page", "card", "hover", "bad-back", "note-back"}, "link": {"page", "card", "hover"},
		"good": {"card", "hover", "page"}, "wait": {"card", "hover", "page"}, "bad": {"card", "hover", "page"}, "new": {"card", "hover"}, "button-text": {"button"},
	}
	drawn := map[string][]string{"bar": {"card"}, "bar-bad": {"card"}, "focus": {"page", "card", "hover"}, "field-line": {"page", "card"}, "button": {"page"}}
	for scheme, block := range map[string]string{"light": light, "dark": dark} {
		known := colours(t, block)
		for least, pairs := range map[float64]map[string][]string{4.5: written, 3: drawn} {
			for front, backs := range pairs {
				for _, back := range backs {
					if known[front] == "" || known[back] == "" {
						t.Fatalf("%s: there is no %s or %s", scheme, front, back)
					}
					a, b := luminance(t, known[front]), luminance(t, known[back])
					if ratio := (math.Max(a, b) + 0.05) / (math.Min(a, b) + 0.05); ratio < least {
						t.Errorf("%s: %s on %s has %.2f:1, want %.1f:1", scheme, front, back, ratio, least)
					}
				}
			}
		}
	}
}

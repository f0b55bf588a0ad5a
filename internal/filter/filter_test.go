// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/filter"
)

func drop(name, expression string) v1alpha1.EntryFilter {
	return v1alpha1.EntryFilter{Name: name, Action: v1alpha1.FilterDrop, Expression: expression}
}

func keep(name, expression string) v1alpha1.EntryFilter {
	return v1alpha1.EntryFilter{Name: name, Action: v1alpha1.FilterKeep, Expression: expression}
}

func mustCompile(t *testing.T, filters ...v1alpha1.EntryFilter) *filter.Set {
	t.Helper()
	set, err := filter.Compile(filters)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// advisory is an entry that has everything.
var advisory = feed.Entry{
	GUID:        "tag:1",
	URL:         "https://www.example.org/advisories/42?lang=en",
	Title:       "Security Advisory: ＩＣＴ ｶﾞｲﾄﾞ",
	Author:      "Ann Example, Bob",
	Categories:  []string{"Security", "お知らせ"},
	Published:   time.Date(2026, 4, 1, 23, 30, 0, 0, time.UTC),
	Description: "<p>Who runs <b>4.2</b> is affected.</p>",
	Content:     "<p>Update &amp; restart.</p><script>var hidden = 1</script>",
}

// R1.8: what an expression can say about an entry.
func TestAnExpressionMatchesAnEntry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		expression string
		want       bool
	}{
		"a word of the title":                             {`title.contains('Advisory')`, true},
		"a word in another case":                          {`title.contains('advisory')`, false},
		"a word in any case":                              {`title.fold().contains('advisory')`, true},
		"a pattern in any case":                           {`title.matches('(?i)^security')`, true},
		"full width is like half width":                   {`title.fold().contains('ict')`, true},
		"half width is like full width":                   {`title.fold().contains('ガイド')`, true},
		"one of several words":                            {`['cve', 'advisory'].exists(word, title.fold().contains(word))`, true},
		"none of several words":                           {`['cve', 'sports'].exists(word, title.fold().contains(word))`, false},
		"a category":                                      {`'お知らせ' in categories`, true},
		"a category that it has not":                      {`'Sports' in categories`, false},
		"a category in any case":                          {`categories.exists(c, c.fold() == 'security')`, true},
		"that there are categories":                       {`categories.size() > 0`, true},
		"an author among several":                         {`author.contains('Bob')`, true},
		"an author alone":                                 {`author == 'Bob'`, false},
		"a part of the site":                              {`url.startsWith('https://www.example.org/advisories/')`, true},
		"the text without markup":                         {`content.contains('Update & restart')`, true},
		"the description is text too":                     {`content.contains('Who runs 4.2 is affected.')`, true},
		"a script is no text":                             {`content.contains('hidden')`, false},
		"markup is no text":                               {`content.contains('<p>')`, false},
		"after a date":                                    {`published > timestamp('2026-04-01T00:00:00Z')`, true},
		"before a date":                                   {`published < timestamp('2026-04-01T00:00:00Z')`, false},
		"the day is in UTC":                               {`published.getDate() == 1`, true},
		"the day somewhere else":                          {`published.getDate('+09:00') == 2`, true},
		"there is a date":                                 {`published != null`, true},
		"functions for texts":                             {`title.lowerAscii().split(':')[0].trim() == 'security advisory'`, true},
		"and, or, not":                                    {`!(title == '') && (author == 'nobody' || true)`, true},
		"the whole of a pattern":                          {`url.matches('^https://[a-z.]+/advisories/[0-9]+')`, true},
		"what cannot be said is no matter if another can": {`categories[9] == 'x' || title.contains('Advisory')`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := mustCompile(t, drop("f", test.expression)).Judge(t.Context(), advisory)
			if len(said.Failures) > 0 {
				t.Fatalf("it failed: %v", said.Failures)
			}
			if said.Keep == test.want {
				t.Errorf("%s is %t, want %t", test.expression, !said.Keep, test.want)
			}
		})
	}
}

// R1.8: what filters with Keep and Drop mean together, in any order, and that one that fails loses
// nothing.
func TestFiltersDecideTogether(t *testing.T) {
	t.Parallel()
	const yes, no, fails = "title != ''", "title == ''", "categories[9] == ''"
	failed := func(name string) []filter.Failure {
		return []filter.Failure{{Filter: name, Reason: "an index is out of range"}}
	}
	for name, test := range map[string]struct {
		filters []v1alpha1.EntryFilter
		want    filter.Verdict
	}{
		"without filters everything is kept":             {nil, filter.Verdict{Keep: true}},
		"what a Drop matches is dropped":                 {[]v1alpha1.EntryFilter{drop("a", no), drop("b", yes)}, filter.Verdict{Why: "dropped by the filter b"}},
		"what no Drop matches is kept":                   {[]v1alpha1.EntryFilter{drop("a", no), drop("b", no)}, filter.Verdict{Keep: true}},
		"what one Keep matches is kept":                  {[]v1alpha1.EntryFilter{keep("a", no), keep("b", yes)}, filter.Verdict{Keep: true}},
		"what no Keep matches is dropped":                {[]v1alpha1.EntryFilter{keep("a", no), keep("b", no)}, filter.Verdict{Why: "kept by none of the filters a, b"}},
		"what the only Keep does not match is dropped":   {[]v1alpha1.EntryFilter{keep("a", no), drop("b", no)}, filter.Verdict{Why: "not kept by the filter a"}},
		"a Drop is stronger than a Keep before it":       {[]v1alpha1.EntryFilter{keep("a", yes), drop("b", yes)}, filter.Verdict{Why: "dropped by the filter b"}},
		"a Drop is stronger than a Keep after it":        {[]v1alpha1.EntryFilter{drop("b", yes), keep("a", yes)}, filter.Verdict{Why: "dropped by the filter b"}},
		"a Drop that fails drops nothing":                {[]v1alpha1.EntryFilter{drop("a", fails)}, filter.Verdict{Keep: true, Failures: failed("a")}},
		"a Keep that fails drops nothing":                {[]v1alpha1.EntryFilter{keep("a", fails)}, filter.Verdict{Keep: true, Failures: failed("a")}},
		"a Keep that fails drops nothing beside another": {[]v1alpha1.EntryFilter{keep("a", fails), keep("b", no)}, filter.Verdict{Keep: true, Failures: failed("a")}},
		"a Drop that works is heard beside one that does not": {[]v1alpha1.EntryFilter{drop("a", fails), drop("b", yes)},
			filter.Verdict{Why: "dropped by the filter b", Failures: failed("a")}},
		"a Keep that works is heard beside a Drop that does not": {[]v1alpha1.EntryFilter{drop("a", fails), keep("b", no)},
			filter.Verdict{Why: "not kept by the filter b", Failures: failed("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := mustCompile(t, test.filters...)
			if diff := cmp.Diff(test.want, set.Judge(t.Context(), advisory)); diff != "" {
				t.Error(diff)
			}
			sifted := set.Sift(t.Context(), []feed.Entry{advisory, advisory})
			if len(sifted.Kept) == 2 != test.want.Keep || len(sifted.Kept)+len(sifted.Dropped) != 2 || !test.want.Keep && sifted.Dropped[1].Why != test.want.Why {
				t.Errorf("sifted: %+v", sifted)
			}
			if len(sifted.Failing) != len(test.want.Failures) || len(sifted.Failing) > 0 && sifted.Failing[0].Entries != 2 {
				t.Errorf("failing: %+v", sifted.Failing)
			}
		})
	}
}

// R1.8: an expression that cannot work is refused, and it is said which, where and why.
func TestAnExpressionThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	const tooLong = "spec.filters[1] (second): the expression can take too long"
	for name, test := range map[string]struct{ expression, says string }{
		"a word that means nothing":              {`titel.contains('x')`, "spec.filters[1] (second): line 1, column 1: undeclared reference to 'titel'"},
		"it is another line":                     {"title == 'x' ||\n  titel == 'y'", "line 2, column 3: undeclared reference to 'titel'"},
		"it is cut off":                          {`title.contains(`, "line 1, column 16: Syntax error: mismatched input '<EOF>'"},
		"it is no question":                      {`title`, "the expression must evaluate to bool, not string"},
		"it may or may not be one":               {`dyn(true)`, "the expression must evaluate to bool, not dyn"},
		"a text is no number":                    {`title > 3`, "found no matching overload for '_>_' applied to '(string, int)'"},
		"a pattern that is none":                 {`title.matches('(')`, "line 1, column 15: this is not a regular expression (RE2)"},
		"a pattern that RE2 has not":             {`title.matches('(?=x)')`, "this is not a regular expression (RE2)"},
		"a time that is none":                    {`published > timestamp('2026-04-01')`, "this is not a time, such as 2026-04-01T09:00:00+09:00"},
		"a duration that is none":                {`duration('1d') > duration('1h')`, "this is not a duration, such as 36h"},
		"there is no now":                        {`published > now - duration('24h')`, "undeclared reference to 'now'"},
		"several mistakes":                       {`a && b && c && d`, "undeclared reference to 'c'; and more"},
		"loops in loops":                         {`categories.all(a, categories.all(b, categories.all(c, categories.all(d, a + b != c + d))))`, tooLong},
		"a text in the place of each of its own": {`content.replace('', content) == ''`, tooLong},
		"a text that is put together":            {`content.split('').join(content) == ''`, tooLong},
		"a text that is doubled time and again":  {`[content]` + strings.Repeat(`.map(a, a + a)`, 30) + `.size() > 9`, tooLong},
		"a text of which nothing is known":       {`dyn(content).replace('', content) == ''`, tooLong},
		"a pattern that takes long":              {`content.matches('(\\w{1,100}){9}x')`, tooLong},
		"patterns that are not written out":      {`categories.exists(c, content.matches(c))`, tooLong},
		"a pattern that is too large":            {`title.matches('(\\w{1,1000}x){1,9}')`, "this is not a regular expression (RE2), or one that is too long"},
		"many patterns that are large":           {`title.matches("\\pL{900}")` + strings.Repeat(`||"".matches("\\pL{900}")`, 2), "the regular expressions in it are too long together: they may have about 2000 characters"},
		"it is too long":                         {`title == '` + strings.Repeat("x", 5000) + `'`, "size exceeds limit"},
		"it is too deep":                         {strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300), "nested too deeply"},
		"a chain is too long":                    {`[[title]]` + strings.Repeat(`.map(a, [a, a])`, 100) + `.exists(a, a == a)`, "a chain of calls in it is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := filter.Compile([]v1alpha1.EntryFilter{drop("first", "true"), keep("second", test.expression)})
			if err == nil || set != nil {
				t.Fatalf("it is taken: %v", set)
			}
			if !strings.Contains(err.Error(), test.says) {
				t.Errorf("it says %q, want %q", err, test.says)
			}
			if length := len(err.Error()); length > 1200 {
				t.Errorf("it says so in %d bytes", length)
			}
		})
	}
	_, err := filter.Compile([]v1alpha1.EntryFilter{drop("a", "titel == ''"), drop("b", "true"), {Name: "c", Action: "Move", Expression: "true"}})
	if want := "spec.filters[0] (a): line 1, column 1: undeclared reference to 'titel' (did you mean 'title'?)\n" +
		`spec.filters[2] (c): the action "Move" is neither Keep nor Drop`; err == nil || err.Error() != want {
		t.Errorf("it says\n%v\nwant\n%s", err, want)
	}
}

// R1.8: a filter that fails for an entry drops nothing, says why, and repeats nothing of the entry.
func TestAFilterThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	undated := feed.Entry{Title: "hush (", Content: "hush"}
	for name, test := range map[string]struct{ expression, reason string }{
		"no date":               {`published > timestamp('2026-04-01T00:00:00Z')`, "the entry has no date (published is null)"},
		"no date for a day":     {`published.getDayOfWeek() == 0`, "the entry has no date (published is null)"},
		"a text as a number":    {`int(title) > 3`, "a value has the wrong format"},
		"a text as a time":      {`timestamp(title) > timestamp('2026-04-01T00:00:00Z')`, "a value has the wrong format"},
		"beyond the categories": {`categories[0] == ''`, "an index is out of range"},
		"beyond the title":      {`title.charAt(99) == ''`, "an index is out of range"},
		"by zero":               {`1 / categories.size() == 1`, "division by zero"},
		"a title as a pattern":  {`url.matches(title)`, "a pattern is not a regular expression"},
		"another kind":          {`dyn(title) > 3`, "values of different kinds are compared"},
		"lists in lists":        {`[[title]]` + strings.Repeat(`.map(a, [a, a])`, 50) + `.exists(a, a == a)`, "it makes too large a value"},
		"lists of lists":        {`[[title]]` + strings.Repeat(`.map(a, a + a)`, 24) + `.exists(a, a == a)`, "it makes too large a value"},
		"maps in maps":          {`[dyn(title)]` + strings.Repeat(`.map(a, dyn({'a': a, 'b': a}))`, 50) + `.exists(a, a == a)`, "it makes too large a value"},
		"lists as a text":       {`[dyn(title)]` + strings.Repeat(`.map(a, dyn([a, a]))`, 50) + `.exists(a, '%s'.format([a]) == '')`, "it makes too large a value"},
		"nowhere":               {`timestamp('2026-04-01T00:00:00Z').getHours('Mars/' + title) == 0`, "unknown time zone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := mustCompile(t, drop("f", test.expression)).Judge(t.Context(), undated)
			if !said.Keep || len(said.Failures) != 1 || said.Failures[0].Filter != "f" {
				t.Fatalf("verdict %+v", said)
			}
			if reason := said.Failures[0].Reason; !strings.HasPrefix(reason, test.reason) || strings.Contains(reason, "hush") {
				t.Errorf("it says %q, want %q", reason, test.reason)
			}
		})
	}
}

// R1.8, R1.6: an entry without a date is as the expression wants it to be.
func TestAnExpressionCanSayWhatBecomesOfEntriesWithoutADate(t *testing.T) {
	t.Parallel()
	undated := feed.Entry{Title: "A"}
	for expression, want := range map[string]bool{
		`published != null && published > timestamp('2026-04-01T00:00:00Z')`: false,
		`published == null || published > timestamp('2026-04-01T00:00:00Z')`: true,
	} {
		said := mustCompile(t, keep("recent", expression)).Judge(t.Context(), undated)
		if said.Keep != want || len(said.Failures) > 0 {
			t.Errorf("%s: %+v", expression, said)
		}
	}
}

// R1.8: an entry is seen as far as its bounds, whatever it holds, and is not changed.
func TestAnEntryIsSeenWithinItsBounds(t *testing.T) {
	t.Parallel()
	endless := feed.Entry{
		Title: strings.Repeat("字", 2000), URL: strings.Repeat("u", 9000), Author: strings.Repeat("字", 500) + "\xff",
		Categories: []string{strings.Repeat("字", 500), "\xff"}, Content: strings.Repeat("字", 100_000), Description: "<b>",
	}
	for range 40 {
		endless.Categories = append(endless.Categories, "more")
	}
	for _, expression := range []string{
		`title.size() == 1024`, `url.size() == 4096`, `author.size() == 256`, `categories.size() == 32`,
		`categories[0].size() == 128`, `categories[1] == '\uFFFD'`, `content.size() == 32768`,
	} {
		if said := mustCompile(t, keep("f", expression)).Judge(t.Context(), endless); !said.Keep {
			t.Errorf("%s: %s", expression, said.Why)
		}
	}
	if len(endless.Categories) != 42 || endless.Categories[1] != "\xff" {
		t.Error("the entry was changed")
	}
	if said := mustCompile(t, keep("f", `title == '' && url == '' && author == '' && categories == [] && content == '' && published == null`)).Judge(t.Context(), feed.Entry{}); !said.Keep {
		t.Errorf("an empty entry: %s", said.Why)
	}
}

// R1.8: what is at work when the context ends has failed, and so drops nothing.
func TestAnEvaluationEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	set := mustCompile(t, drop("f", `content.split('').all(c, c != 'z')`))
	said := set.Judge(ctx, feed.Entry{Content: strings.Repeat("a", 5000)})
	if want := (filter.Verdict{Keep: true, Failures: []filter.Failure{{Filter: "f", Reason: "it takes too long"}}}); !cmp.Equal(said, want) {
		t.Error(cmp.Diff(want, said))
	}
}

// R1.8: a Set serves many at once.
func TestASetIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	set := mustCompile(t, drop("a", `content.fold().contains('nothing')`), keep("b", `categories.exists(c, c == 'Security')`))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if said := set.Judge(t.Context(), advisory); !said.Keep {
					t.Error(said.Why)
				}
			}
		})
	}
	group.Wait()
	if !(*filter.Set)(nil).Judge(t.Context(), advisory).Keep || !(*filter.Set)(nil).Empty() {
		t.Error("no set drops something")
	}
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/dashboard/foreign"
	"github.com/feed-operator/feed-operator/internal/dashboard/paged"
	"github.com/feed-operator/feed-operator/internal/dashboard/people"
	"github.com/feed-operator/feed-operator/internal/dashboard/trend"
)

//go:embed templates
var templates embed.FS

const (
	// needed is how many of each sort of things that need a person the overview names, recent how many items.
	needed, recent = 5, 12
	// mostChoices are offered of what a list can be filtered by; where there are more, somebody writes the name.
	mostChoices = 200
)

// page is what a template is given.
type page struct {
	kind    string
	Title   string
	Version string
	Now     time.Time
	// Heard is when all that is shown was last heard of, where that is so no more; else zero.
	Heard time.Time
	// Name of who is signed in, Auth where people have to, Actions where something can be done.
	Name          string
	Auth, Actions bool
	// May is set where the person may change what the page is about.
	May  bool
	Form string
	Path string
	Did  string
	// Refusal is what is wrong, in place of a page.
	Refusal    string
	Namespaces []string

	Needs        Needs
	Counts       v1alpha1.ItemCounts
	Chart        *trend.Chart
	Providers    paged.Page[*Service]
	Destinations paged.Page[*Service]
	Recent       []Item

	Query    Query
	Found    paged.Page[*Item]
	Sources  paged.Page[*Source]
	Services paged.Page[*Service]
	Choices  choices

	Source Source
	Item   Item
	Whole  *wholeView
}

// choices are what a list of items can be filtered by.
type choices struct {
	Sources []string
	Phases  []v1alpha1.Phase
	Reasons []v1alpha1.Reason
}

var phases = []v1alpha1.Phase{
	v1alpha1.PhaseFailed, v1alpha1.PhaseDeferred, v1alpha1.PhasePending, v1alpha1.PhaseUnprocessed, v1alpha1.PhaseProcessed,
}

var pages = func() map[string]*template.Template {
	made := map[string]*template.Template{}
	for _, kind := range []string{"overview", "items", "item", "sources", "source", "services", "refusal", "signin"} {
		made[kind] = template.Must(template.New(kind).Funcs(functions).ParseFS(templates, "templates/frame.html", "templates/parts.html", "templates/"+kind+".html"))
	}
	return made
}()

func (p *page) bytes() ([]byte, error) {
	var out bytes.Buffer
	if err := pages[p.kind].ExecuteTemplate(&out, "frame", p); err != nil {
		return nil, fmt.Errorf("make the page %s: %w", p.kind, err)
	}
	return out.Bytes(), nil
}

func (h *handler) overview(_ *http.Request, _ *people.Person, cut Cut) (func() *page, error) {
	return func() *page {
		return &page{
			kind: "overview", Title: "Overview", Needs: cut.Needs(needed), Counts: cut.Counts(), Chart: trend.New(cut.Trend(), cut.AsOf),
			Providers: cut.FindServices(Query{}, providersIn), Destinations: cut.FindServices(Query{}, destinationsIn), Recent: cut.Recent(recent),
		}
	}, nil
}

// queryOf reads what somebody looks for from an address. Pages that there are not are the nearest that there is.
func queryOf(values url.Values) Query {
	const longest = 253 // of what there may be in Kubernetes
	words := func(key string) string {
		value := values.Get(key)
		return foreign.Line(strings.ToValidUTF8(value[:min(len(value), longest)], ""))
	}
	number, _ := strconv.Atoi(values.Get("page"))
	return Query{
		Text: words("q"), Namespace: words("namespace"), Source: words("source"),
		Phase: v1alpha1.Phase(words("phase")), Reason: v1alpha1.Reason(words("reason")), Page: number,
	}
}

// At is the address of a page of the same list.
func (q Query) At(path string, number int) string {
	values := url.Values{}
	for key, value := range map[string]string{
		"q": q.Text, "namespace": q.Namespace, "source": q.Source, "phase": string(q.Phase), "reason": string(q.Reason),
	} {
		if value != "" {
			values.Set(key, value)
		}
	}
	if number > 1 {
		values.Set("page", strconv.Itoa(number))
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// Any reports whether anything is left out.
func (q Query) Any() bool {
	q.Page = 0
	return q != Query{}
}

func (h *handler) items(r *http.Request, _ *people.Person, cut Cut) (func() *page, error) {
	return func() *page {
		query := queryOf(r.URL.Query())
		return &page{kind: "items", Title: "Items", Query: query, Found: cut.Find(query), Choices: choicesOf(cut, query)}
	}, nil
}

func choicesOf(cut Cut, query Query) choices {
	offered := choices{Phases: phases}
	for _, in := range cut.within(query.Namespace) {
		for i := range in.sources {
			offered.Sources = append(offered.Sources, in.sources[i].Name)
		}
	}
	slices.Sort(offered.Sources)
	offered.Sources = slices.Compact(offered.Sources)
	for reason := range reasons {
		offered.Reasons = append(offered.Reasons, reason)
	}
	slices.Sort(offered.Reasons)
	return offered
}

func (h *handler) sources(r *http.Request, _ *people.Person, cut Cut) (func() *page, error) {
	return func() *page {
		query := queryOf(r.URL.Query())
		return &page{kind: "sources", Title: "Sources", Query: query, Sources: cut.FindSources(query)}
	}, nil
}

func providersIn(in *space) []Service { return in.providers }

func destinationsIn(in *space) []Service { return in.destinations }

// services lists providers or destinations.
func (h *handler) services(title string, of func(*space) []Service) composer {
	return func(r *http.Request, _ *people.Person, cut Cut) (func() *page, error) {
		return func() *page {
			query := queryOf(r.URL.Query())
			return &page{kind: "services", Title: title, Query: query, Services: cut.FindServices(query, of)}
		}, nil
	}
}

func (h *handler) source(r *http.Request, of *people.Person, cut Cut) (func() *page, error) {
	source, found := cut.Source(r.PathValue("namespace"), r.PathValue("name"))
	if !found {
		return nil, errNotFound
	}
	may, err := h.may(r.Context(), of, "feedsources", source.Namespace)
	if err != nil {
		return nil, err
	}
	return func() *page {
		query := Query{Namespace: source.Namespace, Source: source.Name}
		return &page{kind: "source", Title: source.Name, Source: source, Query: query, Found: cut.Find(query), May: may}
	}, nil
}

func (h *handler) item(r *http.Request, of *people.Person, cut Cut) (func() *page, error) {
	item, found := cut.Item(r.PathValue("namespace"), r.PathValue("name"))
	if !found {
		return nil, errNotFound
	}
	whole, err := h.whole.of(r.Context(), of.Tenant(), item)
	if err != nil {
		return nil, err
	}
	may, err := h.may(r.Context(), of, "feeditems", item.Namespace)
	if err != nil {
		return nil, err
	}
	return func() *page {
		return &page{kind: "item", Title: item.Shown(), Item: item, Whole: viewOf(whole), May: may}
	}, nil
}

// wholeView is an item as its page shows it.
type wholeView struct {
	*v1alpha1.FeedItem
	Events []event // the newest first
}

// event is a row of the time line.
type event struct {
	Time     time.Time
	What     string
	Status   string
	Object   string
	Category v1alpha1.Category
	Took     time.Duration
	Retry    int32
}

func viewOf(item *v1alpha1.FeedItem) *wholeView {
	view := &wholeView{FeedItem: item}
	for _, entry := range slices.Backward(item.Status.History) {
		shown := event{
			Time: entry.Time.Time, What: stages[entry.Stage], Status: string(entry.Status), Object: entry.Object, Category: entry.Category, Retry: entry.Retry,
		}
		if entry.Duration != nil {
			shown.Took = entry.Duration.Duration
		}
		view.Events = append(view.Events, shown)
	}
	view.Events = append(view.Events, event{Time: v1alpha1.Created(item).Time, What: "First seen in the feed", Status: "created"})
	return view
}

// Rests reports whether a retry would change nothing.
func (v *wholeView) Rests() bool {
	return v.Status.Phase == v1alpha1.PhaseProcessed && v.Status.Summary != nil
}

// Ready is what the operator says of the item, in words, where nothing has failed.
func (v *wholeView) Ready() string {
	for _, condition := range v.Status.Conditions {
		if condition.Type == v1alpha1.ConditionReady && condition.Status != "True" {
			return condition.Message
		}
	}
	return ""
}

// Shown is the title as it may be shown. Where nothing of it can be seen it is the name: a row has to be read, and followed.
func (i Item) Shown() string { return cmp.Or(foreign.Shown(i.Title), i.Name) }

// Where is the place of an item on the page.
func (i Item) Where() string { return "/items/" + i.Namespace + "/" + i.Name }

// Where is the place of a source on the page.
func (s Source) Where() string { return "/sources/" + s.Namespace + "/" + s.Name }

// CheckedAt is when it was last worked on.
func (i Item) CheckedAt() time.Time { return time.Unix(i.Checked, 0) }

// NextAt is when it is tried again; zero for nobody knows.
func (i Item) NextAt() time.Time {
	if i.Next == 0 {
		return time.Time{}
	}
	return time.Unix(i.Next, 0)
}

// functions are what templates may call. Whatever a stranger has written goes through foreign.
var functions = template.FuncMap{
	"line":   foreign.Line,
	"shown":  foreign.Shown,
	"text":   foreign.Text,
	"link":   foreign.WebLink,
	"why":    func(reason v1alpha1.Reason) string { return reasons[reason] },
	"phase":  func(phase v1alpha1.Phase) string { return phaseWords[phase] },
	"spaced": spaced,
	"lower":  func(text any) string { return strings.ToLower(fmt.Sprint(text)) },
	"utc":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"span":   span,
	"ago":    relative,
	"round":  func(d time.Duration) time.Duration { return d.Round(time.Millisecond) },
	"only":   func(namespaces []string) bool { return len(namespaces) < 2 },
	"few":    func(choices []string) bool { return len(choices) <= mostChoices },
	"active": func(counts v1alpha1.ItemCounts) int32 { return counts.Active() },
	"or2":    func(a, b string) string { return cmp.Or(a, b) },
	"args":   args,
}

// args gives a part of a template several things by their names.
func args(pairs ...any) (map[string]any, error) {
	given := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, is := pairs[i].(string)
		if !is {
			return nil, fmt.Errorf("%v is no name", pairs[i])
		}
		given[name] = pairs[i+1]
	}
	return given, nil
}

// spaced is a state as words: Cooling down.
func spaced(state any) string {
	var words strings.Builder
	for at, letter := range fmt.Sprint(state) {
		if at > 0 && unicode.IsUpper(letter) {
			words.WriteByte(' ')
			letter = unicode.ToLower(letter)
		}
		words.WriteRune(letter)
	}
	return words.String()
}

// relative is a time as a person says it.
func relative(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "never"
	case d < -time.Second:
		return "in " + span(-d)
	case d < 2*time.Second:
		return "now"
	default:
		return span(d) + " ago"
	}
}

// span is a duration as a person says it.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d/time.Minute))
	case d < 2*day:
		return fmt.Sprintf("%d h", int(d/time.Hour))
	}
	return fmt.Sprintf("%d d", int(d/day))
}

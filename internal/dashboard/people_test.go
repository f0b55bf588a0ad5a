// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/dashboard/people"
)

// twoTenants are two namespaces in which much is the same.
func twoTenants() []client.Object {
	var objects []client.Object
	for _, namespace := range []string{"a", "b"} {
		source := aSource(namespace, "press-"+namespace)
		provider := &v1alpha1.AIProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gemini-" + namespace}}
		provider.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: v1alpha1.ReasonCredentialsRefused, Message: "refused"}}
		objects = append(objects, source, provider, anItem(source, "dead-"+namespace, v1alpha1.PhaseFailed, because(v1alpha1.ReasonInvalidContent)),
			anItem(source, "done-"+namespace, v1alpha1.PhaseProcessed))
	}
	return objects
}

var bearer = []string{"Authorization", "Bearer of-a"}

// R5.4: with --dashboard-auth, who shows no token of the cluster sees nothing, and is asked for one in words.
func TestStrangersSeeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	for _, headers := range [][]string{nil, {"Authorization", "Bearer made-up"}, {"Authorization", "Basic x"}, {"Cookie", people.CookieName + "=made-up"}, {"Authorization", "Bearer " + strings.Repeat("x", 15_000)}} {
		for _, path := range []string{"/", "/items", "/items/a/dead-a", "/sources", "/sources/a/press-a", "/providers", "/destinations", "/events"} {
			got := w.ask(http.MethodGet, path, nil, headers...)
			if got.Code != http.StatusUnauthorized {
				t.Errorf("%s with %.40q: %d", path, headers, got.Code)
			}
			got.lacks("press", "dead-a", "gemini")
		}
	}
	if strangers := w.count("token"); strangers > 1 {
		t.Errorf("the API server was asked %d times about one unknown token", strangers)
	}
	w.ask(http.MethodGet, "/", nil).has("Sign in", "kubectl create token")
}

// R5.4: a person sees the namespaces in which they may list FeedItems, and nothing that depends on others: no name, count, bar, reason or answer.
func TestAPersonSeesTheirNamespacesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	alone := newWorld(t, withAuth, twoTenants()[:4]...)
	for _, of := range []*world{w, alone} {
		of.may["of-a"] = []string{"list feeditems a"}
	}
	for _, path := range []string{
		"/", "/items", "/items?q=dead", "/items?phase=Failed", "/items?namespace=b", "/items?source=press-b", "/items/a/dead-a",
		"/sources", "/sources?namespace=b", "/sources?q=press", "/sources?page=2", "/providers", "/providers?q=gemini", "/destinations", "/destinations?namespace=b",
	} {
		got, want := w.see(path, bearer...), alone.see(path, bearer...)
		got.lacks("press-b\"", "dead-b", "gemini-b", ">b<", "done-b")
		clean := func(a answer) string { // what differs with each process
			return strings.ReplaceAll(strings.ReplaceAll(a.Body.String(), a.form(), ""), a.all("main", "data-version")[0], "")
		}
		if clean(got) != clean(want) {
			t.Errorf("%s differs from what it is without the other namespace:\n%s\n%s", path, got.text(), want.text())
		}
	}
	for _, path := range []string{"/items/b/dead-b", "/sources/b/press-b", "/items/b/nothing", "/items/c/nothing"} {
		got, nothing := w.ask(http.MethodGet, path, nil, bearer...), w.ask(http.MethodGet, "/items/c/at-all", nil, bearer...)
		if got.Code != http.StatusNotFound || got.Body.String() != nothing.Body.String() {
			t.Errorf("%s: %d: %s", path, got.Code, got.text())
		}
	}
	w.may["of-all"] = []string{"list feeditems *"}
	w.see("/", "Authorization", "Bearer of-all").has("dead-a", "dead-b", "2 dead letters")
}

// R5.4: where the API server cannot find out what a person may see, because a webhook does not answer that it asks, the page does not say that there is
// nothing; and that is not believed for longer than it lasts.
func TestWhatTheAPIServerCannotDecideIsNoAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	w.may["ann"] = []string{"list feeditems a"}
	w.reviewing = func(object client.Object) error {
		if review, is := object.(*authorizationv1.SubjectAccessReview); is {
			review.Spec.User = "nobody"
			review.Status.EvaluationError = "webhook authorizer: context deadline exceeded"
		}
		return nil
	}
	if got := w.ask("GET", "/", nil, "Authorization", "Bearer ann"); got.Code != http.StatusServiceUnavailable || strings.Contains(got.text(), "webhook authorizer") {
		t.Errorf("while nobody knows: %d %.300s", got.Code, got.text())
	}
	w.reviewing = func(object client.Object) error {
		if review, is := object.(*authorizationv1.SubjectAccessReview); is && review.Spec.ResourceAttributes.Namespace == "a" {
			review.Status.EvaluationError = "webhook authorizer: context deadline exceeded" // another one of those it asks knows
		}
		return nil
	}
	if got := w.see("/items", "Authorization", "Bearer ann"); !strings.Contains(got.Body.String(), "/items/a/dead-a") {
		t.Errorf("as soon as it is known: %.300s", got.text())
	}
}

// R5.4: what happens in a namespace that a person does not see changes nothing that they are sent.
func TestTheVersionOfAPersonIsTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	w.may["of-a"] = []string{"list feeditems a"}
	version := func() string { return w.see("/", bearer...).all("main", "data-version")[0] }
	before := version()
	change := func(namespace string) {
		item := w.item(namespace, "dead-"+namespace)
		item.Status.Phase, item.Status.Reason = v1alpha1.PhaseDeferred, ""
		if err := w.client.Update(t.Context(), &item); err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Second)
	}
	change("b")
	if got := version(); got != before {
		t.Error("it tells that something has changed in another namespace")
	}
	change("a")
	if got := version(); got == before {
		t.Error("it does not tell of a change")
	}
}

// R5.4: a person may do what the API server lets them do, with their own token; they are offered nothing else.
func TestAPersonMayDoWhatTheAPIServerLetsThemDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(options *Options) { withAuth(options); options.Actions, options.Writer = true, nil }, twoTenants()...)
	w.may["of-a"] = []string{"list feeditems a", "list feeditems b", "patch feeditems a", "patch feedsources b"}
	own := w.see("/items/a/dead-a", bearer...)
	own.has("Retry now")
	form := url.Values{"form": {own.form()}}
	w.see("/items/b/dead-b", bearer...).lacks("Retry now")
	w.see("/sources/a/press-a", bearer...).lacks("Suspend the source")
	for path, want := range map[string]int{
		"/items/a/dead-a/retry": 303, "/items/b/dead-b/retry": 403, "/sources/a/press-a/suspend": 403, "/sources/b/press-b/suspend": 303, "/items/c/x/retry": 404,
	} {
		if got := w.ask(http.MethodPost, path, form, bearer...); got.Code != want {
			t.Errorf("POST %s: %d, want %d: %s", path, got.Code, want, got.text())
		}
	}
	if len(w.item("a", "dead-a").Annotations) != 1 || len(w.item("b", "dead-b").Annotations) != 0 || w.source("a", "press-a").Spec.Suspend || !w.source("b", "press-b").Spec.Suspend {
		t.Error("something else was done")
	}
	w.may["of-b"] = w.may["of-a"]
	if got := w.ask(http.MethodPost, "/items/a/dead-a/retry", form, "Authorization", "Bearer of-b"); got.Code != http.StatusForbidden {
		t.Errorf("the form of somebody else: %d", got.Code)
	}
	if strings.Contains(w.log.String(), "of-a\"") && strings.Contains(w.log.String(), "Bearer") {
		t.Errorf("the log has a token: %s", w.log)
	}
}

// R5.4, R5.6: who signs in gets a cookie that scripts cannot read, that goes to no other site, and that holds the token so that nobody else can read it.
func TestSigningInKeepsTheTokenToItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	w.may["of-a"] = []string{"list feeditems a"}
	form := w.ask(http.MethodGet, "/sign-in", nil).form()
	for token, want := range map[string]string{"made-up": "does not know this token", strings.Repeat("x", 3000): "too long"} {
		if got := w.ask(http.MethodPost, "/sign-in", url.Values{"form": {form}, "token": {token}}); got.Code != http.StatusUnauthorized || !strings.Contains(got.text(), want) {
			t.Errorf("%.20s: %d: %s", token, got.Code, got.text())
		}
	}
	if got := w.ask(http.MethodPost, "/sign-in", url.Values{"token": {"of-a"}}); got.Header().Get("Set-Cookie") != "" {
		t.Error("a form of another site signs in")
	}
	if got := w.ask(http.MethodPost, "/sign-in", url.Values{"form": {form}, "token": {"of-a"}}, "Sec-Fetch-Site", "cross-site"); got.Code != http.StatusForbidden {
		t.Errorf("another site signs in: %d", got.Code)
	}
	got := w.ask(http.MethodPost, "/sign-in", url.Values{"form": {form}, "token": {" of-a\n"}})
	cookies := got.Result().Cookies()
	if got.Code != http.StatusSeeOther || len(cookies) != 1 {
		t.Fatalf("%d: %v", got.Code, cookies)
	}
	cookie := cookies[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" || strings.Contains(cookie.Value, "of-a") {
		t.Errorf("cookie %v", cookie)
	}
	page := w.see("/", "Cookie", cookie.Name+"="+cookie.Value)
	page.has("dead-a", "user of of-a", "Sign out")
	altered := []byte(cookie.Value)
	altered[len(altered)-3] ^= 1
	if got := w.ask(http.MethodGet, "/", nil, "Cookie", cookie.Name+"="+string(altered)); got.Code != http.StatusUnauthorized {
		t.Errorf("an altered cookie: %d", got.Code)
	}
	again := newWorld(t, withAuth, twoTenants()...)
	again.may["of-a"] = w.may["of-a"]
	if got := again.ask(http.MethodGet, "/", nil, "Cookie", cookie.Name+"="+cookie.Value); got.Code != http.StatusUnauthorized {
		t.Errorf("the cookie of another process: %d", got.Code)
	}
	out := w.ask(http.MethodPost, "/sign-out", url.Values{})
	if cookies := out.Result().Cookies(); len(cookies) != 1 || cookies[0].MaxAge >= 0 {
		t.Errorf("signing out: %v", cookies)
	}
	tls := w.ask(http.MethodPost, "/sign-in", url.Values{"form": {form}, "token": {"of-a"}}, "X-Forwarded-Proto", "https")
	if cookies := tls.Result().Cookies(); len(cookies) != 1 || !cookies[0].Secure {
		t.Errorf("behind TLS: %v", cookies)
	}
}

// R5.4: the API server is asked seldom: answers are kept for a minute, and then asked for again; those whose tokens are made up cannot make it busy.
func TestTheAPIServerIsAskedSeldom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	w.may["of-a"] = []string{"list feeditems a"}
	for range 20 {
		w.see("/items/a/dead-a", bearer...)
		w.pass(2 * time.Second)
	}
	if tokens, access, gets := w.count("token"), w.count("access"), w.count("get"); tokens != 1 || access != 3 || gets != 1 {
		t.Errorf("asked %d times who it is, %d times what they may see, and %d times for the item", tokens, access, gets)
	}
	w.mu.Lock()
	delete(w.may, "of-a") // the token is revoked
	w.mu.Unlock()
	w.pass(time.Minute)
	if got := w.ask(http.MethodGet, "/", nil, bearer...); got.Code != http.StatusUnauthorized {
		t.Errorf("a token that was revoked a minute ago: %d", got.Code)
	}
	before := w.count("token")
	for i := range 200 {
		w.ask(http.MethodGet, "/", nil, "Authorization", "Bearer made-up-"+strings.Repeat("x", i))
	}
	if asked := w.count("token") - before; asked > people.NewTokensAtOnce+people.NewTokensPerSecond {
		t.Errorf("the API server was asked about %d made-up tokens at once", asked)
	}
	other := newWorld(t, withAuth, twoTenants()...)
	other.may["of-a"] = []string{"list feeditems a"}
	other.see("/", bearer...)
	other.pass(2 * time.Minute)
	for i := range 2 * people.NewTokensAtOnce {
		other.ask(http.MethodGet, "/", nil, "Authorization", "Bearer made-up-"+strings.Repeat("x", i))
	}
	other.see("/", bearer...) // those who make tokens up keep nobody out who was here before
}

// R5.4: the cookie of who has signed in by port-forward is good by port-forward only: a browser shows it to whatever else is forwarded to localhost, and that
// may reach the page by the network.
func TestACookieOfLoopbackIsGoodThereOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withAuth, twoTenants()...)
	w.may["of-a"] = []string{"list feeditems a"}
	form := w.ask(http.MethodGet, "/sign-in", nil).form()
	for given, used := range map[string]map[string]int{
		"127.0.0.1:40000": {"127.0.0.1:40001": 200, "[::1]:40001": 200, "[::ffff:127.0.0.1]:40001": 200, "10.0.0.7:40000": 401, "[fd00::7]:40000": 401},
		"10.0.0.7:40000":  {"10.0.0.8:40000": 200, "[fd00::7]:40000": 200, "127.0.0.1:40000": 401},
	} {
		cookies := w.ask(http.MethodPost, "/sign-in", url.Values{"form": {form}, "token": {"of-a"}}, "from", given).Result().Cookies()
		if len(cookies) != 1 {
			t.Fatalf("from %s: %v", given, cookies)
		}
		for from, want := range used {
			if got := w.ask(http.MethodGet, "/", nil, "Cookie", cookies[0].Name+"="+cookies[0].Value, "from", from); got.Code != want {
				t.Errorf("given to %s, shown from %s: %d, want %d", given, from, got.Code, want)
			}
		}
	}
}

// R5.4: who may make tokens in a namespace can make many that are good. They have the API server asked about all namespaces so often at most, and keep out
// nobody who comes from elsewhere.
func TestTokensOfOneTenantHaveTheAPIServerAskedSeldom(t *testing.T) {
	t.Parallel()
	var objects []client.Object
	for i := range 50 {
		objects = append(objects, aSource(fmt.Sprint("n", i), "press"))
	}
	w := newWorld(t, withAuth, objects...)
	w.may["of-a"] = []string{"list feeditems n0"}
	busy, seconds := 0, 60
	for second := range seconds {
		for i := range people.NewTokensPerSecond {
			token := fmt.Sprintf("system:serviceaccount:n1:robot-%d-%d", second, i)
			w.may[token] = []string{"list feeditems n1"}
			if got := w.ask(http.MethodGet, "/sources", nil, "Authorization", "Bearer "+token, "from", "10.0.0.9:40000"); got.Code == http.StatusServiceUnavailable {
				busy++
			}
		}
		w.pass(time.Second)
	}
	if asked, most := w.count("access"), (people.LooksAtOnce+seconds/2+1)*(len(objects)+1); busy == 0 || asked > most {
		t.Errorf("the API server was asked %d times what they see, more than %d; %d were to wait", asked, most, busy)
	}
	w.see("/sources", append(bearer, "from", "10.0.0.8:40000")...).has("press")
}

// R5.4: what one tenant presses is bounded, as it is a line of the log each time; and others press as before.
func TestPressesOfOneTenantAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(options *Options) { withAuth(options); withActions(options) }, twoTenants()...)
	for _, of := range []string{"a", "b"} {
		w.may["of-"+of] = []string{"list feeditems " + of, "patch feedsources " + of}
	}
	press := func(of string, times int) (refused int) {
		shows := []string{"Authorization", "Bearer of-" + of}
		form := url.Values{"form": {w.see("/sources/"+of+"/press-"+of, shows...).form()}}
		for range times {
			if got := w.ask(http.MethodPost, "/sources/"+of+"/press-"+of+"/suspend", form, shows...); got.Code == http.StatusServiceUnavailable {
				refused++
			}
		}
		return refused
	}
	if refused := press("a", 2*people.PressesAtOnce); refused != people.PressesAtOnce {
		t.Errorf("%d of %d were refused", refused, 2*people.PressesAtOnce)
	}
	if refused := press("b", 1); refused > 0 {
		t.Error("so is another tenant's")
	}
	if lines := strings.Count(w.log.String(), "Requested by the page"); lines != people.PressesAtOnce+1 {
		t.Errorf("%d lines", lines)
	}
}

// R5.4: whose token was revoked a moment ago is asked to sign in when they press something.
func TestWhoseTokenWasRevokedSignsInAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(options *Options) {
		withAuth(options)
		withActions(options)
	}, twoTenants()...)
	w.may["of-a"] = []string{"list feeditems a", "patch feedsources a"}
	form := url.Values{"form": {w.see("/sources/a/press-a", bearer...).form()}}
	w.revoked = true
	if got := w.ask(http.MethodPost, "/sources/a/press-a/suspend", form, bearer...); got.Code != http.StatusUnauthorized {
		t.Errorf("%d: %s", got.Code, got.text())
	}
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// browserPatience is how long a browser may take for what must happen, on a machine that has much else to do.
const browserPatience = 2 * time.Minute

// chromium is the one browser of all tests, which takes longer to start than any of them.
var chromium struct {
	once   sync.Once
	found  bool
	ctx    context.Context
	failed error
	stop   func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if stop := chromium.stop; stop != nil {
		stop()
	}
	os.Exit(code)
}

func startChromium() {
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if chromium.found = program != ""; !chromium.found {
		return
	}
	profile, err := os.MkdirTemp("", "feed-operator-chromium-")
	if err != nil {
		chromium.failed = err
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.UserDataDir(profile))
	allocator, ended := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closed := chromedp.NewContext(allocator)
	chromium.ctx, chromium.stop = ctx, func() {
		_ = chromedp.Cancel(ctx)
		closed()
		ended() // Chromium is away before the folder of its profile is removed
		_ = os.RemoveAll(profile)
	}
	// The browser lives as long as the context of the first action.
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
		chromium.failed = fmt.Errorf("start %s: %w", program, err)
	}
}

// browser opens a window of a real browser, which shares nothing with those of other tests.
func browser(t *testing.T) context.Context {
	t.Helper()
	chromium.once.Do(startChromium)
	if !chromium.found {
		t.Skip("there is no Chromium: `apt-get install chromium` has this test see the page in a browser")
	}
	if chromium.failed != nil {
		t.Fatal(chromium.failed)
	}
	ctx, closed := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		closed()
	})
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// do has the browser do something.
func do(tab context.Context, t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, browserPatience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		body, _ := chromedp.Run(tab, chromedp.Evaluate[string]("document.body.innerText"))
		t.Fatalf("%v; the page says: %s", err, body)
	}
}

func evaluate[T any](tab context.Context, t *testing.T, script string) T {
	t.Helper()
	value, err := chromedp.Run(tab, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return value
}

// until waits until something is true on the page. The browser looks at each change that it draws.
func until(tab context.Context, t *testing.T, script string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, browserPatience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(browserPatience))); err != nil {
		body, _ := chromedp.Run(tab, chromedp.Evaluate[string]("document.body.innerText"))
		t.Fatalf("%s: %v; the page says: %s", script, err, body)
	}
}

// inBrowser serves a page to a browser, by the time of the machine.
func inBrowser(t *testing.T, w *world) (tab context.Context, address string) {
	t.Helper()
	tab = browser(t)
	server := httptest.NewServer(w.handler)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(w.ended) })
	return tab, server.URL
}

// set writes an item's status, of which the page hears as from the cache.
func (w *world) set(namespace, name string, change func(*v1alpha1.FeedItem)) {
	w.t.Helper()
	item := w.item(namespace, name)
	change(&item)
	if err := w.client.Update(w.t.Context(), &item); err != nil {
		w.t.Fatal(err)
	}
	w.pass(time.Second)
}

// R5.4: in a real browser an item that fails appears among what needs a person by itself, and a retry by the page ends that.
func TestABrowserSeesAnItemFailAndRetriesIt(t *testing.T) {
	t.Parallel()
	press := aSource("news", "press")
	w := newWorld(t, withActions, press, anItem(press, "one", v1alpha1.PhaseDeferred), anItem(press, "two", v1alpha1.PhaseProcessed))
	tab, address := inBrowser(t, w)
	do(tab, t, chromedp.Navigate(address+"/"), chromedp.WaitVisible("#state.live"))
	if needs := evaluate[string](tab, t, "document.querySelector('#needs').innerText"); !strings.Contains(needs, "Nothing.") {
		t.Errorf("needs a person: %s", needs)
	}
	evaluate[bool](tab, t, "window.loadedOnce = true")
	w.set("news", "one", func(item *v1alpha1.FeedItem) {
		item.Status.Phase, item.Status.Reason = v1alpha1.PhaseFailed, v1alpha1.ReasonRetryLimitExceeded
		item.Status.Failure = &v1alpha1.Failure{Message: "The server answered 503", Category: v1alpha1.CategoryAPI, Stage: v1alpha1.StageArticle, Time: metav1.NewTime(noon)}
	})
	until(tab, t, "document.querySelector('#needs').innerText.includes('Title of one')")
	if !evaluate[bool](tab, t, "window.loadedOnce === true") {
		t.Error("the page was loaded anew")
	}
	do(tab, t, chromedp.Click("#needs a.row"), chromedp.WaitVisible("#retry"))
	if text := evaluate[string](tab, t, "document.querySelector('main').innerText"); !strings.Contains(text, "The server answered 503") {
		t.Errorf("the item: %s", text)
	}
	do(tab, t, chromedp.Click("#retry"), chromedp.WaitVisible(".did"))
	if w.item("news", "one").Annotations[v1alpha1.AnnotationRetry] == "" {
		t.Fatal("no retry is requested")
	}
	do(tab, t, chromedp.Navigate(address+"/"), chromedp.WaitVisible("#state.live"))
	w.set("news", "one", func(item *v1alpha1.FeedItem) { // as the operator does then
		item.Status.Phase, item.Status.Reason, item.Status.Failure = v1alpha1.PhaseProcessed, "", nil
	})
	until(tab, t, "document.querySelector('#needs').innerText.includes('Nothing.')")
}

// R5.4: an item that is deleted while its page is open is said to be gone; what was there can be read still, and the next page is live again.
func TestABrowserSaysThatAnItemIsGone(t *testing.T) {
	t.Parallel()
	press := aSource("news", "press")
	w := newWorld(t, nil, press, anItem(press, "one", v1alpha1.PhaseFailed, because(v1alpha1.ReasonInvalidContent)))
	tab, address := inBrowser(t, w)
	do(tab, t, chromedp.Navigate(address+"/items/news/one"), chromedp.WaitVisible("#state.live"))
	gone := w.item("news", "one")
	if err := w.client.Delete(t.Context(), &gone); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	until(tab, t, "document.getElementById('state').textContent === 'It is not there any more'")
	if text := evaluate[string](tab, t, "document.querySelector('main').innerText"); !strings.Contains(text, "Title of one") {
		t.Errorf("the page says: %s", text)
	}
	do(tab, t, chromedp.Navigate(address+"/"), chromedp.WaitVisible("#state.live"))
	if text := evaluate[string](tab, t, "document.querySelector('#needs').innerText"); !strings.Contains(text, "Nothing.") {
		t.Errorf("the overview says: %s", text)
	}
}

// R5.4: ages are by the operator's clock, whatever that of the viewer's machine shows, at first and after an update; and the page is not live while
// the API server tells the operator nothing.
func TestABrowserWithAWrongClockShowsTheRightAges(t *testing.T) {
	t.Parallel()
	press := aSource("news", "press") // of a day that is not today
	var silence atomic.Int64
	w := newWorld(t, func(options *Options) {
		options.Silence = func([]string) time.Duration { return time.Duration(silence.Load()) }
	},
		press, anItem(press, "one", v1alpha1.PhaseProcessed), anItem(press, "two", v1alpha1.PhaseDeferred))
	tab, address := inBrowser(t, w)
	do(tab, t, chromedp.Navigate(address+"/items"), chromedp.WaitVisible("#state.live"))
	const ages = "[...document.querySelectorAll('.when time')].map(time => time.textContent).join()"
	if shown := evaluate[string](tab, t, ages); shown != "1 min ago,1 min ago" {
		t.Errorf("they are from %s", shown)
	}
	w.pass(time.Hour)
	w.set("news", "two", func(item *v1alpha1.FeedItem) { item.Status.Phase = v1alpha1.PhaseProcessed })
	until(tab, t, "document.querySelectorAll('.phase.processed').length === 2")
	if shown := evaluate[string](tab, t, ages); shown != "1 h ago,1 h ago" {
		t.Errorf("after an hour they are from %s", shown)
	}
	silence.Store(int64(5 * time.Minute))
	w.pass(time.Second)
	until(tab, t, "document.getElementById('state').textContent === 'Not live: the operator does not hear from the API server'")
	if text := evaluate[string](tab, t, "document.querySelector('main').innerText"); !strings.Contains(text, "as it was 5 min ago") {
		t.Errorf("the page says: %s", text)
	}
	silence.Store(0)
	w.pass(time.Second)
	until(tab, t, "document.getElementById('state').className.endsWith(' live') && !document.querySelector('main').innerText.includes('as it was')")
}

// R5.4: in a real browser what strangers have written is text, and cannot reorder the page; nothing is blocked that the page itself needs.
func TestABrowserShowsHostileTextAsText(t *testing.T) {
	t.Parallel()
	const evil = "<script>window.taken = true</script>\u202egnp.exe<img src=x onerror='window.taken = true'>"
	press := aSource("news", "press", func(s *v1alpha1.FeedSource) { s.Status.Title, s.Status.Conditions[0].Message = evil, evil })
	w := newWorld(t, nil, press, anItem(press, "one", v1alpha1.PhaseFailed, titled(evil), because(v1alpha1.ReasonInvalidContent), func(item *v1alpha1.FeedItem) {
		item.Status.Summary = &v1alpha1.Summary{Text: evil, Provider: "gemini"}
		item.Status.Failure = &v1alpha1.Failure{Message: evil}
	}))
	tab, address := inBrowser(t, w)
	blocked := make(chan string, 100)
	err := chromedp.Listen(tab, func(event any) {
		if thrown, is := event.(*runtime.EventExceptionThrown); is {
			blocked <- thrown.ExceptionDetails.Text
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/items", "/items/news/one", "/sources/news/press"} {
		do(tab, t, chromedp.Navigate(address+path), chromedp.WaitVisible("#state.live"))
		text := evaluate[string](tab, t, "document.body.innerText")
		if !strings.Contains(text, "<script>window.taken = true</script>gnp.exe") || strings.Contains(text, "\u202e") {
			t.Errorf("%s says: %s", path, text)
		}
		if evaluate[bool](tab, t, "window.taken === true || document.querySelectorAll('img, main script').length > 0") {
			t.Errorf("%s: what a stranger has written has become a part of the page", path)
		}
		if style := evaluate[string](tab, t, "getComputedStyle(document.querySelector('main')).display"); style != "grid" {
			t.Errorf("%s: the stylesheet is not in force: %s", path, style)
		}
	}
	select {
	case what := <-blocked:
		t.Error(what)
	default:
	}
}

// R5.4: without script the page is a plain page, with all that there is, and forms and links that work.
func TestABrowserWithoutScriptHasAPlainPage(t *testing.T) {
	t.Parallel()
	press := aSource("news", "press")
	w := newWorld(t, withActions, press, anItem(press, "one", v1alpha1.PhaseFailed, because(v1alpha1.ReasonInvalidContent)), anItem(press, "two", v1alpha1.PhaseProcessed))
	tab, address := inBrowser(t, w)
	if _, err := chromedp.Call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	do(tab, t, chromedp.Navigate(address+"/"), chromedp.WaitVisible("#needs a.row"), chromedp.Click("#needs a.row"), chromedp.WaitVisible("#retry"),
		chromedp.Click("#retry"), chromedp.WaitVisible(".did"), chromedp.SendKeys("#search", "title of two\r"), chromedp.WaitVisible(".count"))
	location, err := chromedp.Run(tab, chromedp.Location())
	if err != nil || location != address+"/items?q=title+of+two" {
		t.Errorf("the search leads to %s: %v", location, err)
	}
	if count, err := chromedp.Run(tab, chromedp.Text(".count")); err != nil || !strings.HasPrefix(count, "1–1 of 1") {
		t.Errorf("found: %s, %v", count, err)
	}
	if w.item("news", "one").Annotations[v1alpha1.AnnotationRetry] == "" {
		t.Error("no retry is requested")
	}
}

// R5.4: the keyboard reaches the search and every row, what has the focus keeps it through an update, and no page is wider than a phone.
func TestABrowserIsUsableByKeyboardAndOnAPhone(t *testing.T) {
	t.Parallel()
	press := aSource("news", "press")
	w := newWorld(t, nil, press, anItem(press, "one", v1alpha1.PhaseFailed, titled(strings.Repeat("W", 300)), because(v1alpha1.ReasonInvalidContent)), anItem(press, "two", v1alpha1.PhaseProcessed))
	tab, address := inBrowser(t, w)
	do(tab, t, chromedp.Navigate(address+"/"), chromedp.WaitVisible("#state.live"), chromedp.KeyEvent("/"))
	if at := evaluate[string](tab, t, "document.activeElement.id"); at != "search" {
		t.Errorf("/ leads to %q", at)
	}
	reached := false
	for range 30 {
		do(tab, t, chromedp.KeyEvent("\t"))
		if evaluate[string](tab, t, "document.activeElement.className") == "row" {
			reached = true
			break
		}
	}
	if !reached {
		t.Fatal("no row is reached by the keyboard")
	}
	if width := evaluate[string](tab, t, "getComputedStyle(document.activeElement).outlineStyle"); width == "none" {
		t.Error("what has the focus cannot be seen")
	}
	where := evaluate[string](tab, t, "document.activeElement.dataset.key")
	version := evaluate[string](tab, t, "document.getElementById('live').dataset.version")
	w.set("news", "two", func(item *v1alpha1.FeedItem) { item.Status.Phase = v1alpha1.PhaseDeferred })
	until(tab, t, "document.getElementById('live').dataset.version !== '"+version+"'")
	if at := evaluate[string](tab, t, "document.activeElement.dataset.key || ''"); at != where {
		t.Errorf("after an update the focus is at %q, and was at %q", at, where)
	}
	do(tab, t, chromedp.KeyEvent("\r"), chromedp.WaitVisible("#history-head"))

	do(tab, t, chromedp.EmulateViewport(360, 700))
	for _, path := range []string{"/", "/items", "/items/news/one", "/sources", "/sources/news/press", "/providers", "/destinations"} {
		do(tab, t, chromedp.Navigate(address+path), chromedp.WaitVisible("#live"))
		if wide := evaluate[int](tab, t, "document.documentElement.scrollWidth"); wide > 360 {
			t.Errorf("%s is %d pixels wide on a phone of 360", path, wide)
		}
	}
}

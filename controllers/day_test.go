// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/controllers"
	"github.com/feed-operator/feed-operator/internal/anthropictest"
	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/openaitest"
	"github.com/feed-operator/feed-operator/internal/portion"
)

// dayBook notes what became of each call of a simulated day.
type dayBook struct {
	mu       sync.Mutex
	outcomes map[string]map[string]int // by provider and outcome
	paid     map[string]int            // by title
	total    int
}

var titleOfDay = regexp.MustCompile(`News about day-\d+\b`)

// note counts a call about an article.
func (b *dayBook) note(provider, user, outcome string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outcomes[provider] == nil {
		b.outcomes[provider] = map[string]int{}
	}
	b.outcomes[provider][outcome]++
	b.total++
	if outcome == "summary" {
		b.paid[titleOfDay.FindString(user)]++
	}
}

// had reports whether a call had an outcome. What comes in a burst comes at least once, however late a busy machine makes its calls.
func (b *dayBook) had(provider, outcome string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outcomes[provider][outcome] > 0
}

func (b *dayBook) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// String is the report.
func (b *dayBook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out strings.Builder
	fmt.Fprintf(&out, "%-10s %-34s %6s\n", "PROVIDER", "OUTCOME", "CALLS")
	for _, provider := range slices.Sorted(maps.Keys(b.outcomes)) {
		for _, outcome := range slices.Sorted(maps.Keys(b.outcomes[provider])) {
			fmt.Fprintf(&out, "%-10s %-34s %6d\n", provider, outcome, b.outcomes[provider][outcome])
		}
	}
	fmt.Fprintf(&out, "%-10s %-34s %6d", "all", "", b.total)
	return out.String()
}

// simulatedDay is three providers on a bad day, and a feed that brings news all through it.
type simulatedDay struct {
	*world
	begin time.Time
	book  *dayBook
	web   *feedtest.Server
	all   []feedtest.Entry

	claude *anthropictest.Server
	keys   int // that Anthropic has taken back or given out

	mu    sync.Mutex
	spent int // of Gemini's quota of the day
}

// newsHours are the hours in which all of a day's news come.
const newsHours = 20

var (
	dayOfNews  = portion.Of(1000, 40)
	quotaOfDay = dayOfNews * 3 / 10 // requests to Gemini
	stillOfDay = time.Duration(portion.Of(1, 4)) * time.Minute
)

// hour is the hour of the day now, with its fraction.
func (d *simulatedDay) hour() float64 { return d.clock.Now().Sub(d.begin).Hours() }

func between(hour, from, to float64) bool { return hour >= from && hour < to }

// gemini throttles in a burst in the small hours, and has a quota a day.
func (d *simulatedDay) geminiAnswers(call geminitest.Call) (geminitest.Answer, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case between(d.hour(), 2, 2.2), d.hour() > 2 && !d.book.had("gemini", "throttled (RetryInfo)"):
		d.book.note("gemini", call.User, "throttled (RetryInfo)")
		return geminitest.Throttled(37 * time.Second), true
	case d.spent >= quotaOfDay && d.hour() < 24:
		d.book.note("gemini", call.User, "quota of the day spent")
		return geminitest.QuotaPerDay(), true
	}
	d.spent++
	d.book.note("gemini", call.User, "summary")
	return geminitest.Answer{}, false
}

// openAIAnswers: an outage from 10 to 13 o'clock, bursts of throttling in the afternoon.
func (d *simulatedDay) openAIAnswers(call openaitest.Call) (openaitest.Answer, bool) {
	switch hour := d.hour(); {
	case between(hour, 10, 13), between(hour, 19, 20):
		d.book.note("openai", call.User, "overloaded (outage)")
		return openaitest.Overloaded(), true
	case between(hour, 15, 15.3), between(hour, 16, 16.1), hour > 16 && !d.book.had("openai", "throttled (Retry-After)"):
		d.book.note("openai", call.User, "throttled (Retry-After)")
		return openaitest.Throttled(20 * time.Second), true
	}
	d.book.note("openai", call.User, "summary")
	return openaitest.Answer{}, false
}

// anthropicAnswers: its key expires at 9, and is replaced at 18 o'clock; then the server itself refuses.
func (d *simulatedDay) anthropicAnswers(call anthropictest.Call) (anthropictest.Answer, bool) {
	d.book.note("anthropic", call.User, "summary")
	return anthropictest.Answer{}, false
}

// R2.8, R3.3, R3.6, R3.8, R3.9, R3.12: a day of throttling, a spent quota, an outage, and a key that
// expires and is replaced in the evening. A thousand articles come through it, each paid for once,
// with no dead letters, and nothing is called in vain more than it takes to find out.
func TestADayOnWhichEverythingFails(t *testing.T) {
	t.Parallel()
	d := newSimulatedDay(t)
	restarted := false
	still := false
	for batch, told := 0, ""; d.hour() < 30; d.clock.FakeClock.Step(d.pause(still)) {
		hour := d.hour()
		if due := min(int(hour*2)+1, 2*newsHours); batch < due {
			batch = due
			d.web.List(d.all[dayOfNews-dayOfNews*batch/(2*newsHours):]...)
			d.poll("news")
		}
		switch {
		case hour >= 9 && d.keys == 0:
			d.keys++
			d.claude.SetKey("another")
		case hour >= 18 && d.keys == 1:
			d.keys++
			d.replaceKey()
		}
		if hour >= 11.5 && !restarted { // in the middle of all of it
			restarted = true
			d.restart()
			if !d.manager.GetCache().WaitForCacheSync(t.Context()) {
				t.Fatal("the cache is not read")
			}
		}
		still = d.rest()
		if hour >= 11.9 && told == "" {
			told = d.providersInWords()
			t.Logf("at noon, kubectl get aiproviders:\n%s", told)
		}
		if batch == 2*newsHours && d.open() == 0 {
			break
		}
	}
	t.Logf("the simulated day of %d articles ended at hour %.1f; calls with a refused key: %d\n%s", dayOfNews, d.hour(), d.refusedKeys(), d.book)

	d.itemsInTime("news", allProcessed(dayOfNews)) // a machine that has much else to do may not be through yet
	d.book.mu.Lock()
	defer d.book.mu.Unlock()
	if len(d.book.paid) != dayOfNews {
		t.Errorf("%d articles were paid for, want %d", len(d.book.paid), dayOfNews)
	}
	for title, times := range d.book.paid {
		if times != 1 {
			t.Errorf("%s was paid for %d times", title, times)
		}
	}
	// What may be called in vain: those under way when it begins (4 at once), and the probes and
	// cool-downs, each twice as long as the one before. When the pause of a spent quota ends, again 4 may be under way
	// before the first is answered: at first, and after one, two, four and eight hours.
	for _, vain := range []struct {
		provider, outcome string
		most              int
	}{
		{"gemini", "throttled (RetryInfo)", 12 * 60 / 37 * 2},
		{"gemini", "quota of the day spent", 4 * 5},
		{"openai", "overloaded (outage)", 2*(4+5) + 8 + 6},
		{"openai", "throttled (Retry-After)", 24 * 60 / 20},
	} {
		if got := d.book.outcomes[vain.provider][vain.outcome]; got == 0 || got > vain.most {
			t.Errorf("%s: %s %d times, want 1 to %d", vain.provider, vain.outcome, got, vain.most)
		}
	}
	if refused := d.refusedKeys(); refused > 4 {
		t.Errorf("%d calls with a key that was refused", refused)
	}
}

func newSimulatedDay(t *testing.T) *simulatedDay {
	t.Helper()
	d := &simulatedDay{
		world: newWorld(t, onRealServer, repeating),
		book:  &dayBook{outcomes: map[string]map[string]int{}, paid: map[string]int{}},
		web:   feedtest.New(t),
	}
	d.begin = d.clock.Now()
	paced := func(perMinute int32) func(*v1alpha1.AIProvider) {
		return func(described *v1alpha1.AIProvider) { described.Spec.RequestsPerMinute = &perMinute }
	}
	d.world.gemini("gemini", paced(12)).OnCall(d.geminiAnswers)
	d.world.service(ofOpenAI, "openai", paced(15)).OnCall(d.openAIAnswers)
	d.claude = d.world.service(ofAnthropic, "anthropic", paced(10))
	d.claude.OnCall(d.anthropicAnswers)
	for _, name := range []string{"gemini", "openai", "anthropic"} {
		d.untilProvider(name, isReady)
	}
	d.all = d.web.Entries("day", dayOfNews)
	d.source("news", d.web.FeedURL(), summarizedBy("gemini", "openai", "anthropic"))
	return d
}

// refusedKeys counts the calls about articles that were made with a key which is not good any more.
func (d *simulatedDay) refusedKeys() (refused int) {
	for _, call := range d.claude.Calls() {
		if call.KeyRefused {
			refused++
		}
	}
	return refused
}

// replaceKey puts a new key into the Secret.
func (d *simulatedDay) replaceKey() {
	d.claude.SetKey(otherKey)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "anthropic"}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"stringData":{"apiKey":%q}}`, otherKey))
	if err := d.client.Patch(d.t.Context(), secret, patch); err != nil {
		d.t.Fatal(err)
	}
}

// unfinished lists the items that are not done, as the operator's cache has them; they are not to be
// changed.
func (d *simulatedDay) unfinished(ctx context.Context) []v1alpha1.FeedItem {
	var list v1alpha1.FeedItemList
	err := d.manager.GetClient().List(ctx, &list, client.InNamespace(d.namespace), client.UnsafeDisableDeepCopy)
	if err != nil {
		d.t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(item v1alpha1.FeedItem) bool { return item.Terminal() })
}

func (d *simulatedDay) open() int { return len(d.unfinished(d.t.Context())) }

// pause is how long nothing happens by itself: until the pace lets the next call through, while items
// wait for that; else until the next one is due, or two minutes. Where nothing has come of the last one, nobody may be called, and
// it is longer.
func (d *simulatedDay) pause(still bool) time.Duration {
	step, idle := 5200*time.Millisecond, 2*time.Minute
	if still {
		step = stillOfDay
	}
	next := d.clock.Now().Add(idle)
	open := d.unfinished(d.t.Context())
	if len(open) == 0 {
		next = d.begin.Add(d.clock.Now().Sub(d.begin).Truncate(30*time.Minute) + 30*time.Minute) // the next news
	}
	for _, item := range open {
		due := item.Status.NextRetryTime
		if item.Status.Phase != v1alpha1.PhaseDeferred && item.Status.Reason != v1alpha1.ReasonWaiting || due != nil && !due.After(d.clock.Now()) {
			return step
		}
		if due != nil && due.Time.Before(next) {
			next = due.Time
		}
	}
	return max(next.Sub(d.clock.Now()), step)
}

// rest has the operator look at what is due, and returns when it does nothing any more; still, if it has done nothing at all.
// Should it be only slow, the clock goes on a little early, which harms nothing.
func (d *simulatedDay) rest() (still bool) {
	begin := d.stand(d.t.Context())
	var providers v1alpha1.AIProviderList
	if err := d.manager.GetClient().List(d.t.Context(), &providers, client.InNamespace(d.namespace)); err != nil {
		d.t.Fatal(err)
	}
	for i := range providers.Items {
		if isReady(&providers.Items[i]) != nil {
			d.lookAt(controllers.ProviderKey, client.ObjectKeyFromObject(&providers.Items[i]))
		}
	}
	for _, item := range d.unfinished(d.t.Context()) {
		if due := item.Status.NextRetryTime; due != nil && !due.After(d.clock.Now()) {
			d.lookAt(controllers.ItemKey, client.ObjectKeyFromObject(&item))
		}
	}
	const calm = 3
	before, same := "", 0
	_ = wait.PollUntilContextTimeout(d.t.Context(), 4*time.Millisecond, 5*time.Second, true, func(ctx context.Context) (bool, error) {
		now := d.stand(ctx)
		if same++; now != before {
			before, same = now, 0
		}
		return same == calm, nil
	})
	return before == begin
}

// stand is what changes while the operator works.
func (d *simulatedDay) stand(ctx context.Context) string {
	phases := map[v1alpha1.Phase]int{}
	for _, item := range d.unfinished(ctx) {
		phases[item.Status.Phase]++
	}
	return fmt.Sprint(d.book.calls(), phases)
}

// providersInWords checks what kubectl shows of the providers while all three are unavailable, and
// returns it.
func (d *simulatedDay) providersInWords() string {
	home := d.t.TempDir()
	config := filepath.Join(home, "kubeconfig")
	if err := os.WriteFile(config, d.api.Kubeconfig, 0o600); err != nil {
		d.t.Fatal(err)
	}
	command := exec.CommandContext(d.t.Context(), filepath.Join(d.api.Assets, "kubectl"), "-n", d.namespace, "get", "aiproviders")
	command.Env = []string{"HOME=" + home, "KUBECONFIG=" + config}
	out, err := command.CombinedOutput()
	if err != nil {
		d.t.Fatalf("kubectl: %v: %s", err, out)
	}
	for name, want := range map[string]string{
		"gemini":    `False +Quota spent; paused until 20\S+Z: .+`,
		"openai":    `False +Circuit open after \d+ failures in a row; (?:paused until 20\S+Z, then probed|probed with the next item): .+`,
		"anthropic": `False +.+ The Secret is not used again until it is changed`,
	} {
		if !regexp.MustCompile(`(?m)^` + name + ` +` + want).Match(out) {
			d.t.Errorf("of %s, kubectl does not say %q", name, want)
		}
	}
	return string(out)
}

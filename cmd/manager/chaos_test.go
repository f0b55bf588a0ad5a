// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/apitest"
)

// Environment variables of make chaos.
const (
	// chaosVariable is for how long a town is disturbed, such as 5m.
	chaosVariable = "CHAOS"
	// seedVariable is the number that the plan is drawn from.
	seedVariable = "SEED"
)

// What is done where nobody says otherwise, among all other tests: a few seconds, the same each time, so that a change is judged by
// what it changes.
const (
	usualChaos = 10 * time.Second
	usualSeed  = 8
)

// R1.2, R2.8, R2.10, R3.7, R3.10, R3.14, R4.4: whatever happens to the operator, to what it talks to and to what it reads, each entry that was ever listed
// is one item and one post at each account, each failure is told once, and what is counted is what there is.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed, duration, asked := chaosAsked(t)
	p := newPlan(seed, duration)
	t.Logf("%s=%d %s=%s: %s; %d steps", seedVariable, seed, chaosVariable, duration, p.describe(), len(p.steps))
	n := newTown(t, p)
	if asked { // a replica that is frozen does not end with the terminal, nor does the API server
		interrupted, release := signal.NotifyContext(n.ctx, os.Interrupt, syscall.SIGTERM)
		defer release()
		n.interrupted = interrupted.Done()
	}
	for _, name := range feedNames {
		if err := server.Client.Create(t.Context(), n.source(name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { n.explain(t) })
	for _, kept := range n.replicas {
		kept.begin()
	}
	n.untilOpen(t)
	n.runDelivery(t)
	n.heal()
	n.untilAtRest(t, "all is healed, and the feeds list everything")
	n.epilogue(t)
	n.account(t)
}

// chaosAsked is what is asked for in the environment, and whether anything is.
func chaosAsked(t *testing.T) (seed uint64, duration time.Duration, asked bool) {
	t.Helper()
	seed, duration = usualSeed, usualChaos
	if text := os.Getenv(chaosVariable); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil || duration <= 0 {
			t.Fatalf("%s=%q is no duration such as 5m", chaosVariable, text)
		}
		seed, asked = rand.Uint64N(1_000_000), true
	}
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s=%q is no number", seedVariable, text)
		}
	}
	return seed, duration, asked
}

// describe returns what does not change during the plan.
func (p *plan) describe() string {
	text := string(p.crew)
	for _, name := range accountNames {
		text += fmt.Sprintf("; %s %s, its clock %s ahead", name, p.accounts[name].counterpart, p.accounts[name].skew)
	}
	return text
}

// untilOpen waits until the accounts can be posted to.
func (n *town) untilOpen(t *testing.T) {
	t.Helper()
	n.eventually(t, func(ctx context.Context) error {
		var accounts v1alpha1.FeedDestinationList
		if err := server.Client.List(ctx, &accounts, client.InNamespace(n.namespace)); err != nil {
			return err
		}
		for i := range accounts.Items {
			if !meta.IsStatusConditionTrue(accounts.Items[i].Status.Conditions, v1alpha1.ConditionReady) {
				return fmt.Errorf("%s is not ready", accounts.Items[i].Name)
			}
		}
		return nil
	})
}

// eventually waits until a check returns nil, as apitest does, or a person interrupts it.
func (n *town) eventually(t *testing.T, check func(context.Context) error) {
	t.Helper()
	apitest.Eventually(t, func(ctx context.Context) error {
		select {
		case <-n.interrupted:
			t.Fatal("interrupted")
		default:
		}
		return check(ctx)
	})
}

// runDelivery does what the plan says, when it says it.
func (n *town) runDelivery(t *testing.T) {
	t.Helper()
	began := time.Now()
	for _, next := range n.plan.steps {
		select {
		case <-time.After(time.Until(began.Add(next.at))):
		case <-n.interrupted:
			t.Fatal("interrupted")
		}
		n.tell(t, fmt.Sprintf("%d of %d", next.number, len(n.plan.steps)), next.says, next.do(n))
	}
}

// tell says, and writes down, what was done.
func (n *town) tell(t *testing.T, number, says, came string) {
	t.Helper()
	if came != "" {
		says += " (" + came + ")"
	}
	n.chronicle.note("", "%s", says)
	t.Logf("%8s  %s. %s", time.Since(n.began).Truncate(time.Millisecond), number, says)
}

// heal ends all that disturbs the town, and a person opens what was closed for minutes. The clocks are set to the latest time that they have ever
// shown: what was put off when it was a day later is waited for until then.
func (n *town) heal() {
	for whom := range n.networks {
		n.breakNetwork(whom, healthy)
	}
	n.apiServer.refuse(nil)
	n.breakModel(nil)
	for _, one := range n.accounts {
		one.onPost(nil)
		one.late.Wait()
	}
	n.setClocks(n.plan.latest)
	for _, kept := range n.replicas {
		kept.thaw()
		kept.begin()
	}
	for _, name := range []string{press, mirror, desk, model} {
		n.retry(name)
	}
}

// untilAtRest has the feeds list all that they ever have, and waits until every story is an item that has ended as it should, and nothing is
// left to be done.
func (n *town) untilAtRest(t *testing.T, says string) {
	t.Helper()
	n.tell(t, "At last", says, "")
	polled := map[string]string{}
	for name, draft := range n.plan.feeds {
		n.list(name, draft.document())
		polled[name] = n.poll(name)
	}
	helped := map[string]bool{}
	n.eventually(t, func(ctx context.Context) error {
		return errors.Join(n.sourcesAtRest(ctx, polled), n.itemsAtRest(ctx, helped))
	})
	n.tell(t, "At last", "all is at rest", "")
}

func (n *town) sourcesAtRest(ctx context.Context, polled map[string]string) error {
	var sources v1alpha1.FeedSourceList
	if err := server.Client.List(ctx, &sources, client.InNamespace(n.namespace)); err != nil {
		return err
	}
	for i := range sources.Items {
		source := &sources.Items[i]
		if source.Status.LastHandledPoll != polled[source.Name] || source.Status.Failure != nil {
			return fmt.Errorf("%s is not polled: %+v", source.Name, source.Status.Failure)
		}
		var counted v1alpha1.ItemCounts
		for _, story := range n.plan.feeds[source.Name].stories {
			for _, item := range n.chronicle.itemsOf(story.name) {
				switch {
				case item.deleted || item.last.Spec.SourceRef.UID != source.UID:
				case item.last.Status.Phase == v1alpha1.PhaseProcessed:
					counted.Processed++
				case item.last.Status.Phase == v1alpha1.PhaseFailed:
					counted.Failed++
				}
			}
		}
		const countsEvery = time.Minute // who disturbs for less does not wait for them either
		if n.plan.duration >= countsEvery && source.Status.Items != counted {
			return fmt.Errorf("%s counts %+v, and there are %+v", source.Name, source.Status.Items, counted)
		}
	}
	return nil
}

// itemsAtRest returns which items have not ended as they should. What was given up while all was disturbed a person retries, once: helped holds the
// versions of which that is done.
func (n *town) itemsAtRest(ctx context.Context, helped map[string]bool) error {
	n.collect()
	var open []string
	for _, name := range feedNames {
		for _, story := range n.plan.feeds[name].stories {
			all := n.chronicle.itemsOf(story.name)
			if len(all) == 0 {
				open = append(open, story.name+" is no item")
				continue
			}
			item := all[len(all)-1]
			if item.deleted || hasEnded(item.last, story.spoiled) {
				continue
			}
			open = append(open, fmt.Sprintf("%s is %s", story.name, stateOf(item.last)))
			if item.last.Status.Phase == v1alpha1.PhaseFailed && !story.spoiled && !helped[item.last.ResourceVersion] {
				helped[item.last.ResourceVersion] = true
				n.chronicle.note(story.name, "a person retries %s at last", item.last.Name)
				n.annotate(item.last.DeepCopy(), v1alpha1.AnnotationRetry)
			}
		}
	}
	if len(open) > 0 {
		return errors.New(strings.Join(open, "\n"))
	}
	return ctx.Err()
}

// hasEnded reports whether an item has ended as it should, and that all is told that is to be.
func hasEnded(item *v1alpha1.FeedItem, spoiled bool) bool {
	if !spoiled {
		return item.Status.Phase == v1alpha1.PhaseProcessed
	}
	if item.Status.Phase != v1alpha1.PhaseFailed || len(item.Status.Notifications) == 0 {
		return false
	}
	for _, row := range item.Status.Notifications {
		if row.State != v1alpha1.NotificationDone {
			return false
		}
	}
	return true
}

// epilogue has the replicas stop, and another one look at all that there is: it publishes one more story of each feed, and nothing else.
func (n *town) epilogue(t *testing.T) {
	t.Helper()
	n.stop(t)
	for _, one := range n.accounts {
		one.late.Wait()
	}
	for _, draft := range n.plan.feeds {
		draft.add(1)
	}
	last := n.replicas[n.plan.crew.replicas()[0]]
	last.begin()
	n.untilAtRest(t, "a new process looks at everything, and the feeds list one story more")
	n.stop(t)
}

// stop has all replicas stop, and waits until they are gone.
func (n *town) stop(t *testing.T) {
	t.Helper()
	for _, kept := range n.replicas {
		kept.end(syscall.SIGTERM)
	}
	n.eventually(t, func(context.Context) error {
		for name, kept := range n.replicas {
			if !kept.ended() {
				return fmt.Errorf("replica %s has not ended", name)
			}
		}
		return nil
	})
}

// explain keeps what the replicas said where the test has failed, and says how to repeat it.
func (n *town) explain(t *testing.T) {
	t.Helper()
	if !t.Failed() {
		return
	}
	folder, err := os.MkdirTemp("", "feed-operator-chaos-") //nolint:usetesting // it is to be there after the test
	if err != nil {
		t.Error(err)
		return
	}
	for name, kept := range n.replicas {
		for i, one := range kept.processes() {
			file := filepath.Join(folder, fmt.Sprintf("%s-%d-%d.log", name, i+1, one.command.Process.Pid))
			if err := os.WriteFile(file, []byte(one.said.String()), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "chronicle.log"), []byte(n.chronicle.String()), 0o600); err != nil {
		t.Error(err)
	}
	t.Logf("The same plan again: %s=%d %s=%s make chaos. What the replicas said, and what was seen, is in %s", seedVariable, n.plan.seed, chaosVariable, n.plan.duration, folder)
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// service is a provider or a destination, as far as it is told.
type service struct {
	name, until, why string
	well             bool
}

// services names those of a kind that cannot be called, and says until when.
func (w *writer) services(kind string, all []service) {
	if len(all) == 0 {
		return
	}
	well := 0
	rows := [][]string{{"NOT AVAILABLE", "UNTIL", "WHY"}}
	for _, one := range all {
		if one.well {
			well++
			continue
		}
		rows = append(rows, []string{one.name, one.until, one.why})
	}
	w.line("\n%s: %d of %d available", kind, well, len(all))
	if len(rows) > 1 {
		w.table(rows)
	}
}

func (w *writer) providerRows() []service {
	all := make([]service, 0, len(w.Providers))
	for i := range w.Providers {
		all = append(all, w.serviceOf(&w.Providers[i], w.Providers[i].Service()))
	}
	return all
}

func (w *writer) destinationRows() []service {
	all := make([]service, 0, len(w.Destinations))
	for i := range w.Destinations {
		all = append(all, w.serviceOf(&w.Destinations[i], w.Destinations[i].Service()))
	}
	return all
}

// serviceOf is what a row says of a service.
func (w *writer) serviceOf(object metav1.Object, status *v1alpha1.ServiceStatus) service {
	of := OfService(status, w.Now)
	said := service{name: w.name(object), until: "fixed manually", why: of.Why, well: of.Well}
	if of.Retried {
		said.until = "retried"
	}
	if !of.Until.IsZero() {
		said.until = w.in(of.Until)
	}
	return said
}

// Service is whether a provider or a destination can be called.
type Service struct {
	Well bool
	// Why says in words why not, or that all is well.
	Why string
	// Until is when it is called again, zero where nobody knows; Retried is set where the operator tries it again by itself.
	Until   time.Time
	Retried bool
}

// OfService reports whether a service can be called. One that is ready may pause for a moment all the same.
func OfService(status *v1alpha1.ServiceStatus, now time.Time) Service {
	said := Service{Why: "not seen by the operator yet: is it running?"}
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready != nil {
		said.Well, said.Why = ready.Status == metav1.ConditionTrue, ready.Reason+": "+ready.Message
		said.Retried = meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReconciling)
	}
	if pause := status.Availability; pause != nil && pause.Until != nil && pause.Until.After(now) {
		said.Until = pause.Until.Time
		if said.Well {
			said.Well, said.Why = false, string(pause.State)
			if status.LastFailure != nil {
				said.Why += ": " + status.LastFailure.Message
			}
		}
	}
	return said
}

// ago is when something was, for a person.
func (w *writer) ago(t *metav1.Time) string {
	if t == nil {
		return "never"
	}
	return w.since(t.Time) + " ago"
}

func (w *writer) since(t time.Time) string { return span(w.Now.Sub(t)) }

// in is when something will be.
func (w *writer) in(t time.Time) string {
	if !t.After(w.Now) {
		return "now"
	}
	return "in " + span(t.Sub(w.Now))
}

// span is a duration as a person says it.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(int(d/time.Second), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int(d/day))
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditions makes the conditions of all kinds, in the form that tools understand (kstatus): Ready always, Reconciling and Stalled where
// they apply.
//
// It is pure. It knows bounds and types of conditions, and nothing of why an object is ready or not.
package conditions

import (
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// MaxMessage bounds the message of a condition, in bytes.
const MaxMessage = 2000

// Readiness is what the conditions of a source are to say.
type Readiness struct {
	Ready           bool
	Reason, Message string
	// Retrying is set while the operator will try again by itself.
	Retrying bool
	// Stalled is set when only a person can help.
	Stalled bool
}

// SetReady sets Ready, and Reconciling and Stalled where they apply, by what is to be said of an object of a generation.
func SetReady(conditions *[]metav1.Condition, generation int64, said Readiness, now time.Time) {
	set := func(kind string, yes bool) {
		status := metav1.ConditionFalse
		if yes {
			status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: kind, Status: status, Reason: said.Reason, Message: Cut(said.Message, MaxMessage),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	set(v1alpha1.ConditionReady, said.Ready)
	for kind, yes := range map[string]bool{v1alpha1.ConditionReconciling: said.Retrying, v1alpha1.ConditionStalled: said.Stalled} {
		if yes {
			set(kind, true)
		} else {
			meta.RemoveStatusCondition(conditions, kind)
		}
	}
}

// Ready returns the condition Ready; one that is Unknown where there is none.
func Ready(conditions []metav1.Condition) metav1.Condition {
	if ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); ready != nil {
		return *ready
	}
	return metav1.Condition{Status: metav1.ConditionUnknown}
}

// Cut shortens a text to so many bytes, on the border of a character.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// Bounded is a number of another server as a status holds it.
func Bounded(number int) int32 { return int32(min(max(number, 0), math.MaxInt32)) }

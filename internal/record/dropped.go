// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/kinds"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// DroppedError means that the API server has refused a write of which it would drop fields. It stands for the API server's own
// error, which repeats the whole object.
type DroppedError struct{ Fields []string }

func (e *DroppedError) Error() string {
	return "the API server would drop " + strings.Join(e.Fields, ", ") + ": its CustomResourceDefinition is older than the operator"
}

// AsDropped returns the error of a write in a form that tells dropped fields from everything else. A webhook or a policy may say anything,
// and what it says holds for nobody else.
func AsDropped(err error) error {
	if err == nil || Denied.MatchString(err.Error()) {
		return err
	}
	if fields := kinds.UnknownFields(err.Error()); len(fields) > 0 {
		return &DroppedError{fields}
	}
	return err
}

// ChangedError means that the API server has taken a write, and holds something else: a webhook or a policy of the cluster has changed it.
type ChangedError struct{ Fields []string }

func (e *ChangedError) Error() string {
	return "the API server has accepted the status and holds another " + strings.Join(e.Fields, ", ") +
		". Most likely a mutating webhook or a policy of the cluster changes FeedItems: exempt the status subresource"
}

// IsIncomplete reports whether the API server would not keep all of what was written, or does not.
func IsIncomplete(err error) bool {
	_, dropped := errors.AsType[*DroppedError](err)
	_, changed := errors.AsType[*ChangedError](err)
	return dropped || changed
}

// essence is what of the status of an item decides what is done next. Where it is not kept, a call would be made again at once.
type essence struct {
	phase      v1alpha1.Phase
	summarized bool
	retries    bool
	deliveries []delivery
	notices    []string // where notifications are to go
}

type delivery struct {
	destination string
	state       v1alpha1.DeliveryState
	announced   bool
}

func essenceOf(object client.Object) (e essence) {
	item, is := object.(*v1alpha1.FeedItem)
	if !is {
		return e
	}
	e = essence{phase: item.Status.Phase, summarized: item.Status.Summary != nil, retries: item.Status.NextRetryTime != nil}
	for i := range item.Status.Deliveries {
		row := &item.Status.Deliveries[i]
		e.deliveries = append(e.deliveries, delivery{row.Destination, row.State, lifecycle.Announced(row)})
	}
	for i := range item.Status.Notifications {
		e.notices = append(e.notices, item.Status.Notifications[i].Destination)
	}
	return e
}

// keptIn returns an error where an object as the API server holds it is not what was written.
func (e essence) keptIn(held client.Object) error {
	is, changed := essenceOf(held), []string(nil)
	for field, same := range map[string]bool{
		"status.phase": e.phase == is.phase, "status.summary": e.summarized == is.summarized, "status.nextRetryTime": e.retries == is.retries,
		"status.deliveries": slices.Equal(e.deliveries, is.deliveries), "status.notifications": slices.Equal(e.notices, is.notices),
	} {
		if !same {
			changed = append(changed, field)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	slices.Sort(changed)
	return &ChangedError{changed}
}

// validationOf is what the API server is to do with a status of which it does not know a field. One that announces a call
// is kept whole or refused, or the call would leave no trace; so is a summary, which would be made again. Another result is better kept without a field
// than not at all.
func validationOf(before, after client.Object) client.FieldValidation {
	was, isItem := before.(*v1alpha1.FeedItem)
	is, still := after.(*v1alpha1.FeedItem)
	if isItem && still && (lifecycle.Announces(was, is) || was.Status.Summary == nil && is.Status.Summary != nil) {
		return metav1.FieldValidationStrict
	}
	return metav1.FieldValidationWarn
}

// Denied is how an answer begins that comes from a webhook or a policy of the cluster (k8s.io/apiserver, pkg/admission/plugin/webhook/errors and
// pkg/admission/plugin/policy). What comes after that are their own words, and those may repeat what a feed has written.
var Denied = regexp.MustCompile(`^((Internal error occurred: )?(admission webhook "|failed calling webhook )|\S+ "[^"]*" is forbidden: (\w*AdmissionPolicy|policy) ['"])`)

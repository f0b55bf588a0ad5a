// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/kinds"
	"github.com/feed-operator/feed-operator/internal/lifecycle"
)

// droppedError says that the API server has refused a write of which it would drop fields. It stands for the API server's own
// error, which repeats the whole object.
type droppedError struct{ fields []string }

func (e *droppedError) Error() string {
	return "the API server would drop " + strings.Join(e.fields, ", ") + ": its CustomResourceDefinition is older than the operator"
}

// asDropped returns the error of a write in a form that tells dropped fields from everything else. A webhook or a policy may say anything,
// and what it says holds for nobody else.
func asDropped(err error) error {
	if err == nil || denied.MatchString(err.Error()) {
		return err
	}
	if fields := kinds.UnknownFields(err.Error()); len(fields) > 0 {
		return &droppedError{fields}
	}
	return err
}

// validationOf is what the API server is to do with a status of which it does not know a field. One that announces a call
// is kept whole or refused, or the call would leave no trace. A result is better kept without a field than not at all.
func validationOf(before, after client.Object) client.FieldValidation {
	was, isItem := before.(*v1alpha1.FeedItem)
	is, still := after.(*v1alpha1.FeedItem)
	if isItem && still && lifecycle.Announces(was, is) {
		return metav1.FieldValidationStrict
	}
	return metav1.FieldValidationWarn
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"regexp"
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

// Denied is how an answer begins that comes from a webhook or a policy of the cluster (k8s.io/apiserver, pkg/admission/plugin/webhook/errors and
// pkg/admission/plugin/policy). What comes after that are their own words, and those may repeat what a feed has written.
var Denied = regexp.MustCompile(`^((Internal error occurred: )?(admission webhook "|failed calling webhook )|\S+ "[^"]*" is forbidden: (\w*AdmissionPolicy|policy) ['"])`)

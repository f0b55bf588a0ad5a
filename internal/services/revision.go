// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package services

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Revision names what a service is called with: the object, its spec, and the version of its credentials.
func Revision(object metav1.Object, credentials string) string {
	return madeFor(object) + credentials
}

// IsOf reports whether a revision is of an object with the spec that it has. What was made of another one posts elsewhere,
// asks another model, or is seen by others; it is not what the object asks for.
func IsOf(revision string, object metav1.Object) bool {
	return strings.HasPrefix(revision, madeFor(object))
}

// CredentialsIn is the version of the credentials in a revision of an object.
func CredentialsIn(revision string, object metav1.Object) string {
	return strings.TrimPrefix(revision, madeFor(object))
}

func madeFor(object metav1.Object) string {
	return fmt.Sprintf("%s/%d/", object.GetUID(), object.GetGeneration())
}

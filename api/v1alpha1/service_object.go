// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +kubebuilder:object:generate=false

// ServiceObject is the kind of a service that items need: AIProvider or FeedDestination.
type ServiceObject interface {
	metav1.Object
	runtime.Object
	// Service is the part of the status that both have.
	Service() *ServiceStatus
	// SecretRef names the Secret that holds the credentials; nil for a service that needs none.
	SecretRef() *SecretReference
	// Suspended means that the service is not to be called.
	Suspended() bool
	// Timeout bounds one call.
	Timeout() time.Duration
}

var (
	_ ServiceObject = (*AIProvider)(nil)
	_ ServiceObject = (*FeedDestination)(nil)
)

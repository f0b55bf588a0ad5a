// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the kinds of feed-operator: what a person writes (FeedSource, AIProvider, FeedDestination),
// what the operator works on (FeedItem) and what it remembers (FeedMemory).
//
// It imports apimachinery alone, so that anybody can use the types without the operator.
//
// +kubebuilder:object:generate=true
// +groupName=feeds.feed-operator.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "feeds.feed-operator.io", Version: "v1alpha1"}

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers the kinds of this package with a scheme.
var AddToScheme = schemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&FeedSource{}, &FeedSourceList{},
		&FeedItem{}, &FeedItemList{},
		&AIProvider{}, &AIProviderList{},
		&FeedDestination{}, &FeedDestinationList{},
		&FeedMemory{}, &FeedMemoryList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

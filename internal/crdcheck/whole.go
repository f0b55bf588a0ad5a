// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crdcheck

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/record"
)

// Whole returns a client that writes as the given one does, and FeedMemories whole or not at all: one that has lost a field without an error would have
// entries posted again. The error is a *record.DroppedError then.
func (r *Checker) Whole(through client.Client) client.Client { return wholeMemories{through, r} }

type wholeMemories struct {
	client.Client
	checker *Checker
}

// Create implements client.Writer.
func (c wholeMemories) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if _, is := object.(*v1alpha1.FeedMemory); !is {
		return c.Client.Create(ctx, object, options...)
	}
	return c.written(c.Client.Create(ctx, object, append(slices.Clone(options), client.FieldValidation(metav1.FieldValidationStrict))...))
}

// Update implements client.Writer.
func (c wholeMemories) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	if _, is := object.(*v1alpha1.FeedMemory); !is {
		return c.Client.Update(ctx, object, options...)
	}
	return c.written(c.Client.Update(ctx, object, append(slices.Clone(options), client.FieldValidation(metav1.FieldValidationStrict))...))
}

func (c wholeMemories) written(err error) error {
	err = record.AsDropped(err)
	c.checker.Refused(KindMemory, err)
	return err
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package itemwrites

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/feed-operator/feed-operator/internal/record"
	"github.com/feed-operator/feed-operator/internal/writes"
)

// WorthKeeping reports whether what was refused may be taken another time.
func WorthKeeping(err error) bool {
	return ExtentOf(err) != writes.Object || apierrors.IsConflict(err) || record.IsIncomplete(err)
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/feed-operator/feed-operator/internal/telemetry"
)

// redactingManager is a manager of which no recorder tells a secret.
type redactingManager struct{ ctrl.Manager }

// GetEventRecorder implements recorder.Provider.
func (m redactingManager) GetEventRecorder(name string) recorder.EventRecorder {
	return telemetry.Redacted(m.Manager.GetEventRecorder(name))
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring pins the kinds of the Prometheus Operator.
package monitoring

import _ "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1" // what go.mod requires it for

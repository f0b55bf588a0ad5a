// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notices sends notifications: of items that have failed for good, and of services that refuse their credentials.
//
// It knows how one is sent. What it says, and where it is written, it is told by the object that it is about.
package notices

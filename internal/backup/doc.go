// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup saves what a namespace knows of feeds and posts as a file, and brings it to another API server, so that nothing is posted again: the
// objects of all kinds with their statuses, under the UIDs that the other API server gives them.
//
// It knows the kinds, and what of them follows from UIDs and times of creation. It must never read a Secret, nor call a service.
package backup

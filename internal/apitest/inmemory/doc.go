// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inmemory is an API server in the memory of a test, which speaks Kubernetes' HTTP: a write takes microseconds of processor time, and no
// process, socket or database has part in it.
//
// It keeps what the operator's correctness rests on: resource versions and conflicts, UIDs and preconditions, generations, the status as a resource
// of its own, finalizers, merge patches, selectors of labels and fields, pages, pruning and defaults by the CustomResourceDefinitions, strict
// validation of fields, and watches with their order, bookmarks and ends. Its tests run against it and against a real API server, and each must answer
// the same. Discovery is there as far as clients need it, and is not compared.
//
// It has no validation by schema or CEL, no admission but that of namespaces, no permissions (who asks may do everything), no server-side apply and no
// garbage collector. What needs one of these is tested on a real API server.
//
// It knows HTTP and objects as JSON. It must never know the operator.
package inmemory

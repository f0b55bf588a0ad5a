// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writes judges whether the API server takes what is written, by what has become of the last writes, and says
// when the next one is worth a try. What cannot be written down must not be begun: a call that costs money, or that
// others can see, would be made again.
//
// It knows namespaces and objects by their names, and what a refusal may be about ([Extent]). It is pure: it must never
// know the API server, nor what is written there.
package writes

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controlplane brings up a real Kubernetes control plane on this machine: etcd,
// kube-apiserver with RBAC and service accounts, and the parts of kube-controller-manager
// without which objects behave differently from a cluster (garbage collection, namespaces,
// service accounts). There are no nodes: nothing is ever scheduled.
//
// It knows nothing of the operator. The processes are started here and not by envtest, because
// envtest makes new keys at every start (so data cannot be kept), leaves out service accounts and
// the controllers, and leaves its processes behind when it is killed.
package controlplane

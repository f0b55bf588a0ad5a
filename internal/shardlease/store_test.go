// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package shardlease

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// store has Leases as an API server has them: who writes what has changed meanwhile is refused.
type store struct {
	mu      sync.Mutex
	leases  map[string]*coordinationv1.Lease
	version int
}

// access is how one replica reaches the store.
type access struct {
	coordinationclient.LeaseInterface // nil: what is not here is not used

	store *store
	mu    sync.Mutex
	cut   bool
	// before is called before each request, for another one to come between.
	before func(verb, name string)
	// fault is asked for each request what is wrong with it; nil for nothing.
	fault func(verb string) fault
}

// fault is what is wrong with a request.
type fault struct {
	// takes is how long it takes, before it is done.
	takes time.Duration
	// refused is answered in place of doing it.
	refused error
	// lost is answered though it was done.
	lost error
}

// Leases implements coordinationclient.LeasesGetter.
func (a *access) Leases(string) coordinationclient.LeaseInterface { return a }

// setCut has no answers come any more, or come again.
func (a *access) setCut(cut bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cut = cut
}

func (a *access) setFault(wrong func(verb string) fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fault = wrong
}

// reach returns when a request has come to the store, with what its writer is answered though it is done; or with why it is not done.
func (a *access) reach(ctx context.Context, verb, name string) (lost, failed error) {
	a.mu.Lock()
	before, fault := a.before, a.fault
	a.mu.Unlock()
	if before != nil {
		before(verb, name)
	}
	if fault != nil {
		wrong := fault(verb)
		select {
		case <-time.After(wrong.takes):
		case <-ctx.Done():
		}
		if wrong.refused != nil {
			return nil, wrong.refused
		}
		lost = wrong.lost
	}
	a.mu.Lock()
	cut := a.cut
	a.mu.Unlock()
	if cut {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		<-ctx.Done()
		return nil, errors.New("no answer")
	}
	return lost, ctx.Err()
}

var leasesResource = coordinationv1.Resource("leases")

func (a *access) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	if _, err := a.reach(ctx, "get", name); err != nil {
		return nil, err
	}
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	found := a.store.leases[name]
	if found == nil {
		return nil, apierrors.NewNotFound(leasesResource, name)
	}
	return found.DeepCopy(), nil
}

func (a *access) List(ctx context.Context, _ metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	if _, err := a.reach(ctx, "list", ""); err != nil {
		return nil, err
	}
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	list := &coordinationv1.LeaseList{}
	for _, lease := range a.store.leases {
		list.Items = append(list.Items, *lease.DeepCopy())
	}
	return list, nil
}

func (a *access) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	lost, err := a.reach(ctx, "create", lease.Name)
	if err != nil {
		return nil, err
	}
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	if a.store.leases[lease.Name] != nil {
		return nil, apierrors.NewAlreadyExists(leasesResource, lease.Name)
	}
	lease = lease.DeepCopy()
	lease.UID = types.UID(lease.Name)
	return answered(a.store.put(lease), lost)
}

// answered is what a writer hears.
func answered(lease *coordinationv1.Lease, lost error) (*coordinationv1.Lease, error) {
	if lost != nil {
		return nil, lost
	}
	return lease, nil
}

func (a *access) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	lost, err := a.reach(ctx, "update", lease.Name)
	if err != nil {
		return nil, err
	}
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	switch found := a.store.leases[lease.Name]; {
	case found == nil:
		return nil, apierrors.NewNotFound(leasesResource, lease.Name)
	case lease.Spec.LeaseTransitions != nil && *lease.Spec.LeaseTransitions < 0:
		return nil, apierrors.NewInvalid(coordinationv1.SchemeGroupVersion.WithKind("Lease").GroupKind(), lease.Name, nil)
	case found.ResourceVersion != lease.ResourceVersion:
		return nil, apierrors.NewConflict(leasesResource, lease.Name, errors.New("it has changed"))
	}
	return answered(a.store.put(lease.DeepCopy()), lost)
}

func (a *access) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	lost, err := a.reach(ctx, "delete", name)
	if err != nil {
		return err
	}
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	found := a.store.leases[name]
	if found == nil {
		return apierrors.NewNotFound(leasesResource, name)
	}
	if only := options.Preconditions; only != nil && (*only.UID != found.UID || *only.ResourceVersion != found.ResourceVersion) {
		return apierrors.NewConflict(leasesResource, name, errors.New("it has changed"))
	}
	delete(a.store.leases, name)
	return lost
}

// deleteAll has somebody delete the Leases.
func (s *store) deleteAll(of func(name string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.leases, func(name string, _ *coordinationv1.Lease) bool { return of(name) })
}

// put stores a Lease, which is nobody else's from then on. The store is locked.
func (s *store) put(lease *coordinationv1.Lease) *coordinationv1.Lease {
	s.version++
	lease.ResourceVersion = strconv.Itoa(s.version)
	s.leases[lease.Name] = lease
	return lease.DeepCopy()
}

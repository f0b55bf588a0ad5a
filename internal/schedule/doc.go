// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule decides who waits for what: in which order, at which pace, how many at a time,
// and what may be called at all. It serves AI providers, destinations and the hosts of pages and
// feeds alike; each is a [Resource].
//
// Nobody blocks. A reconcile asks for a [Ticket]; when there is none, its key is parked in the
// line of the resource, and the reconcile ends. When the resource is free, a ticket is reserved
// for the best of the line, by [Rank], and exactly that key is woken; its next reconcile takes the
// ticket up. So any number of keys may wait, at the cost of about two reconciles each.
//
//	turn := schedule.Enter(key)
//	defer turn.Leave() // on every path: what was reserved and is not needed goes to the next
//
//	ticket, ok := turn.Acquire(rank, gemini, openAI, extractive)
//	if !ok {
//		return reconcile.Result{}, nil // parked; the schedule wakes the key
//	}
//	defer ticket.Release() // does nothing once the call was made
//	response, err := providers[ticket.Resource()].Generate(ctx, request)
//	if err != nil {
//		availability = ticket.Failed(failure.Classify(err))
//	} else {
//		availability = ticket.Succeeded()
//	}
//
// A resource that is busy (pace, slots, a cool-down of less than a minute) is waited for; one
// that is down (longer cool-down, open circuit, not configured) is passed over to the next of the
// chain. A key that enters and leaves without acquiring waits nowhere any more.
//
// The package knows keys, ranks, limits and times. It must never know what a key or a resource
// stands for, call anything, or write anything down; the clock is a parameter.
package schedule

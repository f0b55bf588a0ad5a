// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"time"
)

// Extent is what a refusal may be about, by what the answer says.
type Extent int

const (
	// Object: this object only. Nobody else is held up.
	Object Extent = iota
	// Namespace: the objects of this namespace, as by a quota or a webhook.
	Namespace
	// Unclear: it may be the whole API server, or a webhook of this namespace that is slow or broken.
	Unclear
	// Server: the whole API server, or its database.
	Server
)

// mostObjects bounds how many refused objects are known of a namespace. Who is not known is taken for one that is refused for
// the first time.
const mostObjects = 1000

// Judge decides for whom the API server takes no writes. The zero value is of one that takes all.
//
// Who can bring that about: a write that is refused holds up its own namespace, until one of that namespace is taken. So whoever
// has writes of a namespace refused holds up that namespace. It holds up all where the answer is about the whole server
// ([Server]), or where two namespaces are refused for what nobody can tell ([Unclear]), with no write taken in between. Any
// write that is taken, of anybody, ends that. Then those of the others who were refused for no fault of the server do not
// count for the whole again before one of their own writes was taken: so a namespace of which the writes go wrong in a way
// that looks like the server keeps the others waiting once.
//
// One object that is refused while others of its namespace are taken holds up nobody, however often it is refused.
//
// It is not safe for concurrent use.
type Judge struct {
	server     stretch
	suspects   map[string]bool // namespaces that may have been refused by the whole server, since any write was taken
	namespaces map[string]*namespace
	events     uint64 // how many there were, which is their order
}

// namespace is what is known of the writes of one.
type namespace struct {
	stretch stretch
	taken   uint64 // the last write that was
	refused map[string]refusal
	// mistaken is set if it was refused for what looked like the whole server, and was not.
	mistaken bool
}

// refusal is when an object was refused for the first time since it was taken, and for the last.
type refusal struct {
	first uint64
	last  time.Time
}

// stretch is a time in which no write is taken, or was.
type stretch struct {
	held         bool
	since, until time.Time
	tries        int
	ended        time.Time
	continued    bool // it goes on with the one before
}

// Change is which stretches have begun or ended with an event.
type Change struct {
	NamespaceBegan, ServerBegan bool
	NamespaceEnded, ServerEnded bool
	// NextFinds is set where the next one is to find out at once whether the stretch of all is over.
	NextFinds bool
	// NamespaceSince and ServerSince are when the stretches began that have ended.
	NamespaceSince, ServerSince time.Time
	// Continued is set if the stretch goes on with one that had ended only just before: nobody needs to be told again.
	Continued bool
}

// Refused notes that a write of an object was refused.
func (j *Judge) Refused(name, object string, extent Extent, now time.Time) (change Change) {
	if extent == Object {
		return change
	}
	j.events++
	at := j.find(name)
	if j.refusedAlone(at, object, now) {
		return change
	}
	change.NamespaceBegan = at.stretch.refused(name, longestWait, now)
	change.Continued = at.stretch.continued
	if extent == Namespace || at.mistaken {
		return change
	}
	if j.suspects == nil {
		j.suspects = map[string]bool{}
	}
	j.suspects[name] = true
	if extent == Server || len(j.suspects) > 1 || j.server.held {
		change.ServerBegan = j.server.refused("", longestForAll, now)
		change.Continued = j.server.continued
	}
	return change
}

// refusedAlone notes the refusal of an object, and reports whether others of its namespace were taken since it was refused for the
// first time.
func (j *Judge) refusedAlone(at *namespace, object string, now time.Time) bool {
	known, again := at.refused[object]
	if !again {
		known.first = j.events
	}
	known.last = now
	if at.refused == nil {
		at.refused = map[string]refusal{}
	}
	if again || len(at.refused) < mostObjects {
		at.refused[object] = known
	}
	return at.taken > known.first
}

// Tried notes that an object which was to find out whether writes are taken did not come so far as to write: the next one tries as late as after a refusal.
func (j *Judge) Tried(name, object string, now time.Time) {
	j.events++
	at := j.find(name)
	j.refusedAlone(at, object, now) // it is not always the same one that tries
	if at.stretch.held {
		at.stretch.refused(name, longestWait, now)
	}
	if j.server.held {
		j.server.refused("", longestForAll, now)
	}
}

// Taken notes that a write of an object was taken.
func (j *Judge) Taken(name, object string, now time.Time) (change Change) {
	j.events++
	if at := j.namespaces[name]; at != nil {
		if at.stretch.held {
			change.NamespaceEnded, change.NamespaceSince, change.Continued = true, at.stretch.since, at.stretch.continued
		}
		delete(at.refused, object)
		at.stretch.end(now)
		at.mistaken, at.taken = false, j.events
		j.tidy(name, now)
	}
	if j.server.held {
		change.ServerEnded, change.ServerSince, change.Continued = true, j.server.since, j.server.continued
		for other := range j.suspects {
			if other != name {
				j.find(other).mistaken = true
			}
		}
		j.server.end(now)
		for _, other := range j.namespaces {
			other.stretch.until = time.Time{} // each finds out at once
		}
	}
	clear(j.suspects)
	return change
}

// Forget forgets an object on which there is nothing to write: it is gone, or rests. Where it was the last that is known to be refused, nobody may be left to
// find out whether writes are taken again: they are taken to be, until the next one is refused. Of the writes of all that is so only where no others wait to
// find out: whoever deletes the one object that was refused does not end what holds up everybody.
func (j *Judge) Forget(name, object string, othersWait bool, now time.Time) (change Change) {
	if at := j.namespaces[name]; at != nil && at.refused[object] != (refusal{}) {
		delete(at.refused, object)
		if at.stretch.held && len(at.refused) == 0 {
			change.NamespaceEnded, change.NamespaceSince, change.Continued = true, at.stretch.since, at.stretch.continued
			at.stretch.end(now)
			delete(j.suspects, name)
		}
		j.tidy(name, now)
	}
	switch {
	case !j.server.held || len(j.Namespaces()) > 0:
	case !othersWait:
		change.ServerEnded, change.ServerSince, change.Continued = true, j.server.since, j.server.continued
		j.server.end(now)
	case !j.server.until.IsZero():
		j.server.until, change.NextFinds = time.Time{}, true
	}
	return change
}

// Server reports whether no writes at all are taken, and if so, when the next one is worth a try.
func (j *Judge) Server() (until time.Time, held bool) { return j.server.until, j.server.held }

// Namespace says the same of the writes of a namespace alone.
func (j *Judge) Namespace(name string) (until time.Time, held bool) {
	at := j.namespaces[name]
	if at == nil {
		return time.Time{}, false
	}
	return at.stretch.until, at.stretch.held
}

// Namespaces are those of which no writes are taken.
func (j *Judge) Namespaces() []string {
	var held []string
	for name, at := range j.namespaces {
		if at.stretch.held {
			held = append(held, name)
		}
	}
	return held
}

// Held reports whether writes of a namespace are not taken, and since when.
func (j *Judge) Held(name string) (since time.Time, held bool) {
	if at := j.namespaces[name]; at != nil && at.stretch.held {
		return at.stretch.since, true
	}
	return j.server.since, j.server.held
}

// LastRefused is when an object was refused last; zero where it was not since it was taken. Who was refused longest ago is to
// try next, or one object that is always refused would be all that is ever tried.
func (j *Judge) LastRefused(name, object string) time.Time {
	if at := j.namespaces[name]; at != nil {
		return at.refused[object].last
	}
	return time.Time{}
}

func (j *Judge) find(name string) *namespace {
	at := j.namespaces[name]
	if at == nil {
		at = &namespace{}
		if j.namespaces == nil {
			j.namespaces = map[string]*namespace{}
		}
		j.namespaces[name] = at
	}
	return at
}

// tidy forgets a namespace of which there is nothing to know.
func (j *Judge) tidy(name string, now time.Time) {
	if at := j.namespaces[name]; !at.stretch.held && !at.stretch.recent(now) && len(at.refused) == 0 && !at.mistaken {
		delete(j.namespaces, name)
	}
}

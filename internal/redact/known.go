// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// maxValues and maxBytes bound what the log knows. The bytes are those of all forms that are looked for, which is what takes
	// the memory: each takes fourteen, so it comes to some 4 KB for a key of usual length, and to 45 MB when all room is taken.
	maxValues = 4096
	maxBytes  = 3 << 20
	// longestValue is that of a header that servers take.
	longestValue = 8 << 10
)

// process is what this process has been told is a secret. Only its log and the last words of its
// commands are masked by it: what a tenant can see must not depend on what others hold.
var process = newKnown(maxValues, maxBytes)

// Remember has a value masked in the log from now on, in all the forms in which it may be written: in
// URLs, JSON, XML, quotes, hexadecimal and base64, and as a part of what is written in base64, such
// as the user and password of Basic authentication. Owner is the namespace that it comes from, or
// empty for what is the operator's own.
//
// Space around the value does not belong to it. Values of fewer than 8 bytes are not masked: they
// turn up by chance. Neither are those of more than 8 KiB. When there is no room for more, the oldest
// value of the owner with most of them is forgotten, so nobody can have those of others forgotten;
// what is the operator's own stays. It costs little to remember a value again, which is how one that is
// in use stays known.
func Remember(owner, value string) { process.remember(owner, value) }

// Known masks all secrets that this process knows of. It is for the log only, and for what a command
// says to the person who runs it. It changes nothing else, waits for nobody, and costs one pass over the text.
func Known(text string) string { return process.mask(text) }

// Log is Text for the log: it masks what Known does as well.
func Log(text string) string { return Text(Known(text)) }

// maskable reports whether a value is one that can be hidden.
func maskable(value string) bool {
	// What the mask itself holds cannot be hidden by it.
	const masks = Masked + Masked
	return len(value) >= window && len(value) <= longestValue && !strings.Contains(masks, value) && !IsMasked(value)
}

// known is a set of secrets that changes while texts are masked. Whoever masks takes what there is at
// that moment and waits for nobody. Each new value is a matcher of its own at first; many are made
// one in the background, so that it costs little to add one and little to ask them all.
type known struct {
	maxValues, maxBytes int
	now                 atomic.Pointer[[]*portion]

	mu       sync.Mutex
	clock    uint64
	owners   map[string]*owner
	holders  map[string]*holding // by value
	bytes    int                 // of the forms of all values
	merging  bool
	mergings sync.WaitGroup // that are under way; for tests
}

// portion is some of the values, and what finds them.
type portion struct {
	values []string
	*matcher
}

// owner is a namespace, with the time of the set's own clock at which each of its values was remembered last, and
// the bytes of all their forms.
type owner struct {
	values map[string]uint64
	bytes  int
}

// holding is how many owners have a value, and how many bytes its forms have.
type holding struct{ owners, bytes int }

func newKnown(maxValues, maxBytes int) *known {
	k := &known{maxValues: maxValues, maxBytes: maxBytes, owners: map[string]*owner{}, holders: map[string]*holding{}}
	k.now.Store(&[]*portion{})
	return k
}

func (k *known) mask(text string) string {
	portions := *k.now.Load()
	matchers := make([]*matcher, 0, len(portions))
	for _, some := range portions {
		matchers = append(matchers, some.matcher)
	}
	return mask(text, false, matchers...)
}

func (k *known) remember(by, value string) {
	value = strings.TrimSpace(value)
	if !maskable(value) {
		return
	}
	if k.touch(by, value) {
		return
	}
	forms := formsOf(value)
	fresh := &portion{[]string{value}, newMatcher(forms)} // not under the lock: all who remember wait for that
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.touchLocked(by, value) {
		return
	}
	mine := k.owners[by]
	if mine == nil {
		mine = &owner{values: map[string]uint64{}}
		k.owners[by] = mine
	}
	held := k.holders[value]
	if held == nil {
		held = &holding{}
		for _, form := range forms {
			held.bytes += len(form)
		}
		k.holders[value] = held
	}
	mine.values[value] = k.clock
	mine.bytes += held.bytes
	if held.owners++; held.owners > 1 {
		return
	}
	k.bytes += held.bytes
	k.put(append(slices.Clone(*k.now.Load()), fresh))
	for len(k.holders) > k.maxValues || k.bytes > k.maxBytes {
		if !k.forgetOne() {
			break
		}
	}
	k.merge()
}

// touch notes that a value is in use, and reports whether it is known.
func (k *known) touch(by, value string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.touchLocked(by, value)
}

func (k *known) touchLocked(by, value string) bool {
	k.clock++
	mine := k.owners[by]
	if mine == nil {
		return false
	}
	if _, there := mine.values[value]; !there {
		return false
	}
	mine.values[value] = k.clock
	return true
}

// forgetOne makes room at the expense of who takes most of it, but for the operator itself.
func (k *known) forgetOne() bool {
	var most string
	share := func(o *owner) int { return max(o.bytes*k.maxValues, len(o.values)*k.maxBytes) }
	for name, one := range k.owners {
		if name != "" && (most == "" || share(one) > share(k.owners[most])) {
			most = name
		}
	}
	theirs := k.owners[most]
	if most == "" || len(theirs.values) == 0 {
		return false
	}
	oldest, since := "", ^uint64(0)
	for value, at := range theirs.values {
		if at < since {
			oldest, since = value, at
		}
	}
	held := k.holders[oldest]
	delete(theirs.values, oldest)
	if theirs.bytes -= held.bytes; len(theirs.values) == 0 {
		delete(k.owners, most)
	}
	if held.owners--; held.owners == 0 {
		delete(k.holders, oldest)
		k.bytes -= held.bytes
	}
	return true
}

func (k *known) put(portions []*portion) { k.now.Store(&portions) }

// merge makes one of many small portions, in the background. It leaves out a large one, which is last,
// as long as the others are not half of it: so a value is moved a few times in all, however many
// come. What was forgotten goes with the next merging that it is a part of.
func (k *known) merge() {
	const many = 16
	portions := *k.now.Load()
	if k.merging || len(portions) < many {
		return
	}
	portions = slices.Clone(portions) // texts are masked by those that stand there, and must find each of them
	slices.SortStableFunc(portions, func(a, b *portion) int { return len(b.values) - len(a.values) })
	rest := 0
	for _, some := range portions {
		rest += len(some.values)
	}
	from := 0
	for from < len(portions)-1 && len(portions[from].values) > 2*(rest-len(portions[from].values)) {
		rest -= len(portions[from].values)
		from++
	}
	merged := slices.Clone(portions[from:])
	var values []string
	for _, some := range merged {
		for _, value := range some.values {
			if k.holders[value] != nil {
				values = append(values, value)
			}
		}
	}
	k.merging = true
	k.mergings.Go(func() {
		slices.Sort(values)
		values = slices.Compact(values)
		forms := make([]string, 0, len(values))
		for _, value := range values { // each has room for its forms, whoever the others are
			forms = append(forms, formsOf(value)...)
		}
		one := &portion{values, newMatcher(forms)}
		k.mu.Lock()
		defer k.mu.Unlock()
		left := slices.DeleteFunc(slices.Clone(*k.now.Load()), func(some *portion) bool { return slices.Contains(merged, some) })
		k.put(append(left, one))
		k.merging = false
		k.merge()
	})
}

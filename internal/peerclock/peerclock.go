// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package peerclock knows how far the clock of another server is ahead of one's own, or behind it, by the Date of that server's
// answers (RFC 9110, 6.6.1) or by other times that it gives for what it does.
//
// It learns from answers that come anyway, and knows nothing of who is asked for what. It must never ask, and never wait.
package peerclock

import (
	"net/http"
	"sync"
	"time"
)

const (
	// tolerated is by how much more than an answer allows the difference may be off. It keeps the time from jumping to and
	// fro: a Date has whole seconds, and answers take uneven times.
	tolerated = time.Second
	// agreeing is how many answers in a row have to say the same before what is known is given up: a proxy may answer in the
	// server's place, or a cache.
	agreeing = 3
	// resolution is how long a Date stays the same.
	resolution = time.Second
	// nonsense is a difference that no clock has.
	nonsense = 100 * 365 * 24 * time.Hour
)

// span is a range in which a difference lies.
type span struct{ least, most time.Duration }

// value is the difference that it is taken for: none, where the answers say so as well as they can. Most machines keep the same time, and know it better
// than to half a second, which is all that a Date says. What is taken for none is never contradicted by other answers of the same clock.
func (s span) value() time.Duration {
	if s.least >= -tolerated && s.least <= 0 && s.most >= 0 && s.most <= tolerated {
		return 0
	}
	return s.least + (s.most-s.least)/2
}

// and is what both allow; there may be nothing.
func (s span) and(other span) (both span, agree bool) {
	both = span{max(s.least, other.least), min(s.most, other.most)}
	return both, both.least <= both.most
}

// Difference is how far the clock of a server is ahead of one's own. The first answer is believed; after that it takes three in
// a row that agree with each other, and not with what is known, to change it. The zero value knows nothing. It is safe for
// concurrent use.
type Difference struct {
	mu    sync.Mutex
	known bool
	value time.Duration
	// doubt is what the last answers allow that contradict the value, and votes is how many those were.
	doubt span
	votes int
}

// Answered learns from an answer to a request that was sent at one time of one's own clock, and whose head was there at another. What
// does not come from the server itself, or not at that time, says nothing: an error of a gateway, an answer out of a cache.
func (d *Difference) Answered(sent, received time.Time, status int, header http.Header) {
	age := header.Get("Age")
	if status >= http.StatusInternalServerError || age != "" && age != "0" {
		return
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		d.Seen(sent, received, date)
	}
}

// Seen learns from a time, in whole seconds, that the server's clock showed at some moment between two times of one's own clock. The longer
// lies between these, the less it says; it is never wrong for that.
func (d *Difference) Seen(from, to, shown time.Time) {
	if to.Before(from) { // one's own clock was set back meanwhile
		return
	}
	d.vote(span{least: shown.Sub(to), most: shown.Add(resolution).Sub(from)})
}

func (d *Difference) vote(says span) {
	if says.least < -nonsense || says.most > nonsense {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !d.known:
		d.known, d.value = true, says.value()
		return
	case d.value >= says.least-tolerated && d.value <= says.most+tolerated:
		d.votes = 0
		return
	}
	both, agree := d.doubt.and(says)
	if d.votes == 0 || !agree {
		d.doubt, d.votes = says, 1
		return
	}
	d.doubt = both
	if d.votes++; d.votes >= agreeing {
		d.value, d.votes = both.value(), 0
	}
}

// Value is how far the server's clock is ahead, to within a second or so. It returns false where nothing is known.
func (d *Difference) Value() (ahead time.Duration, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.value, d.known
}

// Doubted reports whether the last answer contradicts what is known: the next ones will show which is right.
func (d *Difference) Doubted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.votes > 0
}

// Least is how far the server's clock is ahead at least: by what is known and, where the last answers contradict that, by those too.
// So whoever looks for something that the server did some time ago, by one of the two clocks that it may have had, finds it.
func (d *Difference) Least() (ahead time.Duration, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ahead = d.value
	if d.votes > 0 {
		ahead = min(ahead, d.doubt.least)
	}
	return ahead - tolerated, d.known
}

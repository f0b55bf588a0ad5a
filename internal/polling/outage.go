// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

import (
	"maps"
	"slices"
	"time"
)

const (
	// outageSites is how many sites in a row must be out of reach until that is the network's fault and not
	// theirs. An installation that knows fewer goes by all that it knows, if those are at least fewestSites.
	outageSites = 5
	fewestSites = 3
	// wellLately is for how long a feed that was read counts as one that works: a laptop may be closed for days.
	wellLately = 7 * 24 * time.Hour
	// othersLately is for how long a namespace that had an answer is taken for one that will soon have another.
	othersLately = time.Hour
	// longestSilence is after how long an outage is over that nobody has met any more. What waits for the network is tried
	// every half hour at least (schedule.Broken), so it was removed or suspended.
	longestSilence = 2 * time.Hour
	// mostSuspects bounds what is kept of one namespace.
	mostSuspects = 1000
)

// Place is a site as it is seen from a namespace. A site is what one owner can make hosts in as he likes: a domain that was
// registered, or a small network.
type Place struct{ Namespace, Site string }

// Outage tells a network that is down from feeds that are down. Some feed is always down; but when sites that were well until
// now are out of reach one after the other, and nobody gets an answer in between, it is the network, and no fault of
// any feed. The zero Outage is of a network that is up.
//
// Who can bring it about: sites count once, however many hosts are in them, and only those of feeds that were read in the last week. Where
// another namespace had an answer within the hour, those of one namespace are not enough. Sites of an outage that was none, because one that was
// never out of reach answered before them, do not count again before they have answered themselves; where the first to answer had been
// out of reach too, the network may be gone again at once. Any answer, to anybody, ends an outage and all
// that was counted; and so does silence, where all that waited for the network is gone.
//
// Who notices: only a namespace that got no answer itself, and only at the very sites that did not give it (Suspects).
// Everything else is fetched as ever, and so finds out when the network is back; each suspect is tried by itself
// from time to time. So there is no probe that anybody could be or keep others from being, and whoever brings about an outage
// that is none keeps nobody but themselves.
//
// In a year of ordinary use: three feeds on a laptop without a network are an outage from the third one on, and two are
// blamed; two feeds never are. A thousand feeds at one provider that fails for an hour, with ten elsewhere, are an outage
// for as long as none of the ten answers, and no second time; with nothing elsewhere, until they are back. One tenant of
// fifty whose five private hosts die has five feeds that fail.
type Outage struct {
	suspects suspects
	down     bool
	last     time.Time // when something was out of reach in the outage
	// answered are some sites of each namespace that have answered, and when.
	answered map[string]map[string]time.Time
	// mistaken are the suspects of outages that were ended by who was none, and have not answered since.
	mistaken map[Place]bool
}

// suspects are places that are out of reach. They are counted as they come: all that is fetched waits while one is noted,
// and there may be a thousand of each namespace. The zero value has none.
type suspects struct {
	places map[Place]bool
	sites  map[string]bool
	// of is how many there are of each namespace.
	of map[string]int
}

// add notes a place, if there is room for another one of its namespace.
func (s *suspects) add(at Place) {
	if s.places[at] || s.of[at.Namespace] >= mostSuspects {
		return
	}
	if s.places == nil {
		s.places, s.sites, s.of = map[Place]bool{}, map[string]bool{}, map[string]int{}
	}
	s.places[at], s.sites[at.Site] = true, true
	s.of[at.Namespace]++
}

// Down reports whether the network is down.
func (o *Outage) Down() bool { return o.down }

// Suspects are the places that were out of reach since anybody had an answer last, as far as they count.
func (o *Outage) Suspects() []Place {
	return slices.Collect(maps.Keys(o.suspects.places))
}

// Sites is how many sites the suspects are in.
func (o *Outage) Sites() int { return len(o.suspects.sites) }

// Unreached notes that no answer came from a place, of which the feed was read last at a time: zero where it could
// not be read the last time, which says nothing about the network. It returns whether the outage has begun with it.
func (o *Outage) Unreached(at Place, read, now time.Time) (began bool) {
	if o.down && now.Sub(o.last) > longestSilence {
		o.suspects, o.down = suspects{}, false
	}
	o.last = now
	if !o.down && (read.IsZero() || now.Sub(read) > wellLately || o.mistaken[at]) {
		return false
	}
	o.suspects.add(at)
	if o.down {
		return false
	}
	o.down = o.Sites() >= o.enough(now) && (len(o.suspects.of) > 1 || !o.othersAnswered(now))
	return o.down
}

// Suspected reports whether a place is out of reach in the outage that is.
func (o *Outage) Suspected(at Place) bool { return o.down && o.suspects.places[at] }

// enough is how many sites it takes: all that are known to work, within bounds.
func (o *Outage) enough(now time.Time) int {
	if o.Sites() >= outageSites { // whatever else is known
		return outageSites
	}
	known := map[string]bool{}
	for _, sites := range o.answered {
		for site, at := range sites {
			if !o.suspects.sites[site] && now.Sub(at) <= wellLately {
				known[site] = true
			}
		}
		if o.Sites()+len(known) >= outageSites {
			return outageSites
		}
	}
	return max(o.Sites()+len(known), fewestSites)
}

// othersAnswered reports whether a namespace without suspects had an answer lately.
func (o *Outage) othersAnswered(now time.Time) bool {
	for namespace, sites := range o.answered {
		for _, at := range sites {
			if o.suspects.of[namespace] == 0 && now.Sub(at) <= othersLately {
				return true
			}
		}
	}
	return false
}

// Reached notes that a place has answered, whatever it said. It returns the suspects of the outage that has ended with
// it, and nil when there was none.
func (o *Outage) Reached(at Place, now time.Time) (ended []Place) {
	o.note(at, now)
	if o.down {
		ended = o.Suspects()
	}
	if itWasTheNetwork := o.suspects.places[at]; o.down && !itWasTheNetwork {
		if o.mistaken == nil {
			o.mistaken = map[Place]bool{}
		}
		known := map[string]int{} // of each namespace
		for place := range o.mistaken {
			known[place.Namespace]++
		}
		for _, place := range ended {
			if !o.mistaken[place] && known[place.Namespace] < mostSuspects {
				o.mistaken[place] = true
				known[place.Namespace]++
			}
		}
	}
	delete(o.mistaken, at)
	o.suspects, o.down = suspects{}, false
	return ended
}

// note keeps a few of the sites that answer: whether there are any, and five, is all that is asked.
func (o *Outage) note(at Place, now time.Time) {
	sites := o.answered[at.Namespace]
	if sites == nil {
		for namespace, others := range o.answered { // those that are gone leave no trace
			for site, last := range others {
				if now.Sub(last) > wellLately {
					delete(others, site)
				}
			}
			if len(others) == 0 {
				delete(o.answered, namespace)
				o.forget(namespace)
			}
		}
		if o.answered == nil {
			o.answered = map[string]map[string]time.Time{}
		}
		sites = map[string]time.Time{}
		o.answered[at.Namespace] = sites
	}
	if _, known := sites[at.Site]; !known && len(sites) >= outageSites {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(sites)), func(a, b string) int { return sites[a].Compare(sites[b]) })
		delete(sites, oldest)
	}
	sites[at.Site] = now
}

func (o *Outage) forget(namespace string) {
	for place := range o.mistaken {
		if place.Namespace == namespace {
			delete(o.mistaken, place)
		}
	}
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"github.com/feed-operator/feed-operator/internal/dashboard/people"
)

const (
	// MostViewers is how many pages are told of changes at the same time; mostOfOne how many of them may be of one person, or of
	// the ServiceAccounts of one namespace.
	MostViewers = 64
	mostOfOne   = 16
	// heartbeat is how often a viewer is written to at least. One that has gone is known by it, and one who may not look any more.
	heartbeat = 15 * time.Second
	// writeTimeout is how long a viewer may take to accept what is written: all of it has room in the buffers of a connection that is read.
	writeTimeout = 5 * time.Second
)

// enter takes a place for a viewer, and returns how to give it back; nil where there is none.
func (h *handler) enter(of *people.Person) (leave func()) {
	h.entrance.Lock()
	defer h.entrance.Unlock()
	tenant := of.Tenant()
	if h.viewers >= MostViewers || tenant != "" && h.byTenant[tenant] >= mostOfOne {
		return nil
	}
	h.viewers++
	h.byTenant[tenant]++
	return func() {
		h.entrance.Lock()
		defer h.entrance.Unlock()
		h.viewers--
		if h.byTenant[tenant]--; h.byTenant[tenant] == 0 {
			delete(h.byTenant, tenant)
		}
	}
}

// stream tells a viewer by server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) which version of what they see is the
// current one, at first and whenever it changes. It tells nothing else: a page asks for itself again. A change in a namespace that they do not see
// is not told.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, of *people.Person) {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		h.refuse(w, r, http.StatusForbidden, "Another site has sent this request.")
		return
	}
	leave := h.enter(of)
	if leave == nil {
		w.Header().Set("Retry-After", "30")
		h.refuse(w, r, http.StatusServiceUnavailable, fmt.Sprintf("%d pages are being kept up to date already, or %d of yours, or of the ServiceAccounts "+
			"of your namespace. This one shows what was when it was loaded: load it again to see what has changed.", MostViewers, mostOfOne))
		return
	}
	defer leave()
	news, stop := h.board.Watch() //nolint:contextcheck // it watches for all viewers, and not only as long as the first
	defer stop()

	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	write := func(text string) error {
		if err := out.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		if _, err := fmt.Fprint(w, text); err != nil { //nolint:gosec // a number of ours
			return err
		}
		return out.Flush()
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	told := ""
	for {
		next := news() // before what is current is looked at, so that nothing is missed
		cut, err := h.see(r.Context(), of)
		if err != nil {
			return // the browser comes again, and is told then
		}
		_, mark := h.away(cut, h.Now())
		if version := cut.Version() + mark; version != told {
			if err := write("event: version\ndata: " + version + "\n\n"); err != nil {
				return
			}
			told = version
		}
		select {
		case <-r.Context().Done():
			return
		case <-h.ending:
			return
		case <-next:
		case <-beat.C:
			if of, err = h.again(r, of); err != nil {
				return
			}
			if err := write(": still there\n\n"); err != nil {
				return
			}
		}
	}
}

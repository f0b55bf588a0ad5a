// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/annotate"
	"github.com/feed-operator/feed-operator/internal/dashboard/people"
)

// done are the words for what a person has pressed, by what the address says of it.
var done = map[string]string{
	"retry":   "A retry is requested. The item is tried as soon as what it needs is available.",
	"suspend": "The source is suspended: it is not polled, and nothing new is begun for its items.",
	"resume":  "The source is polled again.",
}

// wordsOf are the words for what a person has pressed, if it was this page that has led them to where they are: a link that somebody else has made
// says nothing.
func (h *handler) wordsOf(said string, of *people.Person, path string) string {
	did, signature, _ := strings.Cut(said, ".")
	if subtle.ConstantTimeCompare([]byte(signature), []byte(people.Sign(h.key, of, "did", did, path))) != 1 {
		return ""
	}
	return done[did]
}

// writeTimeoutOfActions bounds what is written for a person.
const writeTimeoutOfActions = 15 * time.Second

// act checks that a person may do what they have pressed, does it, and leads back to the page that they came from.
func (h *handler) act(do func(context.Context, client.Client, client.ObjectKey) (did string, err error)) http.HandlerFunc {
	return h.known(func(w http.ResponseWriter, r *http.Request, of *people.Person) {
		if !h.Actions {
			h.refuse(w, r, http.StatusForbidden, "This page only shows. The operator has to be started with --dashboard-actions to do something by it.")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		if !h.formed(r, of) {
			h.refuse(w, r, http.StatusForbidden, "The form is not of this page, or was loaded before the operator was started anew. Go back, load the page "+
				"again, and press once more.")
			return
		}
		key := client.ObjectKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
		cut, err := h.see(r.Context(), of)
		if err != nil {
			h.explain(w, r, err)
			return
		}
		_, isItem := cut.Item(key.Namespace, key.Name)
		_, isSource := cut.Source(key.Namespace, key.Name)
		if !isItem && !isSource {
			h.explain(w, r, errNotFound)
			return
		}
		if h.door != nil && !h.door.Presses(of) {
			h.explain(w, r, people.ErrBusy)
			return
		}
		writer := h.Writer
		if h.door != nil {
			if writer, err = h.As(of.Token); err != nil {
				h.explain(w, r, err)
				return
			}
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeTimeoutOfActions)
		defer cancel()
		did, err := do(ctx, writer, key)
		if err != nil {
			h.explain(w, r, err)
			return
		}
		h.Log.Info("Requested by the page", "what", did, "namespace", key.Namespace, "name", key.Name, "by", of.Name)
		kind := "sources"
		if did == "retry" {
			kind = "items"
		}
		path := fmt.Sprintf("/%s/%s/%s", kind, key.Namespace, key.Name)
		//nolint:gosec // it leads to a page of ours, of an object that there is
		http.Redirect(w, r, path+"?did="+did+"."+people.Sign(h.key, of, "did", did, path), http.StatusSeeOther)
	})
}

// retry has an item tried again.
func (h *handler) retry(ctx context.Context, writer client.Client, key client.ObjectKey) (string, error) {
	item := &v1alpha1.FeedItem{}
	item.Namespace, item.Name = key.Namespace, key.Name
	_, err := annotate.Retry(ctx, writer, item, "page-"+strconv.FormatInt(h.Now().UnixNano(), 36))
	return "retry", err
}

// suspend has a source suspended, or resumed.
func (h *handler) suspend(suspended bool) func(context.Context, client.Client, client.ObjectKey) (string, error) {
	return func(ctx context.Context, writer client.Client, key client.ObjectKey) (string, error) {
		source := &v1alpha1.FeedSource{}
		source.Namespace, source.Name = key.Namespace, key.Name
		patch := fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspended)
		err := writer.Patch(ctx, source, client.RawPatch(types.MergePatchType, []byte(patch)))
		if suspended {
			return "suspend", err
		}
		return "resume", err
	}
}

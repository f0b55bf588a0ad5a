// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inmemory

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// page is what the token says with which a list goes on: after which object, and of which version the first page was.
type page struct {
	Version         uint64
	Namespace, Name string
}

// list returns the objects of a selection, or a page of them. Pages after the first one show what is there by then.
func (s *Server) list(request *asked) (int, []byte, error) {
	selected, err := request.selection()
	if err != nil {
		return 0, nil, err
	}
	s.mu.Lock()
	all, from := request.objectsOf(selected), page{Version: s.version}
	s.mu.Unlock()
	if token := request.options.Continue; token != "" {
		text, err := base64.RawURLEncoding.DecodeString(token)
		if err == nil {
			err = json.Unmarshal(text, &from)
		}
		if err != nil {
			return 0, nil, apierrors.NewBadRequest("invalid continue token: continue key is not valid: " + err.Error())
		}
		for len(all) > 0 && all[0].key().compare(key{from.Namespace, from.Name}) <= 0 {
			all = all[1:]
		}
	}
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(from.Version, 10)}
	// The real one returns all where any version will do, for it reads from a cache then.
	if most := int(request.options.Limit); most > 0 && most < len(all) && request.options.ResourceVersion != "0" {
		last := all[most-1].key()
		meta.Continue = base64.RawURLEncoding.EncodeToString(encode(page{from.Version, last.namespace, last.name}))
		if selected.labels.Empty() && selected.fields.Empty() {
			meta.RemainingItemCount = new(int64(len(all) - most))
		}
		all = all[:most]
	}
	list := struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta   `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}{metav1.TypeMeta{Kind: request.kind.list, APIVersion: request.resource.GroupVersion().String()}, meta, make([]json.RawMessage, len(all))}
	if request.onlyMetadata {
		list.TypeMeta = metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}
	}
	for i, object := range all {
		list.Items[i] = request.encodedOf(object)
		if request.schema == nil && !request.onlyMetadata { // the list says which kind they are
			list.Items[i] = encode(without(object.Object, "apiVersion", "kind"))
		}
	}
	return http.StatusOK, encode(list), nil
}

// initialEventsEnd marks the bookmark after which a watch goes on with what changes.
const initialEventsEnd = `"annotations":{"` + metav1.InitialEventsAnnotationKey + `":"true"},`

// watch sends what changes, until the request ends. It returns an error where it has sent nothing.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, request *asked) error {
	selected, err := request.selection()
	if err != nil {
		return err
	}
	if request.name != "" {
		return apierrors.NewMethodNotSupported(request.group(), "watch of one object")
	}
	ctx := r.Context()
	if seconds := request.options.TimeoutSeconds; seconds != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*seconds)*time.Second)
		defer cancel()
	}
	s.mu.Lock()
	space := request.in(request.namespace)
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		space.changed.Broadcast()
	})()
	var first []byte
	from := s.version
	initial := request.options.SendInitialEvents != nil && *request.options.SendInitialEvents
	switch asked := request.options.ResourceVersion; {
	case initial, asked == "", asked == "0":
		for _, object := range request.objectsOf(selected) {
			first = event(first, watch.Added, request.encodedOf(object))
		}
		if initial && request.options.AllowWatchBookmarks {
			first = request.bookmark(first, from, initialEventsEnd)
		}
	default:
		if from, err = strconv.ParseUint(asked, 10, 64); err != nil {
			s.mu.Unlock()
			return failed(fmt.Sprintf("resourceVersion: Invalid value: %q: %v", asked, err))
		}
	}
	if from < space.forgotten {
		s.mu.Unlock()
		return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, space.forgotten))
	}
	s.mu.Unlock()
	w.WriteHeader(http.StatusOK)
	for {
		if _, err := w.Write(first); err != nil {
			return nil // nobody hears it any more
		}
		_ = http.NewResponseController(w).Flush()
		var more []change
		s.mu.Lock()
		for {
			if more = space.since(from); len(more) > 0 || ctx.Err() != nil || from < space.forgotten {
				break
			}
			space.changed.Wait()
		}
		forgotten := from < space.forgotten
		s.mu.Unlock()
		if ctx.Err() != nil {
			return nil
		}
		if forgotten { // who reads so slowly lists anew
			status := apierrors.NewResourceExpired("too old resource version").Status()
			_, _ = w.Write(event(nil, watch.Error, encode(status)))
			return nil
		}
		first = first[:0]
		for _, change := range more {
			first, from = request.tell(first, selected, change), change.version
		}
	}
}

// tell adds to a text what somebody hears of a change who watches a selection.
func (a *asked) tell(text []byte, selected selection, change change) []byte {
	switch was, is := selected.has(change.before), selected.has(change.after); {
	case was && is:
		return event(text, watch.Modified, a.encodedOf(change.after))
	case is:
		return event(text, watch.Added, a.encodedOf(change.after))
	case was: // as it was last, with the version of the change
		return event(text, watch.Deleted, a.encodedOf(at(change.before.DeepCopy().Object, change.version)))
	}
	return text
}

func (a *asked) bookmark(text []byte, version uint64, annotations string) []byte {
	return event(text, watch.Bookmark, fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{%s"resourceVersion":"%d"}}`,
		a.resource.GroupVersion(), a.kind.name, annotations, version))
}

func event(text []byte, kind watch.EventType, object []byte) []byte {
	text = append(fmt.Appendf(text, `{"type":%q,"object":`, kind), bytes.TrimSpace(object)...)
	return append(text, '}', '\n')
}

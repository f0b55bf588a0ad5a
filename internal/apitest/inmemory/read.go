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
	text, from, err := s.beginning(request, selected)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	for {
		if _, err := w.Write(text); err != nil {
			return nil // nobody hears it any more
		}
		_ = http.NewResponseController(w).Flush()
		changes, err := s.next(ctx, request, from)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil: // who reads so slowly lists anew
			status := err.Status()
			_, _ = w.Write(event(nil, watch.Error, encode(status)))
			return nil
		}
		text = text[:0]
		for _, change := range changes {
			text, from = request.tell(text, selected, change), change.version
		}
	}
}

// initialEventsEnd marks the bookmark after which a watch goes on with what changes.
const initialEventsEnd = `"annotations":{"` + metav1.InitialEventsAnnotationKey + `":"true"},`

// beginning is what a watch sends first, and the version after which it goes on: with all that is there, unless it names a version.
func (s *Server) beginning(request *asked, selected selection) (text []byte, from uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	initial := request.options.SendInitialEvents != nil && *request.options.SendInitialEvents
	if version := request.options.ResourceVersion; !initial && version != "" && version != "0" {
		if from, err = strconv.ParseUint(version, 10, 64); err != nil {
			return nil, 0, failed(fmt.Sprintf("resourceVersion: Invalid value: %q: %v", version, err))
		}
		if forgotten := request.in(request.namespace).forgotten; from < forgotten {
			return nil, 0, tooOld(from, forgotten)
		}
		return nil, from, nil
	}
	for _, object := range request.objectsOf(selected) {
		text = event(text, watch.Added, request.encodedOf(object))
	}
	if initial && request.options.AllowWatchBookmarks {
		text = request.bookmark(text, s.version, initialEventsEnd)
	}
	return text, s.version, nil
}

// next waits for changes after a version, or for the end of a context.
func (s *Server) next(ctx context.Context, request *asked, from uint64) ([]change, *apierrors.StatusError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	space := request.in(request.namespace)
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		space.changed.Broadcast()
	})()
	for {
		if from < space.forgotten {
			return nil, tooOld(from, space.forgotten)
		}
		if changes := space.since(from); len(changes) > 0 || ctx.Err() != nil {
			return changes, nil
		}
		space.changed.Wait()
	}
}

func tooOld(version, forgotten uint64) *apierrors.StatusError {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, forgotten))
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

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package syndication

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/secrets"
)

const (
	// newest is how many items a feed lists at most.
	newest = 50
	// readTimeout bounds all reading for one request.
	readTimeout = 15 * time.Second
	// cacheControl lets readers and proxies keep an answer for a minute: no feed is polled more
	// often than that, so nothing new can be missed for long.
	cacheControl = "max-age=60"
	// retryAfter is how many seconds a client is asked to wait while the API server does not answer.
	retryAfter = "30"
	// tellInterval is how often the log is told at most that feeds cannot be served: who reads can read often.
	tellInterval = time.Minute
)

// Options of the handler. The zero value works.
type Options struct {
	// BaseURL is where the handler is reached from outside, such as https://feeds.example.org.
	// The links of a feed to itself begin with it. Without it they are made from the Host that
	// the client sent.
	BaseURL *url.URL
	// Log gets the errors that clients are not told.
	Log logr.Logger
}

// errUnpublished means that a source is not for everybody to read. Clients cannot tell it from one that
// does not exist.
var errUnpublished = errors.New("the source is not published")

type handler struct {
	reader  Reader
	entries *entryReader
	options Options

	telling rate.Sometimes
	untold  atomic.Int64 // since it was told last
}

// NewHandler serves /feeds/NAMESPACE/SOURCE.atom and /feeds/NAMESPACE/SOURCE.json, and nothing
// else, to GET and HEAD.
//
// Answers: 200; 304 where the client has the current feed already, for which no text is read; 404
// for a source that is unknown or not published, whatever the client has of it; 503 while the API server cannot be read.
func NewHandler(reader Reader, options Options) http.Handler {
	h := &handler{
		reader: reader, entries: newEntryReader(reader, maxCacheBytes), options: options, telling: rate.Sometimes{First: 1, Interval: tellInterval},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /feeds/{namespace}/{file}", h.serve) // GET stands for HEAD too
	return mux
}

// document is everything that a feed says, apart from the form it is said in.
type document struct {
	// id is a URN: it stays the same wherever the feed is served.
	id       string
	title    string
	homePage string
	// self is the URL of this document, other that of the same feed in the other format.
	self, other string
	updated     time.Time
	entries     []*entry
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) {
	namespace, file := r.PathValue("namespace"), r.PathValue("file")
	name, format, ok := parseFile(file)
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		refuse(w, http.StatusNotFound, "Not found. Feeds are at /feeds/NAMESPACE/SOURCE.atom and /feeds/NAMESPACE/SOURCE.json.")
		return
	}

	ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
	defer cancel()
	if err := h.answer(ctx, w, r, namespace, name, format); err != nil {
		h.explain(w, r, namespace, name, err)
	}
}

// answer writes the feed, or nothing when it returns an error.
func (h *handler) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, namespace, name string, format *format) error {
	source, err := h.reader.Source(ctx, namespace, name)
	if err != nil {
		return err
	}
	if !secrets.Published(source) {
		return errUnpublished
	}
	refs, err := h.reader.Newest(ctx, namespace, name, source.UID, newest)
	if err != nil {
		return fmt.Errorf("listing the items: %w", err)
	}
	refs = refs[:min(len(refs), newest)]
	feed := h.describe(r, source, format)
	feed.updated = lastUpdate(source, refs)

	head := w.Header()
	head.Set("Cache-Control", cacheControl)
	if h.options.BaseURL == nil {
		head.Set("Vary", "X-Forwarded-Proto") // the links of the feed depend on it
	}
	if etag := entityTag(feed, format, refs); unchanged(r.Header, etag, feed.updated) {
		setValidators(head, etag, feed.updated)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}

	// The list may lag behind the items, so the validators speak of what was really read.
	if feed.entries, refs, err = h.entries.read(ctx, refs); err != nil {
		return fmt.Errorf("reading the items: %w", err)
	}
	feed.updated = lastUpdate(source, refs)
	body, err := format.render(feed)
	if err != nil {
		return fmt.Errorf("rendering: %w", err)
	}
	setValidators(head, entityTag(feed, format, refs), feed.updated)
	head.Set("Content-Type", format.mediaType+"; charset=utf-8")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // an error means that the client is gone; net/http drops it for HEAD
	return nil
}

// describe fills in what is known of the feed without its items.
func (h *handler) describe(r *http.Request, source *v1alpha1.FeedSource, format *format) *document {
	title := oneLine(source.Status.Title)
	if title == "" {
		title = source.Name
	}
	link := func(suffix string) string {
		return h.linkTo(r, "feeds", source.Namespace, source.Name+suffix)
	}
	return &document{
		id:       urn(v1alpha1.OriginalUID(source)),
		title:    title,
		homePage: origin(source.Spec.URL),
		self:     link(format.suffix),
		other:    link(format.other().suffix),
	}
}

// explain tells the client what is wrong without naming anything of the inside, which goes to the log.
func (h *handler) explain(w http.ResponseWriter, r *http.Request, namespace, name string, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // nobody is listening any more
	}
	w.Header().Del("Cache-Control")
	if apierrors.IsNotFound(err) || errors.Is(err, errUnpublished) {
		refuse(w, http.StatusNotFound, "There is no published feed of a FeedSource "+namespace+"/"+name+".")
		return
	}
	h.untold.Add(1)
	h.telling.Do(func() {
		h.options.Log.Error(err, "Feed not served", "namespace", namespace, "source", name, "times", h.untold.Swap(0))
	})
	w.Header().Set("Retry-After", retryAfter)
	refuse(w, http.StatusServiceUnavailable, "The feed cannot be read at the moment. Please try again later.")
}

func refuse(w http.ResponseWriter, status int, message string) {
	http.Error(w, message, status)
}

func parseFile(file string) (name string, found *format, ok bool) {
	for _, candidate := range []*format{atom, jsonFeed} {
		if name, ok := strings.CutSuffix(file, candidate.suffix); ok {
			return name, candidate, true
		}
	}
	return "", nil, false
}

// lastUpdate returns when the newest change of the listed items was; for an empty feed, when its
// source was created.
func lastUpdate(source *v1alpha1.FeedSource, refs []Ref) time.Time {
	last := source.CreationTimestamp.Time
	for _, ref := range refs {
		if ref.Updated.After(last) {
			last = ref.Updated
		}
	}
	return last
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	expiring "k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/internal/dashboard/flight"
	"github.com/feed-operator/feed-operator/internal/dashboard/foreign"
	"github.com/feed-operator/feed-operator/internal/dashboard/guard"
	"github.com/feed-operator/feed-operator/internal/dashboard/people"
	"github.com/feed-operator/feed-operator/internal/share"
)

//go:embed assets
var assets embed.FS

const (
	// requestsAtOnce is how many pages are made at the same time, requestsOfOne how many of them for one tenant; requestWait is how long one waits for
	// its turn.
	requestsAtOnce, requestsOfOne = 8, 4
	requestWait                   = 5 * time.Second
	// tellInterval is how often the log is told at most that pages cannot be served: who looks can look often.
	tellInterval = time.Minute
	// reviewTimeout bounds all questions to the API server about one person.
	reviewTimeout = 10 * time.Second
	// makeTimeout bounds the making of a page: what is asked and read for it has bounds of its own.
	makeTimeout = requestWait + reviewTimeout + readTimeout
	// awayAfter is after how long a silence of the API server the page says that what it shows may be no more.
	awayAfter = time.Minute
	// mostForm is how large a form may be, in bytes: a token is the largest thing in one.
	mostForm = 16 << 10
)

// Options of the page.
type Options struct {
	// Board is where the snapshots are; Live reads single items from the API server.
	Board *Board
	Live  client.Reader
	// Now is the time of the operator; Passed is how much time has passed since whenever, whatever any clock is set to: for so long answers of the API
	// server about people are believed.
	Now    func() time.Time
	Passed func() time.Duration
	// Silence is for how long the API server has let nothing be known of what is new in some namespaces. Nil: that is not known.
	Silence func(namespaces []string) time.Duration
	// Actions lets people retry items, and suspend and resume sources.
	Actions bool
	// Writer writes what they press where nobody is asked who they are.
	Writer client.Client
	// Reviews asks the API server who somebody is and what they may do. Nil: everybody who reaches the page sees all.
	Reviews client.Client
	// As makes a client that writes with the token of a person, so that it is the API server that decides, and knows who it was.
	As func(token string) (client.Client, error)
	// Hosts are the names under which the page may be asked for beside localhost and addresses.
	Hosts []string
	// Log gets the errors that viewers are not told.
	Log logr.Logger
}

type handler struct {
	Options
	board *Board
	whole *wholeItems
	door  *people.People // nil where nobody is asked
	key   []byte         // of the forms
	turns *share.Places
	// underWay are the pages that are made or wait for anything. Who has asked for one may be gone: a connection is free then, and the page is not.
	underWay *share.Places
	pages    *expiring.LRUExpireCache
	making   flight.Group[[]byte]
	ending   <-chan struct{}

	entrance sync.Mutex
	viewers  int
	byTenant map[string]int

	telling rate.Sometimes
	untold  atomic.Int64 // since it was told last
}

// With --dashboard-auth, and --metrics-auth. What people press is written with their own tokens then, so that nothing more is needed for it.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// NewHandler serves the page. The streams to viewers end when ending is closed.
//
// Answers: 401 where a person must sign in, 403 for what they may not do, 404 for what there is not, or they do not see, 421 under a name that is not
// known, 503 while the cache is filled, the API server does not answer, or there are too many viewers.
func NewHandler(options Options, ending <-chan struct{}) http.Handler {
	h := &handler{
		Options: options, board: options.Board, whole: newWholeItems(options.Live, options.Now), key: make([]byte, 32), ending: ending,
		turns: share.New(requestsAtOnce, requestsOfOne), underWay: share.New(mostUnderWay, underWayOfOne),
		pages: expiring.NewLRUExpireCacheWithClock(mostPages, people.Clock(options.Now)), byTenant: map[string]int{},
		telling: rate.Sometimes{First: 1, Interval: tellInterval},
	}
	_, _ = rand.Read(h.key)
	if options.Reviews != nil {
		h.door = people.New(options.Reviews, func() time.Time { return time.Unix(0, 0).Add(options.Passed()) })
	}
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", http.HandlerFunc(h.asset))
	mux.HandleFunc("GET /{$}", h.page(h.overview))
	mux.HandleFunc("GET /items", h.page(h.items))
	mux.HandleFunc("GET /items/{namespace}/{name}", h.page(h.item))
	mux.HandleFunc("GET /providers", h.page(h.services("Providers", providersIn)))
	mux.HandleFunc("GET /destinations", h.page(h.services("Destinations", destinationsIn)))
	mux.HandleFunc("GET /sources", h.page(h.sources))
	mux.HandleFunc("GET /sources/{namespace}/{name}", h.page(h.source))
	mux.HandleFunc("GET /events", h.known(h.stream))
	mux.HandleFunc("POST /items/{namespace}/{name}/retry", h.act(h.retry))
	mux.HandleFunc("POST /sources/{namespace}/{name}/suspend", h.act(h.suspend(true)))
	mux.HandleFunc("POST /sources/{namespace}/{name}/resume", h.act(h.suspend(false)))
	mux.HandleFunc("GET /sign-in", h.signInPage)
	mux.HandleFunc("POST /sign-in", h.signIn)
	mux.HandleFunc("POST /sign-out", h.signOut)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.refuse(w, r, http.StatusNotFound, "There is no such page.")
	})
	return guard.New(options.Hosts, h.refuse, mux)
}

// everybody is the viewer where nobody is asked.
var everybody = &people.Person{}

// viewerOf finds out who has sent a request.
func (h *handler) viewerOf(ctx context.Context, r *http.Request) (*people.Person, error) {
	if h.door == nil {
		return everybody, nil
	}
	return h.door.Who(ctx, h.door.TokenOf(r), r.RemoteAddr)
}

// again asks anew who somebody is: their token may have been revoked.
func (h *handler) again(r *http.Request, of *people.Person) (*people.Person, error) {
	if h.door == nil {
		return of, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	return h.door.Who(ctx, of.Token, r.RemoteAddr)
}

// see returns what somebody may see now.
func (h *handler) see(ctx context.Context, of *people.Person) (Cut, error) {
	snapshot, err := h.board.Current(ctx)
	if err != nil {
		return Cut{}, err
	}
	return h.cut(ctx, of, snapshot)
}

// cut returns what of a snapshot somebody may see.
func (h *handler) cut(ctx context.Context, of *people.Person, snapshot *Snapshot) (Cut, error) {
	if h.door == nil {
		return snapshot.cut(func(string) bool { return true }), nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	seen, err := h.door.Sees(ctx, of, snapshot.names)
	return snapshot.cut(func(namespace string) bool { return seen[namespace] }), err
}

// may reports whether somebody may change an object.
func (h *handler) may(ctx context.Context, of *people.Person, resource, namespace string) (bool, error) {
	if !h.Actions || h.door == nil {
		return h.Actions, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	return h.door.May(ctx, of, "patch", resource, namespace)
}

// known calls a function with who has sent the request.
func (h *handler) known(serve func(http.ResponseWriter, *http.Request, *people.Person)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
		of, err := h.viewerOf(ctx, r)
		cancel()
		if err != nil {
			h.explain(w, r, err)
			return
		}
		serve(w, r, of)
	}
}

// composer makes a page of what somebody may see. It asks the API server for whatever the page needs at first; what it returns then makes the page, and
// waits for nobody.
type composer func(*http.Request, *people.Person, Cut) (made func() *page, err error)

// page serves what a function composes of what somebody may see. Whoever looks at the same, of the same snapshot, is sent the same.
func (h *handler) page(compose composer) http.HandlerFunc {
	return h.known(func(w http.ResponseWriter, r *http.Request, of *people.Person) {
		body, err := h.shared(r, of, compose)
		if err != nil {
			h.explain(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(body) //nolint:gosec // made by html/template
	})
}

const (
	// mostPages is how many pages are kept, and pageKept for how long; none of more than mostPage bytes is.
	mostPages, mostPage = 64, 128 << 10
	pageKept            = oldest
	// mostUnderWay is how many pages are made, or wait to be, at the same time, underWayOfOne how many of one tenant.
	mostUnderWay, underWayOfOne = 256, 64
)

// shared makes a page, or returns the one that the same person, or everybody where nobody is asked, was sent of the same snapshot.
func (h *handler) shared(r *http.Request, of *people.Person, compose composer) ([]byte, error) {
	snapshot, err := h.board.Current(r.Context())
	if err != nil {
		return nil, err
	}
	// The moment at which a snapshot was taken depends on what happens in all namespaces: neither it, nor whether there is another one, is told.
	now := h.Now().Truncate(time.Second)
	id := people.Sign(h.key, of, strconv.FormatInt(snapshot.Taken.UnixNano(), 36), strconv.FormatInt(now.Unix(), 36), r.URL.RequestURI())
	if kept, found := h.pages.Get(id); found {
		if body, is := kept.([]byte); is {
			return body, nil
		}
	}
	return h.making.Do(r.Context(), id, makeTimeout, func(ctx context.Context) ([]byte, error) {
		leave, err := h.underWay.Try(of.Tenant())
		if err != nil {
			return nil, err
		}
		defer leave()
		body, err := h.render(r.WithContext(ctx), of, snapshot, now, compose)
		if err == nil && len(body) <= mostPage {
			h.pages.Add(id, body, pageKept)
		}
		return body, err
	})
}

// render makes a page. A place to make it is held neither while the API server is waited for, nor while the page is sent: a slow server, or viewer,
// holds none.
func (h *handler) render(r *http.Request, of *people.Person, snapshot *Snapshot, now time.Time, compose composer) ([]byte, error) {
	cut, err := h.cut(r.Context(), of, snapshot)
	if err != nil {
		return nil, err
	}
	makePage, err := compose(r, of, cut)
	if err != nil {
		return nil, err
	}
	leave, err := h.turns.Take(r.Context(), of.Tenant(), requestWait)
	if err != nil {
		return nil, err
	}
	defer leave()
	made := makePage()
	heard, mark := h.away(cut, now)
	made.Version, made.Now, made.Heard, made.Name = cut.Version()+mark, now, heard, foreign.Line(of.Name)
	made.Actions, made.Auth, made.Form, made.Path = h.Actions, h.door != nil, people.FormToken(h.key, of), r.URL.Path
	made.Namespaces = cut.Namespaces()
	made.Did = h.wordsOf(r.URL.Query().Get("did"), of, r.URL.Path)
	return made.bytes()
}

// away is when all of a cut was last heard of, if that is worth telling; else zero. The cache hears of nothing then, and knows nothing of that. The mark makes
// another version of what somebody sees when it begins, and when it ends.
func (h *handler) away(cut Cut, now time.Time) (heard time.Time, mark string) {
	if h.Silence != nil {
		if silence := h.Silence(cut.Namespaces()); silence >= awayAfter {
			return now.Add(-silence).Truncate(time.Second), "-away"
		}
	}
	return time.Time{}, ""
}

var errNotFound = errors.New("there is nothing of that name, or it is not yours to see")

// explain says what is wrong. What is about the inside of the operator goes to the log alone.
func (h *handler) explain(w http.ResponseWriter, r *http.Request, err error) {
	var notStarted *cache.ErrCacheNotStarted
	switch {
	case r.Context().Err() != nil: // nobody is listening any more
	case errors.Is(err, people.ErrSignIn), apierrors.IsUnauthorized(err) && h.door != nil: // the token was revoked a moment ago
		h.askToSignIn(w, r, http.StatusUnauthorized, "")
	case errors.Is(err, errNotFound), apierrors.IsNotFound(err):
		h.refuse(w, r, http.StatusNotFound, "There is nothing of that name here, or you may not see it.")
	case apierrors.IsForbidden(err) && h.door == nil:
		h.refuse(w, r, http.StatusForbidden, "The operator itself may not do that. It needs the ClusterRole of config/rbac/dashboard_actions_role.yaml, or "+
			"--dashboard-auth, so that it is done with the token of a person.")
	case apierrors.IsForbidden(err):
		h.refuse(w, r, http.StatusForbidden, "The API server does not let you do that.")
	case errors.As(err, &notStarted), errors.Is(err, context.DeadlineExceeded), meta.IsNoMatchError(err):
		h.refuse(w, r, http.StatusServiceUnavailable, "The operator has just been started, and reads what there is. Load this page again in a moment.")
	case errors.Is(err, share.ErrCrowded), errors.Is(err, people.ErrBusy):
		h.refuse(w, r, http.StatusServiceUnavailable, "Too many requests at once. Load this page again in a moment.")
	default:
		h.untold.Add(1)
		h.telling.Do(func() {
			h.Log.Error(err, "Page not served", "path", foreign.Line(r.URL.Path), "times", h.untold.Swap(0))
		})
		h.refuse(w, r, http.StatusServiceUnavailable, "The API server does not answer, or not as it should. The operator's log says more.")
	}
}

// refuse answers with words.
func (h *handler) refuse(w http.ResponseWriter, _ *http.Request, status int, words string) {
	body, err := (&page{Title: http.StatusText(status), kind: "refusal", Refusal: words}).bytes()
	if err != nil {
		http.Error(w, words, status)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// asset serves the stylesheet and the script.
func (h *handler) asset(w http.ResponseWriter, r *http.Request) {
	content, err := assets.ReadFile(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil {
		h.refuse(w, r, http.StatusNotFound, "There is no such file.")
		return
	}
	kind := "text/css; charset=utf-8"
	switch {
	case strings.HasSuffix(r.URL.Path, ".js"):
		kind = "text/javascript; charset=utf-8"
	case strings.HasSuffix(r.URL.Path, ".svg"):
		kind = "image/svg+xml"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(content) //nolint:gosec // a file of ours
}

// formed reports whether a form of the person themselves has made a request, or a program that shows their token.
func (h *handler) formed(r *http.Request, of *people.Person) bool {
	return subtle.ConstantTimeCompare([]byte(r.PostFormValue("form")), []byte(people.FormToken(h.key, of))) == 1
}

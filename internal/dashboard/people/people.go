// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package people knows who looks at the page, or scrapes the metrics, and what they may see and do: what the API server says of the token that they show.
//
// It asks the API server, seldom, and believes it for a while. It knows nothing of what the page shows.
package people

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	expiring "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/dashboard/flight"
	"github.com/feed-operator/feed-operator/internal/share"
)

const (
	// CookieName is that of the cookie that holds a person's token, encrypted.
	CookieName = "feed-operator-page"
	// MostToken is how long a token may be, in bytes: encrypted, it has to fit into a cookie (RFC 6265, section 6.1: 4096 bytes).
	MostToken = 2900
	// Answers of the API server are believed for so long.
	identityKept, strangerKept, permissionKept = time.Minute, 10 * time.Second, time.Minute
	// familiarFor is how long a token that was good is not one that nobody has shown before.
	familiarFor = time.Hour
	// So many of them are kept at most.
	mostIdentities, mostFamiliar, mostPermissions = 1000, 20_000, 20_000
	// reviewsAtOnce is how many questions about what people may see and do are asked at the same time, and reviewsOfOne how many of them for one tenant.
	// What somebody sees takes one for each namespace, and the operator's own requests go the same way.
	reviewsAtOnce, reviewsOfOne = 32, 8
	// Tokens that nobody has shown before are asked about so often at most, of one address and of all: whoever reaches the page can make them up.
	NewTokensPerSecond, NewTokensAtOnce       = 5, 20
	allNewTokensPerSecond, allNewTokensAtOnce = 8 * NewTokensPerSecond, 8 * NewTokensAtOnce
	// mostAddresses is how many addresses are told apart by that, and how many tenants by each of the following.
	mostAddresses = 1000
	// LooksAtOnce and looksEvery are how often it is asked for one tenant which namespaces somebody sees, which costs a question for each of them: who may
	// make tokens can make many that are good.
	LooksAtOnce = 30
	looksEvery  = 2 * time.Second
	// ArrivalsPerSecond and ArrivalsAtOnce are how often a good token of one tenant is taken in that nobody has shown before, and ReviewsPerSecond and
	// ReviewsAtOnce how often it is asked about one again. So no tenant has more than 90 of the answers about tokens, and keeps out only its own.
	ArrivalsPerSecond, ArrivalsAtOnce = 1, 30
	ReviewsPerSecond, ReviewsAtOnce   = 1, 30
	// PressesAtOnce and pressesEvery are how often one tenant does something by the page.
	PressesAtOnce = 30
	pressesEvery  = time.Second
	// askTimeout bounds one question to the API server, for which all wait who want to know the same, and askWait how long of that it waits for its turn.
	askTimeout, askWait = 10 * time.Second, 5 * time.Second
)

var (
	// ErrSignIn means that nobody has shown a token that the API server knows.
	ErrSignIn = errors.New("not signed in")
	// ErrBusy means that too many unknown tokens are shown.
	ErrBusy = errors.New("too many tokens are being checked")
)

// Person is who has sent a request.
type Person struct {
	// Name as the API server says it; empty where nobody is asked who they are.
	Name   string
	Token  string
	groups []string
	uid    string
	extra  map[string]authorizationv1.ExtraValue
}

// serviceAccount begins the names of ServiceAccounts, as the API server makes them: system:serviceaccount:NAMESPACE:NAME.
const serviceAccount = "system:serviceaccount:"

// Tenant is who shares what there is too little of for everybody: a person, or all ServiceAccounts of a namespace. Who may make one in a namespace
// can make many.
func (p *Person) Tenant() string {
	if rest, is := strings.CutPrefix(p.Name, serviceAccount); is {
		namespace, _, _ := strings.Cut(rest, ":")
		return serviceAccount + namespace
	}
	return p.Name
}

// People knows who may see and do what.
type People struct {
	reviews     client.Client // creates TokenReviews and SubjectAccessReviews
	now         func() time.Time
	key         [32]byte // of the cookies; of this process only
	identities  *expiring.LRUExpireCache
	permissions *expiring.LRUExpireCache
	// Tokens that nobody has shown before are asked about seldom; those that were good within the last hour, of which the tenants are kept, as often as
	// their tenant may.
	unknown  *rate.Limiter
	familiar *expiring.LRUExpireCache
	// addresses are where they come from: one that makes tokens up keeps out nobody who comes from elsewhere.
	making    sync.Mutex
	addresses *lru.Cache
	tenants   *lru.Cache
	arrivals  *lru.Cache
	again     *lru.Cache
	presses   *lru.Cache
	// identifying and allowing have those who want to know the same ask once.
	identifying flight.Group[*Person]
	allowing    flight.Group[bool]
	asking      *share.Places
}

// New returns what asks an API server. Now has to go on whatever clocks are set to: an answer would be believed for a day where one is set back by that.
func New(reviews client.Client, now func() time.Time) *People {
	clock := Clock(now)
	p := &People{
		reviews:     reviews,
		now:         now,
		identities:  expiring.NewLRUExpireCacheWithClock(mostIdentities, clock),
		permissions: expiring.NewLRUExpireCacheWithClock(mostPermissions, clock),
		unknown:     rate.NewLimiter(allNewTokensPerSecond, allNewTokensAtOnce),
		familiar:    expiring.NewLRUExpireCacheWithClock(mostFamiliar, clock),
		addresses:   lru.New(mostAddresses),
		tenants:     lru.New(mostAddresses),
		arrivals:    lru.New(mostAddresses),
		again:       lru.New(mostAddresses),
		presses:     lru.New(mostAddresses),
		asking:      share.New(reviewsAtOnce, reviewsOfOne),
	}
	_, _ = rand.Read(p.key[:]) // never fails: crypto/rand
	return p
}

// Clock is a time for the caches that expire.
type Clock func() time.Time

// Now is the time.
func (c Clock) Now() time.Time { return c() }

// limitOf is how often tokens that nobody has shown before are asked about which come from an address, as http.Request.RemoteAddr has it. All that a
// network has of IPv6 are one address: whoever has one there has many.
func (p *People) limitOf(from string) *rate.Limiter {
	host, _, err := net.SplitHostPort(from)
	if err != nil {
		host = from
	}
	if address, err := netip.ParseAddr(host); err == nil && address.Is6() && !address.Is4In6() {
		network, _ := address.WithZone("").Prefix(64)
		host = network.String()
	}
	return p.limit(p.addresses, host, NewTokensPerSecond, NewTokensAtOnce)
}

// limit is that of one of those who are told apart.
func (p *People) limit(all *lru.Cache, name string, every rate.Limit, atOnce int) *rate.Limiter {
	p.making.Lock()
	defer p.making.Unlock()
	if known, found := all.Get(name); found {
		if limit, is := known.(*rate.Limiter); is {
			return limit
		}
	}
	limit := rate.NewLimiter(every, atOnce)
	all.Add(name, limit)
	return limit
}

// Who asks the API server whose token it is that was sent from an address.
func (p *People) Who(ctx context.Context, token, from string) (*Person, error) {
	if token == "" {
		return nil, ErrSignIn
	}
	if len(token) > 4*MostToken {
		return nil, ErrSignIn
	}
	sum := sha256.Sum256([]byte(token))
	id := hex.EncodeToString(sum[:])
	if known, found := p.identities.Get(id); found {
		if of, is := known.(*Person); is && of != nil {
			return of, nil
		}
		return nil, ErrSignIn
	}
	return p.identifying.Do(ctx, id, askTimeout, func(ctx context.Context) (*Person, error) {
		if !p.reviewable(id, from) {
			return nil, ErrBusy
		}
		return p.review(ctx, token, id)
	})
}

// reviewable reports whether the API server may be asked now about a token that was sent from an address.
func (p *People) reviewable(id, from string) bool {
	if known, good := p.familiar.Get(id); good {
		tenant, _ := known.(string)
		return p.limit(p.again, tenant, ReviewsPerSecond, ReviewsAtOnce).AllowN(p.now(), 1)
	}
	return p.limitOf(from).AllowN(p.now(), 1) && p.unknown.AllowN(p.now(), 1)
}

// review asks the API server whose token it is, and keeps the answer.
func (p *People) review(ctx context.Context, token, id string) (*Person, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if err := p.reviews.Create(ctx, review); err != nil {
		return nil, fmt.Errorf("ask the API server whose token it is: %w", err)
	}
	if !review.Status.Authenticated || review.Status.User.Username == "" {
		p.identities.Add(id, (*Person)(nil), strangerKept)
		p.familiar.Remove(id)
		return nil, ErrSignIn
	}
	user := review.Status.User
	of := &Person{Name: user.Username, Token: token, groups: user.Groups, uid: user.UID}
	for key, value := range user.Extra {
		if of.extra == nil {
			of.extra = map[string]authorizationv1.ExtraValue{}
		}
		of.extra[key] = authorizationv1.ExtraValue(value)
	}
	// Who may make tokens can make many that are good: those displace nobody else's.
	if _, good := p.familiar.Get(id); !good && !p.limit(p.arrivals, of.Tenant(), ArrivalsPerSecond, ArrivalsAtOnce).AllowN(p.now(), 1) {
		return nil, ErrBusy
	}
	p.identities.Add(id, of, identityKept)
	p.familiar.Add(id, of.Tenant(), familiarFor)
	return of, nil
}

// May asks the API server whether a person may do something with a resource of this group in a namespace, or in all of them if that is empty.
func (p *People) May(ctx context.Context, of *Person, verb, resource, namespace string) (bool, error) {
	return p.askMay(ctx, of, p.freely, verb, resource, namespace)
}

func (p *People) askMay(ctx context.Context, of *Person, now func(*Person) bool, verb, resource, namespace string) (bool, error) {
	return p.ask(ctx, of, authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: resource, Namespace: namespace,
	}}, now, verb, resource, namespace)
}

func (p *People) freely(*Person) bool { return true }

// looks reports whether it may be asked now what somebody sees.
func (p *People) looks(of *Person) bool {
	return p.limit(p.tenants, of.Tenant(), rate.Every(looksEvery), LooksAtOnce).AllowN(p.now(), 1)
}

// Presses reports whether somebody may do something by the page now: each is a line of the log, and a request to the API server.
func (p *People) Presses(of *Person) bool {
	return p.limit(p.presses, of.Tenant(), rate.Every(pressesEvery), PressesAtOnce).AllowN(p.now(), 1)
}

// MayGet asks the API server whether a person may get what is no object, such as /metrics.
func (p *People) MayGet(ctx context.Context, of *Person, path string) (bool, error) {
	return p.ask(ctx, of, authorizationv1.SubjectAccessReviewSpec{
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: path},
	}, p.freely, path)
}

// ask asks the API server about one thing, which has a name, if it may be asked now, or returns what it has said of that.
func (p *People) ask(
	ctx context.Context, of *Person, about authorizationv1.SubjectAccessReviewSpec, now func(*Person) bool, name ...string,
) (bool, error) {
	// The groups and all else belong to the token, and it is the token that is kept for.
	sum := sha256.Sum256([]byte(strings.Join(append([]string{of.Token}, name...), "\x00")))
	id := hex.EncodeToString(sum[:])
	if known, found := p.permissions.Get(id); found {
		allowed, _ := known.(bool)
		return allowed, nil
	}
	about.User, about.Groups, about.UID, about.Extra = of.Name, of.groups, of.uid, of.extra
	return p.allowing.Do(ctx, id, askTimeout, func(ctx context.Context) (bool, error) {
		if !now(of) {
			return false, ErrBusy
		}
		leave, err := p.asking.Take(ctx, of.Tenant(), askWait)
		if err != nil {
			return false, err
		}
		defer leave()
		review := &authorizationv1.SubjectAccessReview{Spec: about}
		if err := p.reviews.Create(ctx, review); err != nil {
			return false, fmt.Errorf("ask the API server what %s may do: %w", of.Name, err)
		}
		allowed := review.Status.Allowed && !review.Status.Denied
		if why := review.Status.EvaluationError; why != "" && !allowed && !review.Status.Denied { // by whom it asks: that is no answer
			return false, fmt.Errorf("ask the API server what %s may do: %s", of.Name, why)
		}
		p.permissions.Add(id, allowed, permissionKept)
		return allowed, nil
	})
}

// Sees returns the namespaces, of those that there are, in which a person may list FeedItems.
func (p *People) Sees(ctx context.Context, of *Person, namespaces []string) (map[string]bool, error) {
	seen := make(map[string]bool, len(namespaces))
	everywhere, err := p.askMay(ctx, of, p.looks, "list", "feeditems", "") // which is asked before all others, and kept as long as they are
	if err != nil {
		return nil, err
	}
	if everywhere {
		for _, namespace := range namespaces {
			seen[namespace] = true
		}
		return seen, nil
	}
	var mu sync.Mutex
	questions, ctx := errgroup.WithContext(ctx)
	questions.SetLimit(reviewsOfOne)
	for _, namespace := range slices.Clone(namespaces) {
		questions.Go(func() error {
			allowed, err := p.May(ctx, of, "list", "feeditems", namespace)
			mu.Lock()
			defer mu.Unlock()
			seen[namespace] = allowed
			return err
		})
	}
	return seen, questions.Wait()
}

// FormToken is what the forms of a person carry, so that a request that no form of theirs has made is told: browsers that do not say where a request
// comes from are protected too.
func FormToken(key []byte, of *Person) string { return Sign(key, of, "form") }

// Sign returns what only the holder of a key can make of a person and some words, and nobody can guess.
func Sign(key []byte, of *Person, words ...string) string {
	sum := hmac.New(sha256.New, key)
	_, _ = sum.Write([]byte(strings.Join(append([]string{of.Name, of.Token}, words...), "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

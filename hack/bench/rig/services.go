// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/internal/geminitest"
	"github.com/feed-operator/feed-operator/internal/mastodontest"
)

const (
	// credentials are accepted by the stand-ins.
	credentials = "bench-0123456789"
	// ManySlots is how many posts a destination takes at once where none is to wait for another: the
	// most that it can be set to.
	ManySlots = 100
)

// Services stand in for a model and for an account, on loopback. Both answer at once.
type Services struct {
	gemini   *geminitest.Server
	mastodon *mastodontest.Server
	// server is where the account is, at an address.
	server  *http.Server
	address string
}

// StartServices starts services that take so many posts. A post that is sent twice is published
// twice, whatever its key: that is how it is noticed.
func StartServices(ctx context.Context, posts int) (_ *Services, err error) {
	s := &Services{mastodon: mastodontest.NewUnstarted(mastodontest.Options{
		Token: credentials, TokenMayRead: true, Keys: mastodontest.IgnoresKeys, PostsPerWindow: 10 * posts, MaxPosts: 10 * posts,
	})}
	if s.server, s.address, err = serve(ctx, s.mastodon.Handler()); err != nil {
		return nil, err
	}
	s.gemini = geminitest.New(credentials)
	return s, nil
}

// Close ends both.
func (s *Services) Close() {
	s.gemini.Close()
	_ = s.server.Close()
}

// OnPost lets a hook see each request to post, as mastodontest.Server does.
func (s *Services) OnPost(hook func(*mastodontest.Pending) (answered bool)) { s.mastodon.OnPost(hook) }

// Calls is how often the model was called.
func (s *Services) Calls() int { return len(s.gemini.Calls()) }

// Posts are what was published.
func (s *Services) Posts() []mastodontest.Post { return s.mastodon.Posts() }

// CreateServices creates what an operator has to know to call the services: the objects and their
// Secret. The account is changed before it is created.
func (p *Plane) CreateServices(ctx context.Context, s *Services, namespace string, slots int32, change ...func(*v1alpha1.FeedDestination)) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: news.ServiceName},
		StringData: map[string]string{"apiKey": credentials, "accessToken": credentials},
	}
	ref := v1alpha1.SecretReference{Name: news.ServiceName}
	model, account := newServiceObjects(namespace)
	model.Spec.Gemini = &v1alpha1.GeminiProvider{Model: "gemini-2.5-flash", Endpoint: s.gemini.URL, SecretRef: ref}
	account.Spec.Mastodon = &v1alpha1.MastodonDestination{Server: s.address, SecretRef: ref}
	account.Spec.MaxConcurrent = new(slots)
	for _, c := range change {
		c(account)
	}
	for _, object := range []client.Object{secret, model, account} {
		if err := p.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("create a %T: %w", object, err)
		}
	}
	return nil
}

// LimitPosts has the account take so many posts at once from now on, and waits until the operator knows.
func (p *Plane) LimitPosts(ctx context.Context, namespace string, slots int32) error {
	_, account := newServiceObjects(namespace)
	patch := fmt.Appendf(nil, `{"spec":{"maxConcurrent":%d}}`, slots)
	if err := p.Client.Patch(ctx, account, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	return p.UntilReady(ctx, namespace)
}

func newServiceObjects(namespace string) (*v1alpha1.AIProvider, *v1alpha1.FeedDestination) {
	named := metav1.ObjectMeta{Namespace: namespace, Name: news.ServiceName}
	return &v1alpha1.AIProvider{ObjectMeta: named}, &v1alpha1.FeedDestination{ObjectMeta: named}
}

// UntilReady waits until the operator says of both services, as their specs are now, that they are
// ready.
func (p *Plane) UntilReady(ctx context.Context, namespace string) error {
	return p.untilServices(ctx, namespace, func(model *v1alpha1.AIProvider, account *v1alpha1.FeedDestination) bool {
		return ready(model.Generation, model.Service()) && ready(account.Generation, account.Service())
	})
}

func ready(generation int64, status *v1alpha1.ServiceStatus) bool {
	return status.ObservedGeneration == generation && meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady)
}

// UntilTallied waits until the operator has written down every call of the services so far.
func (p *Plane) UntilTallied(ctx context.Context, s *Services, namespace string) error {
	return p.untilServices(ctx, namespace, func(model *v1alpha1.AIProvider, account *v1alpha1.FeedDestination) bool {
		return int(model.Status.Calls) == s.Calls() && int(account.Status.Delivered) == len(s.Posts())
	})
}

func (p *Plane) untilServices(ctx context.Context, namespace string, condition func(*v1alpha1.AIProvider, *v1alpha1.FeedDestination) bool) error {
	model, account := newServiceObjects(namespace)
	err := Until(ctx, func(ctx context.Context) (bool, error) {
		for _, object := range []client.Object{model, account} {
			if err := p.Client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return false, err
			}
		}
		return condition(model, account), nil
	})
	if err != nil {
		return fmt.Errorf("%w; the services have %+v and %+v", err, model.Status, account.Status)
	}
	return nil
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/article"
	"github.com/feed-operator/feed-operator/internal/backoff"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/secrets"
)

// caller is a provider with what is known of it.
type caller struct {
	link provider.Link
	// unavailable is why it is not called; empty where it is.
	unavailable string
	// documents is set if it reads PDF documents as they are.
	documents bool
	// pace is the time between two calls at least, and next when the next one may be made.
	pace time.Duration
	next time.Time
}

// summarize has an article judged, where that is wanted, and summarized, by the chains of the operator.
func (p *Previewer) summarize(ctx context.Context, source *v1alpha1.FeedSource, item *v1alpha1.FeedItem, from article.Request,
	outcome *Outcome,
) error {
	for {
		request := derive.SummaryRequest(item, source, from, *outcome.Article)
		links, judging, err := p.chainOf(ctx, source, request.Screening != nil)
		if err != nil {
			return err
		}
		result, err := p.ask(ctx, item, provider.Chain{Links: links, Judging: judging}, request, outcome)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if verdict := result.Response.Verdict; result.Judge != "" && verdict != nil {
			outcome.Screening = &v1alpha1.Screening{
				Valuable: verdict.Valuable, Complete: verdict.Complete, Explanation: verdict.Explanation, Provider: result.Judge,
			}
			item.Status.Screening = outcome.Screening
		}
		var none *provider.ChainError
		switch {
		case errors.As(err, &none):
			outcome.Reason, outcome.Problem = v1alpha1.ReasonAPIFailed, ""
			return nil
		case errors.Is(err, provider.ErrNoneAvailable):
			outcome.Reason, outcome.Problem = v1alpha1.ReasonWaiting, p.whyNone(item.Namespace, links, request.Screening != nil)
			return nil
		case err != nil:
			return err
		case outcome.Screening != nil && !outcome.Screening.Valuable:
			outcome.Reason = v1alpha1.ReasonNotValuable
			return nil
		case outcome.Screening != nil && !outcome.Screening.Complete:
			outcome.Reason = v1alpha1.ReasonPageNotReady
			return nil
		case result.Provider == "": // judged, and to be summarized by others
			continue
		}
		outcome.Summary = &v1alpha1.Summary{
			Text: result.Response.Summary, Provider: result.Provider, Model: result.Response.Model, Tokens: result.Response.Tokens,
		}
		return nil
	}
}

// ask goes through a chain. What the operator does later, because it has others to work on, is waited for.
func (p *Previewer) ask(ctx context.Context, item *v1alpha1.FeedItem, chain provider.Chain, request provider.Request, outcome *Outcome,
) (provider.Result, error) {
	stage := v1alpha1.StageSummarize
	if request.Screening != nil {
		stage = v1alpha1.StageScreen
	}
	chain.Now, chain.Patience = p.Now, backoff.DefaultInPlace.MaxWait
	chain.Acquire = func(ctx context.Context, links []provider.Link) (provider.Call, error) {
		return p.acquire(ctx, item.Namespace, links)
	}
	chain.Repeat = func(failed *failure.Error, calls int, waited time.Duration) (time.Duration, bool) {
		return backoff.DefaultInPlace.Wait(stage, failed, calls, waited, item.Name)
	}
	var attempt provider.Attempt
	for {
		result, err := provider.Generate(ctx, chain, request, &attempt)
		if !errors.Is(err, provider.ErrWaits) {
			for _, failed := range attempt.Failures {
				outcome.Failed = append(outcome.Failed, fmt.Sprintf("%s (%s): %s", failed.Name, failed.Err.Category, failed.Err.Error()))
			}
			return result, err
		}
		if err := p.Sleep(ctx, attempt.NotBefore.Sub(p.Now())); err != nil {
			return result, err
		}
	}
}

// acquire waits for the pace of the first link that can be called. One that refuses its credentials or
// asks for a pause is not called again in this preview.
func (p *Previewer) acquire(ctx context.Context, namespace string, links []provider.Link) (provider.Call, error) {
	for _, link := range links {
		known := p.providers[client.ObjectKey{Namespace: namespace, Name: link.Name}]
		if known == nil { // the built-in one
			return provider.Call{Link: link, Done: func(provider.Response, error) {}}, nil
		}
		if known.unavailable != "" {
			continue
		}
		if err := p.Sleep(ctx, known.next.Sub(p.Now())); err != nil {
			return provider.Call{}, err
		}
		known.next = p.Now().Add(known.pace)
		return provider.Call{Link: link, Done: func(_ provider.Response, err error) {
			failed, ok := errors.AsType[*failure.Error](err)
			switch {
			case ok && failed.Category == v1alpha1.CategoryAuth:
				known.unavailable = "its credentials are refused"
			case ok && failed.Category == v1alpha1.CategoryRateLimit:
				known.unavailable = "it asked for a pause"
			}
		}}, nil
	}
	return provider.Call{}, provider.ErrNoneAvailable
}

// chainOf returns the providers that do what an item needs next, in order, as the operator does.
func (p *Previewer) chainOf(ctx context.Context, source *v1alpha1.FeedSource, screening bool) (links []provider.Link, judging bool, err error) {
	writers := []provider.Link{{Name: derive.BuiltinProvider, Provider: p.Builtin, Timeout: v1alpha1.DefaultProviderTimeout}}
	if len(source.Spec.Providers) > 0 {
		if writers, err = p.linksTo(ctx, source.Namespace, source.Spec.Providers); err != nil {
			return nil, false, err
		}
	}
	if !screening || len(source.Judges()) == 0 {
		return writers, false, nil
	}
	judges, err := p.linksTo(ctx, source.Namespace, source.Judges())
	first := ""
	for _, link := range writers {
		if known := p.providers[client.ObjectKey{Namespace: source.Namespace, Name: link.Name}]; known == nil || known.unavailable == "" {
			first = link.Name
			break
		}
	}
	for i := range judges { // R2.6: who comes first at both does both at once
		judges[i].VerdictOnly = judges[i].Name != first
	}
	return judges, true, err
}

func (p *Previewer) linksTo(ctx context.Context, namespace string, refs []v1alpha1.ProviderReference) ([]provider.Link, error) {
	links := make([]provider.Link, 0, len(refs))
	for _, ref := range refs {
		known, err := p.providerNamed(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name})
		if err != nil {
			return nil, err
		}
		links = append(links, known.link)
	}
	return links, nil
}

// providerNamed finds a provider, once.
func (p *Previewer) providerNamed(ctx context.Context, name client.ObjectKey) (*caller, error) {
	if known := p.providers[name]; known != nil {
		return known, nil
	}
	known := &caller{link: provider.Link{Name: name.Name}}
	var described v1alpha1.AIProvider
	err := p.Objects.Get(ctx, name, &described)
	known.documents = err == nil && described.ReadsDocuments() // also where it is not called, as in the operator
	switch {
	case apierrors.IsNotFound(err):
		known.unavailable = p.missing("AIProvider", name.Name)
	case err != nil:
		return nil, err
	case described.Spec.Suspend:
		known.unavailable = "it is suspended"
	default:
		known.link.Timeout, known.link.Screens = described.Timeout(), described.Screens()
		if perMinute := described.RequestsPerMinute(); perMinute > 0 {
			known.pace = time.Minute / time.Duration(perMinute)
		}
		var credentials secrets.Values
		if credentials, _, err = secrets.OfProvider(ctx, p.Objects, &described); err == nil {
			known.link.Provider, err = p.Providers(&described, credentials)
		}
		if err != nil {
			known.unavailable = strings.TrimRight(failure.Mask(err.Error()), ".")
		}
	}
	if p.providers == nil {
		p.providers = map[client.ObjectKey]*caller{}
	}
	p.providers[name] = known
	return known, nil
}

// readsDocuments reports whether any provider that an item is for next reads PDF documents that have no text.
func (p *Previewer) readsDocuments(ctx context.Context, source *v1alpha1.FeedSource, screening bool) (bool, error) {
	links, _, err := p.chainOf(ctx, source, screening)
	return slices.ContainsFunc(links, func(link provider.Link) bool {
		known := p.providers[client.ObjectKey{Namespace: source.Namespace, Name: link.Name}]
		return known != nil && known.documents
	}), err
}

// whyNone returns why none of the providers of a chain could be called.
func (p *Previewer) whyNone(namespace string, links []provider.Link, screening bool) string {
	var why []string
	for _, link := range links {
		switch known := p.providers[client.ObjectKey{Namespace: namespace, Name: link.Name}]; {
		case known != nil && known.unavailable != "":
			why = append(why, link.Name+": "+known.unavailable)
		case screening && !link.Screens:
			why = append(why, link.Name+": it cannot judge")
		}
	}
	return strings.Join(why, "; ")
}

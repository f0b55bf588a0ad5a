package webhook

import (
	"encoding/json"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/destination"
)

type stub struct{}

func (stub) Compose(m destination.Material, _ destination.Limits) (destination.Post, error) {
	b, err := json.Marshal(m)
	return destination.Post{Text: string(b), Link: m.URL}, err
}

func (stub) ComposeNotice(n destination.Notice, _ destination.Limits) (destination.Post, error) {
	b, err := json.Marshal(n)
	return destination.Post{Text: string(b), Link: n.URL}, err
}

func NewWriter(v1alpha1.WebhookFormat, string) (destination.Writer, error) { return stub{}, nil }

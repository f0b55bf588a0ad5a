// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/feedtest"
	"github.com/feed-operator/feed-operator/internal/webhooktest"
)

const hookSecret = "PREVIEW-webhook-path-0123456789"

// hooks are FeedDestinations: a chat, whose URL is in a Secret, a program that takes batches, one with a body of its own, one without its
// Secret, and one whose expression is wrong.
func hooks(server *webhooktest.Server) string {
	return `apiVersion: feeds.feed-operator.io/v1alpha1
kind: FeedDestination
metadata: {name: chat}
spec: {webhook: {urlFrom: {}, secretRef: {name: chat}, format: Slack}}
---
apiVersion: v1
kind: Secret
metadata: {name: chat}
stringData: {url: "` + server.URL + "/" + hookSecret + `"}
---
apiVersion: feeds.feed-operator.io/v1alpha1
kind: FeedDestination
metadata: {name: ops}
spec: {webhook: {url: "` + server.URL + `/ops", batch: {maxItems: 20, maxWait: 10s}}}
---
apiVersion: feeds.feed-operator.io/v1alpha1
kind: FeedDestination
metadata: {name: mine}
spec: {webhook: {url: "` + server.URL + `/mine", body: '{"text": title}', batch: {}}}
---
apiVersion: feeds.feed-operator.io/v1alpha1
kind: FeedDestination
metadata: {name: keyless}
spec: {webhook: {urlFrom: {}, secretRef: {name: none}, format: Discord}}
---
apiVersion: feeds.feed-operator.io/v1alpha1
kind: FeedDestination
metadata: {name: wrong}
spec: {webhook: {url: "` + server.URL + `/wrong", body: titel}}
---
`
}

// R6.5: the body of a webhook is shown as it would be sent, and nothing is sent.
func TestBodiesOfWebhooksArePreviewed(t *testing.T) {
	t.Parallel()
	server := webhooktest.New(webhooktest.Options{})
	t.Cleanup(server.Close)
	web := feedtest.New(t)
	web.List(web.Entries("news", 1)...)
	said, err := show(t, newPreviewer(t, hooks(server)+source(web, "destinations: [{name: chat}, {name: ops}, {name: mine}, {name: keyless}, {name: wrong}]")))
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, said, "chat: the format Slack, in a request of its own\n", "ops: the format JSON, in a batch of up to 20, which waits 10s at most\n",
		"mine: spec.webhook.body, in a batch of up to 100, which waits 30s at most\n",
		`keyless: the format Discord, in a request of its own`+"\n"+`             (it could not be sent: Secret "none" does not exist`, "wrong: none. ")
	mustContain(t, strings.Join(strings.Fields(said), " "), "so it will be another one")
	if strings.Contains(said, " characters ·") || strings.Contains(said, "of 500") || strings.Contains(said, hookSecret) {
		t.Errorf("of a body it says:\n%s", said)
	}
	var bodies []map[string]any
	for line := range strings.Lines(said) {
		if body := map[string]any{}; strings.HasPrefix(line, "{") {
			if err := json.Unmarshal([]byte(line), &body); err != nil {
				t.Errorf("%v in %s", err, line)
			}
			bodies = append(bodies, body)
		}
	}
	if len(bodies) != 4 || bodies[0]["blocks"] == nil || bodies[1]["title"] != "News about news-1" || bodies[1]["url"] != web.ArticleURL("news-1") ||
		bodies[2]["text"] != "News about news-1" || bodies[2]["idempotencyKey"] == nil || bodies[3]["embeds"] == nil {
		t.Errorf("bodies %v", bodies)
	}
	if n := server.Requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

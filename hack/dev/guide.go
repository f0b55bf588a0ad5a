// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// guide returns how to look at what is running.
func (w *world) guide(sources []client.ObjectKey) string {
	first := sources[0]
	posts := fmt.Sprintf("\nHow it all goes, in a browser: %s", w.page)
	if w.standIn != nil {
		posts += fmt.Sprintf("\nWhat was posted, in a browser: %s/", w.standIn.URL)
	}
	posts += fmt.Sprintf("\nWhat was sent to webhooks, in a browser: %s/\n", w.chat.URL)
	return fmt.Sprintf(`
The first items are done; new entries appear every %s.
%s
In another terminal:

  export KUBECONFIG=%s
  alias kubectl=%s

  kubectl get feedsources,feeditems,aiproviders,feeddestinations   # add -o wide for more, -w to watch
  kubectl get aiproviders -o wide                    # who may be called, who not until when, and why
  kubectl get feeditems -o wide                      # who wrote each summary, the post, the last error
  kubectl describe feeditem NAME                     # the summary, where it was posted, what happened so far
  kubectl annotate feeditem NAME feeds.feed-operator.io/retry=$(date +%%s) --overwrite
  kubectl annotate feedsource %s -n %s feeds.feed-operator.io/poll=$(date +%%s) --overwrite

  curl %s/feeds/%s/%s.atom   # or .json: for any feed reader

The logs are in %s. Stop with Ctrl-C.
`, newEntryEvery, posts, w.cluster.Kubeconfig(), w.binaries.Kubectl(), first.Name, first.Namespace,
		w.serves, first.Namespace, first.Name, filepath.Join(w.options.dir, "*.log"))
}

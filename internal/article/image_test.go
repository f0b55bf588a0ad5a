// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// R4.1: the image that a page names as its own, in its head, within the bounds of an item.
func TestImageOf(t *testing.T) {
	t.Parallel()
	image := func(url, description string) *v1alpha1.EntryImage {
		return &v1alpha1.EntryImage{URL: url, Description: description}
	}
	for name, test := range map[string]struct {
		head string
		want *v1alpha1.EntryImage
	}{
		"with a text":         {`<meta property="og:image" content="https://a.example/1.png"><meta property="og:image:alt" content="A &amp; B">`, image("https://a.example/1.png", "A & B")},
		"by name":             {`<META content=' https://a.example/1.png ' NAME="OG:image"/>`, image("https://a.example/1.png", "")},
		"relative":            {`<meta property="og:image" content="/1.png">`, image("https://news.example/1.png", "")},
		"with credentials":    {`<meta property="og:image" content="https://me:secret@a.example/1.png#x">`, image("https://a.example/1.png", "")},
		"the first":           {`<meta property="og:image" content="/1.png"><meta property="og:image" content="/2.png">`, image("https://news.example/1.png", "")},
		"for Twitter":         {`<meta name="twitter:image" content="/1.png"><meta name="twitter:image:alt" content="A dog">`, image("https://news.example/1.png", "A dog")},
		"its size alone":      {`<meta property="og:image:width" content="1200">`, nil},
		"a script":            {`<meta property="og:image" content="javascript:alert(1)">`, nil},
		"data":                {`<meta property="og:image" content="data:image/png;base64,AA">`, nil},
		"empty":               {`<meta property="og:image" content=" ">`, nil},
		"too long an address": {`<meta property="og:image" content="/` + strings.Repeat("a", 4096) + `">`, nil},
		"in a comment":        {`<!-- <meta property="og:image" content="/1.png"> -->`, nil},
		"in the text":         {`</head><body><meta property="og:image" content="/1.png">`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, imageOf("<!doctype html><html><head>"+test.head+"</head>", "https://news.example/2026/05/one?token=1")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

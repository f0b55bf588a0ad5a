// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"strings"
	"testing"
)

// R1.6: links are made absolute, and only those of the web are kept.
func TestLinks(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ link, want string }{
		"absolute":            {"https://a.example/x?y=1#z", "https://a.example/x?y=1#z"},
		"relative":            {"x", "https://feeds.example/dir/x"},
		"from the root":       {"/x", "https://feeds.example/x"},
		"of the same scheme":  {"//a.example/x", "https://a.example/x"},
		"white space":         {" \nhttps://a.example/a\nb ", "https://a.example/ab"},
		"a space":             {"https://a.example/a b?c d", "https://a.example/a%20b?c%20d"},
		"letters":             {"https://a.example/日本?q=日", "https://a.example/%E6%97%A5%E6%9C%AC?q=%E6%97%A5"},
		"percent signs":       {"https://a.example/100%/%zz%4", "https://a.example/100%25/%25zz%254"},
		"scheme in capitals":  {"HTTP://a.example/", "http://a.example/"},
		"user info":           {"https://u:p@a.example/", "https://a.example/"},
		"nothing":             {" ", ""},
		"mail":                {"mailto:a@b.example", ""},
		"data":                {"data:text/plain,x", ""},
		"a file":              {"file:///etc/passwd", ""},
		"no host":             {"https:///x", ""},
		"no slashes":          {"http:x", ""},
		"a port that is none": {"http://a.example:x/", ""},
		"at the bound":        {"https://a.example/" + strings.Repeat("a", 4096-18), "https://a.example/" + strings.Repeat("a", 4096-18)},
		"above the bound":     {"https://a.example/" + strings.Repeat("a", 4096-17), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := newResolver(base).resolve(test.link); got != test.want {
				t.Errorf("%q became %q, want %q", test.link, got, test.want)
			}
		})
	}
	if got := newResolver("").resolve("/x"); got != "" {
		t.Errorf("a relative link without a base became %q", got)
	}
}

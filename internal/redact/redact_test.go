// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/feed-operator/feed-operator/internal/redact"
)

// R5.6
func TestShapesOfSecretsAreHidden(t *testing.T) {
	t.Parallel()
	const tail = "Qm9vTm90QVNlY3JldDEyMzQ1Njc4OTBhYmNk"
	for what, text := range map[string]string{
		"Google":                      "key AIza" + tail,
		"Google, OAuth":               "ya29.a0" + tail,
		"OpenAI":                      "sk-proj-" + tail,
		"Anthropic":                   "sk-ant-api03-" + tail,
		"GitHub":                      "cloned with ghp_" + tail,
		"GitHub, of old, in a URL":    "next%3Dgho_" + tail,
		"GitHub, fine-grained":        "github_pat_11" + tail,
		"GitLab":                      "glpat-" + tail,
		"Slack":                       "xoxb-123-" + tail,
		"Standard Webhooks":           "whsec_" + tail,
		"Hugging Face":                "hf_" + tail,
		"AWS":                         "AKIAQM9VTM90QVNLQm is none, AKIA" + "QM9VTM90QVNLY3JL",
		"a JSON Web Token":            "eyJhbGciOiJSUzI1NiJ9." + tail + "." + tail,
		"a private key":               "-----BEGIN RSA PRIVATE KEY-----\nMII" + tail + "\n" + tail + "\n-----END RSA PRIVATE KEY-----",
		"a private key that is cut":   "-----BEGIN PRIVATE KEY-----\nMII" + tail,
		"a private key in JSON":       `{"k":"-----BEGIN EC PRIVATE KEY-----\nMII` + tail + `\n-----END EC PRIVATE KEY-----\n"}`,
		"a signature":                 "POST /hook?x=1&signature=" + tail,
		"a short name for it":         "/feed?sig=" + tail,
		"a passphrase":                "passphrase: " + tail,
		"a name in front of a name":   "key: token: " + tail,
		"a word that is no key first": "The key: patience, and token: " + tail,
		"Basic":                       "Basic " + tail,
		"Proxy-Authorization":         "Proxy-Authorization: Basic " + tail,
		"a password of letters":       "password=QmQmQmQmQmQm",
		"two in a row":                "token=" + tail + " token=" + tail,
		"the URL of a webhook":        "https://user:" + tail + "@example.org/x",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			got := redact.Text(text)
			if strings.Contains(got, tail) || strings.Contains(got, "QM9VTM90QVNLY3JL") || strings.Contains(got, "QmQm") {
				t.Errorf("%q is shown as %q", text, got)
			}
		})
	}
}

func TestSentencesAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"The key: patience. A secret: there is none.",
		"Basic understanding of bearer bonds is required.",
		"The token= sign stands before it; a token ring; a basic income; the bearer of news.",
		"Key: value pairs are old. Signature: required.",
		"Ski-resorts, sk-novinky-zo-sveta, xoxo, whsec, ghosts and AIza.",
		"The server answered 401 Unauthorized: the key is not accepted. Correct the Secret.",
		`Reads "News" (RSS 2.0) every 15m. The feed has moved permanently: set spec.url to https://example.org/feed`,
		"日本語のキー: 鍵は大切です。トークン=硬貨",
	} {
		if got := redact.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// Of the sentences of articles and of this project's own documentation, which is full of keys, tokens
// and secrets, hardly any is changed.
func TestArticlesAreLeftAlone(t *testing.T) {
	t.Parallel()
	articles, _ := filepath.Glob("../article/testdata/*.txt")
	pages, _ := filepath.Glob("../../docs/*.md")
	if len(articles) == 0 || len(pages) == 0 {
		t.Fatal("there are no texts")
	}
	lines, changed := 0, 0
	for _, file := range append(articles, pages...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "://") {
				continue // queries are dropped by intent
			}
			lines++
			if redact.Text(line) != line {
				changed++
				t.Logf("%s became %s", line, redact.Text(line))
			}
		}
	}
	if lines == 0 || changed*100 > lines {
		t.Errorf("%d of %d lines are changed", changed, lines)
	}
}

func TestTextIsIdempotent(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{
		"key", "token", "secret", "password", "authorization", "Bearer", "basic", ":", "=", " ", `"`, "'", "?", "&", "@", "\\", "\n", "/", "://",
		"https://", "abcd1234", "AIzaSyabcdefghijklmnopqrstuvwxyz012345", "eyJhbGciOiJSUzI1NiJ9", ".", "-----BEGIN PRIVATE KEY-----",
		"sk-", "whsec_", "é", "密", "\xff", redact.Masked, "…", ";", "api", "_",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(words, rapid.String()), 0, 30).Draw(t, "words"), "")
		masked := redact.Text(text)
		if again := redact.Text(masked); again != masked {
			t.Fatalf("%q became %q, and then %q", text, masked, again)
		}
		if utf8.ValidString(text) && !utf8.ValidString(masked) {
			t.Fatalf("%q became %q, which is no text", text, masked)
		}
	})
}

// A secret that was remembered is hidden in the log, whatever stands around it.
//
// R5.6
func FuzzLog(f *testing.F) {
	const secret = "q7Rt-fuzz-0123456789_Zx"
	redact.Remember("ns", secret)
	for _, text := range []string{"", "token=", `{"Authorization":"Bearer `, "https://user:", "https://example.org/?a=", "\xff\xfe", "-----BEGIN PRIVATE KEY-----"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		masked := redact.Log(before + secret + after)
		if strings.Contains(masked, secret) && !strings.Contains(before+redact.Masked+after, secret) {
			t.Errorf("%q is shown as %q", before+secret+after, masked)
		}
		if again := redact.Log(masked); again != masked {
			t.Errorf("%q became %q", masked, again)
		}
	})
}

// R5.7: what a tenant can see does not depend on what the process knows.
func TestTextsForTenantsDoNotChangeByWhatIsKnown(t *testing.T) {
	t.Parallel()
	const text = "The key is plain-words-of-a-tenant, see https://example.org/plain-words-of-a-tenant"
	before := redact.Text(text)
	redact.Remember("another", "plain-words-of-a-tenant")
	if got := redact.Text(text); got != before {
		t.Errorf("%q became %q", before, got)
	}
	if got := redact.Log(text); strings.Contains(got, "plain-words") {
		t.Errorf("the log shows %q", got)
	}
}

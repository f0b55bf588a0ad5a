// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crowds

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/hack/bench/figure"
	"github.com/feed-operator/feed-operator/hack/bench/news"
	"github.com/feed-operator/feed-operator/hack/bench/rig"
	"github.com/feed-operator/feed-operator/internal/feed"
	"github.com/feed-operator/feed-operator/internal/pdftext"
)

// bombPatience is how long the operator may take to be done with all bombs.
const bombPatience = 15 * time.Minute

// bomb is an answer made to hurt.
type bomb struct {
	contentType, encoding string
	body                  []byte
}

// Bombs sends to the operator, at once, all that is made to fill the memory of who reads it.
func Bombs(ctx context.Context, p *rig.Plane, s rig.Scale) ([]figure.Row, error) {
	each, namespaces := s.Of(4, 1), make([]string, 4)
	site, err := serveBombs(ctx)
	if err != nil {
		return nil, err
	}
	defer site.close()
	rig.Progress("Creating sources of %d sorts of bombs, %d of each in %d namespaces …", len(site.feeds)+len(site.pages), each, len(namespaces))
	sources := 0
	for i := range namespaces {
		if namespaces[i], err = p.Namespace(ctx); err != nil {
			return nil, err
		}
		if sources, err = site.createSources(ctx, p, namespaces[i], each); err != nil {
			return nil, err
		}
	}
	var more []string
	for _, namespace := range namespaces[1:] {
		more = append(more, "--namespace="+namespace)
	}
	manager, err := rig.StartManager(ctx, p, namespaces[0], more...)
	if err != nil {
		return nil, err
	}
	defer manager.Stop(ctx)
	began := time.Now()
	for _, namespace := range namespaces {
		if err := untilDefused(ctx, p, manager, namespace, sources, each*len(site.pages)); err != nil {
			return nil, manager.Explain(err)
		}
	}
	took := time.Since(began)
	memory, err := manager.Memory()
	if err != nil {
		return nil, err
	}
	reader, err := manager.ReaderMemory()
	if err != nil {
		return nil, err
	}
	peak, ofReader := figure.Megabytes(memory.Peak), figure.Megabytes(reader.Peak)
	return []figure.Row{
		figure.AtMost("resident memory while all bombs come at once, at the most", fmt.Sprintf("%.0f MB", peak), peak, 400, " MB"),
		figure.AtMost("memory of the process that reads PDF documents, at the most", fmt.Sprintf("%.0f MB", ofReader), ofReader,
			figure.Megabytes(pdftext.Memory), " MB"),
		figure.Note("bombs that were sent", "%d feeds and %d pages of %d sorts, in %s", len(namespaces)*each*len(site.feeds), len(namespaces)*each*len(site.pages),
			len(site.feeds)+len(site.pages), took.Round(time.Second)),
	}, nil
}

// untilDefused waits until the operator has looked at each feed and at each page of a namespace once.
func untilDefused(ctx context.Context, p *rig.Plane, manager *rig.Manager, namespace string, sources, pages int) error {
	var left string
	err := wait.PollUntilContextTimeout(ctx, time.Second, bombPatience, true, func(ctx context.Context) (bool, error) {
		if err := manager.Err(); err != nil {
			return false, err
		}
		var polled v1alpha1.FeedSourceList
		var items v1alpha1.FeedItemList
		if err := errors.Join(p.Client.List(ctx, &polled, client.InNamespace(namespace)), p.Client.List(ctx, &items, client.InNamespace(namespace))); err != nil {
			return false, nil //nolint:nilerr // the API server may have too much to do for a moment
		}
		untouched := pages - len(items.Items)
		for i := range items.Items {
			if phase := items.Items[i].Status.Phase; phase == "" || phase == v1alpha1.PhaseUnprocessed {
				untouched++
			}
		}
		unread := sources
		for i := range polled.Items {
			if polled.Items[i].Status.LastPollTime != nil {
				unread--
			}
		}
		left = fmt.Sprintf("%d feeds and %d pages", unread, untouched)
		return unread <= 0 && untouched <= 0, nil
	})
	if err != nil {
		return fmt.Errorf("%s were not looked at: %w", left, err)
	}
	return nil
}

// bombSite is a server that stands for many: each bomb comes from an address of its own.
type bombSite struct {
	server *http.Server
	port   uint16

	feeds, pages map[string]bomb

	mu   sync.Mutex
	next uint32 // host
}

func serveBombs(ctx context.Context) (_ *bombSite, err error) {
	s := &bombSite{feeds: feedBombs(), pages: pageBombs()}
	s.server, s.port, err = rig.ServeAsMany(ctx, http.HandlerFunc(s.serve))
	return s, err
}

func (s *bombSite) close() { _ = s.server.Close() }

// url is where a path is, on a host that nothing else is on.
func (s *bombSite) url(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	host := netip.AddrFrom4([4]byte{127, 2, byte(s.next >> 8 & 0xff), byte(s.next & 0xff)})
	return fmt.Sprintf("http://%s/%s", netip.AddrPortFrom(host, s.port), path)
}

// createSources creates so many sources for each bomb that is a feed, and one whose entries lead to as many of each
// that is a page. It returns how many sources there are.
func (s *bombSite) createSources(ctx context.Context, p *rig.Plane, namespace string, each int) (count int, _ error) {
	for _, sort := range slices.Sorted(maps.Keys(s.feeds)) {
		for range each {
			count++
			source := news.Source(namespace, "feed-"+strconv.Itoa(count), s.url("feeds/"+sort), func(source *v1alpha1.FeedSource) {
				source.Spec.InitialItems = new(int32(v1alpha1.DefaultInitialItems)) // it is the reading that counts
			})
			if err := p.Client.Create(ctx, source); err != nil {
				return 0, fmt.Errorf("create a FeedSource: %w", err)
			}
		}
	}
	count++
	source := news.Source(namespace, "pages", s.url("links/"+strconv.Itoa(each)), func(source *v1alpha1.FeedSource) {
		source.Spec.Article = &v1alpha1.ArticlePolicy{Source: v1alpha1.ArticleSourcePage, MaxBytes: new(int64(v1alpha1.MaxArticleBytes))}
	})
	return count, p.Client.Create(ctx, source)
}

func (s *bombSite) serve(w http.ResponseWriter, r *http.Request) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	sent := s.feeds[name]
	switch kind {
	case "links":
		each, err := strconv.Atoi(name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(news.RSS(s.links(each)))
		return
	case "pages":
		sent = s.pages[name]
	}
	w.Header().Set("Content-Type", sent.contentType)
	if sent.encoding != "" {
		w.Header().Set("Content-Encoding", sent.encoding)
	}
	_, _ = w.Write(sent.body)
}

// links are entries that lead to so many of each page, one after the other.
func (s *bombSite) links(each int) (entries []feed.Entry) {
	for i := range each {
		for _, sort := range slices.Sorted(maps.Keys(s.pages)) {
			entries = append(entries, feed.Entry{
				GUID: fmt.Sprintf("%s-%d", sort, i), URL: s.url("pages/" + sort), Title: fmt.Sprintf("A page that is %s, no. %d", sort, i),
				Published: news.Newest.Add(-time.Duration(len(entries)) * time.Minute),
			})
		}
	}
	return entries
}

// bombSentence is one of which an article could consist.
const bombSentence = "This is a sentence, with commas, that goes on for a while. "

// justBelow is how large a document is that is not refused for its size, in bytes.
const justBelow = 10<<20 - 1<<10

// full repeats a text until it is as large as it may be, with something before and after it.
func full(before, again, after string) string {
	return before + strings.Repeat(again, (justBelow-len(before)-len(after))/len(again)) + after
}

// feedBombs are feeds that become much more than they are, or that take much to read.
func feedBombs() map[string]bomb {
	const rss, end = `<?xml version="1.0"?><rss version="2.0"><channel><title>Bomb</title>`, "</channel></rss>"
	var items strings.Builder
	items.WriteString(rss)
	for i := 0; items.Len() < justBelow-2<<10; i++ {
		fmt.Fprintf(&items, "<item><guid>bomb-%d</guid><title>Entry %d</title><description>%s</description></item>", i, i, strings.Repeat(bombSentence, 20))
	}
	items.WriteString(end)
	const json, closed = `{"version":"https://jsonfeed.org/version/1.1","title":"Bomb","items":[{"id":"1","title":"x",`, `]}]}`
	const xml, jsonFeed = "application/rss+xml", "application/feed+json"
	return map[string]bomb{
		"gzip":             {xml, "gzip", gzipOf(bytes.NewReader(make([]byte, 256<<20)))},
		"gzip-full":        {xml, "gzip", gzipOf(strings.NewReader(items.String()))},
		"brotli":           {xml, "br", brotliOf(items.String())},
		"xml-large":        {xml, "", []byte(items.String())},
		"xml-deep":         {xml, "gzip", gzipOf(strings.NewReader(full(rss, "<a>", "")))},
		"xml-tags":         {xml, "gzip", gzipOf(strings.NewReader(full(rss+"<item><title>x</title>", "<a/>", "</item>"+end)))},
		"xml-categories":   {xml, "gzip", gzipOf(strings.NewReader(full(rss+"<item><title>x</title>", "<category>a</category>", "</item>"+end)))},
		"xml-latin":        {xml, "gzip", gzipOf(strings.NewReader(full(rss+"<item><title>x</title><description>", "caf\xe9 ", "</description></item>"+end)))},
		"json-text":        {jsonFeed, "gzip", gzipOf(strings.NewReader(full(json+`"content_text":"`, bombSentence, `","tags":[`+closed)))},
		"json-attachments": {jsonFeed, "gzip", gzipOf(strings.NewReader(full(json+`"attachments":[`, "{},", "{}"+closed)))},
		"json-authors":     {jsonFeed, "gzip", gzipOf(strings.NewReader(full(json+`"authors":[`, "{},", "{}"+closed)))},
	}
}

// pageBombs are pages and documents that do.
func pageBombs() map[string]bomb {
	const html = "text/html; charset=utf-8"
	page := func(before, again string) bomb {
		return bomb{html, "gzip", gzipOf(strings.NewReader(full(before, again, "")))}
	}
	return map[string]bomb{
		"gzip":       {html, "gzip", gzipOf(bytes.NewReader(make([]byte, 256<<20)))},
		"brotli":     {html, "br", brotliOf(full("", "<p>"+bombSentence+"</p>", ""))},
		"large":      {html, "", []byte(full("", "<p>"+bombSentence+bombSentence+"</p>", ""))},
		"tags":       page("", "<p>x"),
		"attributes": page("", "<p a b c d e f g h i>x"),
		"deep":       page("", "<div>"),
		"tables":     page("", "<table><tr><td>x"),
		"formatting": page("<p>"+strings.Repeat("<b id=1><i id=2>", 200)+"</p>", "<p>x"),
		"ancestors":  page(strings.Repeat("<div>", 100), bombSentence),
		"script":     page("<p>"+bombSentence+"</p><script>", "x"),
		"binary":     {"text/html", "gzip", gzipOf(strings.NewReader(full("<p>", "\xe9\x81\xff", "")))},
		"text":       {"text/plain; charset=utf-8", "gzip", gzipOf(strings.NewReader(full("", bombSentence+"\n", "")))},
		"text-words": {"text/plain", "gzip", gzipOf(strings.NewReader(full("", "x ", "")))},
		"pdf-arrays": {"application/pdf", "gzip", gzipOf(bytes.NewReader(pdfBomb(strings.Repeat("[", 4<<20))))},
		"pdf-stream": {"application/pdf", "", pdfBomb("BT /F 1 Tf (" + strings.Repeat("a", 60<<20) + ") Tj")},
		"pdf-dicts":  {"application/pdf", "gzip", gzipOf(bytes.NewReader(pdfBomb("x", strings.Repeat("<</A<<>>", 1<<20))))},
	}
}

// pdfBomb is a document of one page with that content, compressed, and with more objects.
func pdfBomb(content string, more ...string) []byte {
	var packed bytes.Buffer
	writer := zlib.NewWriter(&packed)
	_, _ = io.WriteString(writer, content)
	_ = writer.Close()
	return []byte("%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj " +
		"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj 5 0 obj<</Type/Font/Subtype/Type1>>endobj\n" +
		fmt.Sprintf("4 0 obj<</Filter/FlateDecode/Length %d>>stream\n", packed.Len()) + packed.String() + "\nendstream endobj\n" +
		strings.Join(more, "\n") + "\ntrailer<</Root 1 0 R>>\n%%EOF\n")
}

func gzipOf(body io.Reader) []byte {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = io.Copy(writer, body)
	_ = writer.Close()
	return packed.Bytes()
}

// brotliOf asks for the largest window that there is: the decoder takes as much.
func brotliOf(body string) []byte {
	var packed bytes.Buffer
	writer := brotli.NewWriterOptions(&packed, brotli.WriterOptions{Quality: 5, LGWin: 24})
	_, _ = io.WriteString(writer, body)
	_ = writer.Close()
	return packed.Bytes()
}

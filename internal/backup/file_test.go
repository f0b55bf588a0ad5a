// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// small is a backup with one object of each kind.
func small() *Backup {
	named := metav1.ObjectMeta{Namespace: "press", Name: "news", UID: "1"}
	return &Backup{
		Header:       Header{Format: format, Version: formatVersion, ID: "id", Namespace: "press", Time: rounded(time.Unix(1_800_000_000, 0))},
		Providers:    []v1alpha1.AIProvider{{ObjectMeta: named}},
		Destinations: []v1alpha1.FeedDestination{{ObjectMeta: named}},
		Sources:      []v1alpha1.FeedSource{{ObjectMeta: named, Spec: v1alpha1.FeedSourceSpec{URL: "https://example.org/<feed>"}}},
		Memories:     []v1alpha1.FeedMemory{{ObjectMeta: named, Data: v1alpha1.FeedMemoryData{URLHash: "hash"}}},
		Items:        []v1alpha1.FeedItem{{ObjectMeta: named, Spec: v1alpha1.FeedItemSpec{Title: "It\u2028rains\n"}}},
	}
}

func written(t *testing.T, b *Backup) string {
	t.Helper()
	var file bytes.Buffer
	if err := b.Write(&file); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// R6.2: what is read is what was written.
func TestABackupIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	read, err := Read(strings.NewReader(written(t, small())))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(small(), read); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

// R6.2: a file that is not a whole backup as it was made is refused, and the error says why.
func TestAFileThatIsNoWholeBackupIsRefused(t *testing.T) {
	t.Parallel()
	whole := written(t, small())
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	for name, test := range map[string]struct{ file, says string }{
		"nothing":                     {"", "it is empty"},
		"another file":                {"apiVersion: v1\nkind: List\n", "not a backup"},
		"other JSON":                  {"{}\n", "not a backup"},
		"one without its end":         {strings.Join(lines[:len(lines)-1], ""), "it was cut"},
		"one cut within a line":       {whole[:len(whole)/2], "line"},
		"one without a line":          {strings.Join(append(append([]string{}, lines[:2]...), lines[3:]...), ""), "edited"},
		"one with a line twice":       {strings.Join(append(append([]string{}, lines[:2]...), lines[1:]...), ""), "edited"},
		"one with another value":      {strings.Replace(whole, "example.org", "example.com", 1), "edited"},
		"one that is called final":    {strings.Replace(whole, `"final":false`, `"final":true`, 1), "edited"},
		"one with a field of a newer": {strings.Replace(whole, `"urlHash"`, `"newHash"`, 1), "newer version"},
		"one with a kind of a newer":  {strings.Replace(whole, `"feedMemory"`, `"feedMood"`, 1), "newer version"},
		"one of a newer format":       {strings.Replace(whole, `"version":1`, `"version":2`, 1), "version 2"},
		"one with something after it": {whole + whole, "one backup at a time"},
		"one with an empty object":    {strings.Replace(whole, lines[1], "{}\n", 1), "edited"},
		"one with its name taken out": {strings.Replace(whole, `"id":"id"`, `"id":""`, 1), "edited"},
		"a compressed one":            {compressed(t, whole), "not a backup"},
		"a long file without lines":   {strings.Repeat("x", longestLine+1), "not a backup"},
		"one of a newer with the same version": {
			strings.Replace(whole, `"final":false`, `"final":false,"complete":false`, 1), "newer version",
		},
		"one of a newer whose objects say more": {sealed(t, strings.Replace(whole, `"title":`, `"mood":"fair","title":`, 1)), "newer version"},
		"one with two objects in a line": {
			sealed(t, strings.Replace(whole, `{"feedMemory":`, `{"feedSource":{"metadata":{"name":"second"}},"feedMemory":`, 1)), "several objects",
		},
		"one with an object after an object": {sealed(t, strings.Replace(whole, "}\n{\"feedMemory\"", "} {}\n{\"feedMemory\"", 1)), "something after its object"},
		"one with an object beside its end":  {strings.Replace(whole, `{"end":`, `{"feedSource":{"metadata":{"name":"second"}},"end":`, 1), "several objects"},
		"one with an object twice":           {sealed(t, strings.Replace(whole, lines[3], lines[3]+lines[3], 1)), "FeedSource news is in it already"},
		"one with an end that is wrong":      {strings.Replace(whole, `"objects":5`, `"objects":4`, 1), "edited"},
	} {
		if _, err := Read(strings.NewReader(test.file)); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// sealed is a file with an end that is right for what it holds: as another program would have written it.
func sealed(t *testing.T, file string) string {
	t.Helper()
	lines := strings.SplitAfter(strings.TrimSuffix(file, "\n"), "\n")
	before := strings.Join(lines[:len(lines)-1], "")
	sum := sha256.Sum256([]byte(before))
	text, err := json.Marshal(line{End: &end{Objects: len(lines) - 2, SHA256: hex.EncodeToString(sum[:])}})
	if err != nil {
		t.Fatal(err)
	}
	return before + string(text) + "\n"
}

func compressed(t *testing.T, file string) string {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write([]byte(file)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

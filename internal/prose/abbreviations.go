// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// particles follow quoted speech within a sentence: 「…。」と述べた。
var particles = []string{"と", "など", "という", "は", "が", "を", "に", "で", "の", "も", "へ", "や"}

// notParticles are words that begin sentences, and begin like a particle.
var notParticles = []string{
	"ところが", "ところで", "とはいえ", "ともあれ", "ともかく", "とりわけ", "とりあえず", "とくに", "とても", "とうとう", "はじめ", "はい、", "はやくも", "はっきり", "はたして",
	"がん", "にもかかわらず", "にぎわ", "にわか", "では、", "でも、", "できれば", "のちに", "もっと", "もっとも", "もし", "もちろん", "もともと", "もう", "もはや", "やがて", "やはり", "やっと",
}

func beginsWithParticle(text string) bool {
	if slices.ContainsFunc(notParticles, func(word string) bool { return strings.HasPrefix(text, word) }) {
		return false
	}
	return slices.ContainsFunc(particles, func(word string) bool { return strings.HasPrefix(text, word) })
}

// goesOn reports whether next belongs to the sentence of text, though a border was found between.
func goesOn(text, next, language string) bool {
	text, next = strings.TrimSpace(text), strings.TrimSpace(next)
	if text == "" || next == "" {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(text)
	first, _ := utf8.DecodeRuneInString(next)
	if strings.ContainsRune("」』）", last) {
		return beginsWithParticle(next)
	}
	if unicode.IsLower(first) && !IsWide(last) { // a 'wow!' effect
		return true
	}
	if last != '.' && last != '．' {
		return false
	}
	return endsInAbbreviation(text, first, next, language)
}

// Abbreviations, by what must follow for the sentence to go on.
var (
	beforeAnything = set("mr mrs ms mx dr prof st gen col sgt lt capt sen rep gov rev hon mt vs e.g i.e cf approx dept univ")
	beforeNumbers  = set("jan feb mar apr jun jul aug sep sept oct nov dec no nos nr p pp sec art vol ch fig figs eq ver para")
	// Those that end a sentence as often as not; then the next one begins with a word like "The".
	beforeNames = set("inc corp ltd co llc plc bros jr sr u.s u.k u.n e.u d.c a.m p.m etc al ph.d")
)

func endsInAbbreviation(text string, first rune, next, language string) bool {
	text = strings.TrimRight(text, ".．")
	begin := strings.LastIndexFunc(text, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.'
	})
	word := text
	if begin >= 0 {
		_, size := utf8.DecodeRuneInString(text[begin:])
		word = text[begin+size:]
	}
	word = strings.ToLower(word)
	nextWord := strings.ToLower(strings.TrimRightFunc(strings.SplitN(next, " ", 2)[0], unicode.IsPunct))
	switch {
	case strings.TrimFunc(text, unicode.IsNumber) == "": // "１．" before its heading
		return true
	case beforeAnything[word]:
		return true
	case beforeNumbers[word]:
		return unicode.IsNumber(first)
	case beforeNames[word], len(word) == 1 && unicode.IsLetter(rune(word[0])):
		return !IsStopWord(nextWord, "en")
	case language == "de" && word != "" && len(word) <= 2 && strings.Trim(word, "0123456789") == "": // "am 5. Januar"
		return unicode.IsLetter(first)
	}
	return false
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package charset

import (
	"math"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// guesses are the character sets that a document may be in without saying so, the most frequent first.
var guesses = []encoding.Encoding{
	charmap.Windows1252, charmap.Windows1251, japanese.ShiftJIS, simplifiedchinese.GB18030, korean.EUCKR, japanese.EUCJP, traditionalchinese.Big5,
	charmap.Windows1250, charmap.ISO8859_2, charmap.Windows1254, charmap.KOI8U, charmap.Windows1253, charmap.ISO8859_7, charmap.Windows1255,
	charmap.Windows1256, charmap.Windows874, charmap.Windows1257, charmap.ISO8859_5, charmap.ISO8859_6, charmap.CodePage866,
}

const (
	// maxSample is how much of a document is looked at closely, in bytes, and without most of what is ASCII.
	maxSample = 2 << 10
	// uncommon is what all guesses but the first cost more: a few letters do not make a document Polish.
	uncommon = 4.0
	// trust is how much more a reading may cost that is declared than another one, and trustShare and trustUnknown
	// how much more in proportion: short texts may look like anything, long ones hold words of other languages, and
	// where the other does not look ordinary either, the language may be one that is not known here.
	trust, trustShare, trustUnknown = 8.0, 0.05, 0.5
	// byDefault and declaredUTF8 are what UTF-8 costs less, without a declaration and with one.
	byDefault, declaredUTF8 = 4.0, 10.0
)

// choose returns the character set in which a sample looks most ordinary; nil for UTF-8, with what does not belong
// into it. What is declared is given up only for a reading that clearly looks better.
func choose(sample []byte, said []declaration) encoding.Encoding {
	var guessed encoding.Encoding
	var guess reading
	enough := math.Inf(1)
	for i, set := range guesses {
		found := look(convert(sample, set), enough)
		if i > 0 {
			found.cost += uncommon
		}
		enough = min(enough, found.cost)
		if guessed == nil || found.cost < guess.cost {
			guessed, guess = set, found
		}
	}
	asUTF8 := costOfUTF8(sample) - byDefault
	var declared encoding.Encoding
	var believed reading
	for _, claim := range said {
		switch claim.name {
		case nameUTF8:
			asUTF8 += byDefault - declaredUTF8
		case nameWestern: // among the guesses
		default:
			if found := look(convert(sample, claim.set), math.Inf(1)); declared == nil || found.cost < believed.cost {
				declared, believed = claim.set, found
			}
		}
	}
	if valid, _ := countUTF8(sample); declared != nil && (valid == 0 || believed.cost <= asUTF8+trust) {
		share := trustShare
		if !guess.ordinary {
			share = trustUnknown
		}
		if believed.cost <= trust+(1+share)*guess.cost {
			return declared
		}
	}
	if asUTF8 <= guess.cost {
		return nil
	}
	return guessed
}

// costOfUTF8 is what a sample costs that is read as UTF-8, whatever the language.
func costOfUTF8(sample []byte) float64 {
	const sequence, pastedIn, noUTF8 = 5.0, 13.0, 14.0
	valid, _ := countUTF8(sample)
	_, read, lost := mendAndCount(sample)
	return sequence*float64(valid) + pastedIn*float64(read) + noUTF8*float64(lost)
}

// sampleOf returns what of a document tells its character set: bytes beyond ASCII with what stands beside them. The
// second byte of a character may be ASCII, but no two in a row are; so the characters stay whole.
func sampleOf(body []byte) []byte {
	const beside = 2
	sample := make([]byte, 0, maxSample)
	kept := 0 // up to where body is in the sample
	for at := 0; at < len(body) && len(sample) < maxSample; at++ {
		if body[at] < utf8.RuneSelf {
			continue
		}
		if from := at - 1; from > kept {
			sample = append(sample, ' ')
			kept = from
		}
		upTo := min(at+1+beside, len(body))
		sample = append(sample, body[kept:upTo]...)
		kept = upTo
	}
	return sample
}

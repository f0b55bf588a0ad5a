// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	quantity "github.com/feed-operator/feed-operator/internal/portion"
)

// escapedMost is a long value of which each form is several times as long.
func escapedMost(i int) string {
	return fmt.Sprintf("%08d", i) + strings.Repeat("\"&<'>+ %", longestValue/8-1)
}

// R1.10: whoever may write a Secret does not choose how much memory it takes to look for it, and it is hidden all the same.
func TestALongSecretTakesLittleMemory(t *testing.T) {
	t.Parallel()
	for name, value := range quantity.Some(map[string]string{
		"what has to be escaped": escapedMost(0),
		"quotation marks":        strings.Repeat(`"`, longestValue),
		"backslashes":            strings.Repeat(`\`, longestValue),
		"letters":                strings.Repeat("a", longestValue),
		"what is not UTF-8":      strings.Repeat("\xff", longestValue),
	}, 3) {
		made := newMatcher(formsOf(value))
		const most = 128 << 10
		if nodes := len(made.label); nodes > most {
			t.Errorf("%s takes %d nodes, more than %d", name, nodes, most)
		}
		if got := NewSent(value).Mask("<" + value + ">"); name != "what is not UTF-8" && got != "<"+Masked+">" {
			t.Errorf("%s is shown as %.40q", name, got)
		}
	}
}

// The same for many at once: what the forms of some take is not taken from the others, each of which is hidden as it is.
func TestManyLongSecretsAreHiddenInLittleMemory(t *testing.T) {
	t.Parallel()
	var values []string
	part := quantity.Of(1, 4) // of the secrets, and of what they may take
	for i := range 20 / part {
		values = append(values, escapedMost(i))
	}
	sent := NewSent(values...)
	most := 3 << 19 / part
	if nodes := len(sent.matcher().label); nodes > most {
		t.Errorf("they take %d nodes, more than %d", nodes, most)
	}
	for i, value := range values {
		if got := sent.Mask("<" + value + ">"); got != "<"+Masked+">" {
			t.Errorf("number %d is shown as %.40q", i, got)
		}
	}
}

// R1.10: nor how much all services together take, of which there may be thousands.
func TestWhatFindsSecretsIsNotKept(t *testing.T) {
	t.Parallel()
	sent := NewSent("a-token-of-a-service")
	for range 2 {
		if got := sent.Mask("a-token-of-a-service"); got != Masked {
			t.Errorf("it is shown as %q", got)
		}
		made := sent.matcher()
		if sent.matcher() != made {
			t.Error("what finds it is made anew while it is there")
		}
		left := weak.Make(made)
		runtime.KeepAlive(made)
		runtime.GC()
		runtime.GC()
		if left.Value() != nil {
			t.Error("what finds it is kept")
		}
	}
}

// R1.10: nor how much the log takes.
func TestLongSecretsAreForgottenByTheRoomThatTheyTake(t *testing.T) {
	t.Parallel()
	room, values := quantity.Of(maxBytes, maxBytes/8), quantity.Of(50, 7)
	known := newKnown(maxValues, room)
	known.remember("mine", "a-secret-of-mine")
	for i := range values {
		known.remember("theirs", escapedMost(i))
	}
	known.mergings.Wait()
	nodes := 0
	for _, some := range *known.now.Load() {
		nodes += len(some.label)
	}
	if known.bytes > room || nodes > 2*room { // those that were forgotten are with them for a while
		t.Errorf("%d bytes are counted, %d nodes are there", known.bytes, nodes)
	}
	if got := known.mask("a-secret-of-mine " + escapedMost(values-1)); got != Masked+" "+Masked {
		t.Errorf("they are shown as %.60q", got)
	}
}

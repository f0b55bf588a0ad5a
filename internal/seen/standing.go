// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen

// Standing is what a person should know of GUIDs or URLs: how far they identify the entries of a feed.
type Standing int

const (
	// Trusted are those that identify every entry of the observed document that has one.
	Trusted Standing = iota
	// SomeShared are those of which the document has some that different entries have come with.
	SomeShared
	// MostShared are those that most entries had in common with others, in the document or in one of the last ten.
	MostShared
	// Changing are those of which most entries have another one in each poll.
	Changing
)

// Standing returns what there is to say of GUIDs and URLs after a document was observed.
func (m *Memory) Standing() (guids, urls Standing) {
	guids, urls = m.guidDoubt.standing(), m.urlDoubt.standing()
	for _, keys := range m.keys {
		if guids == Trusted && m.trust.Shared[keys.GUID] {
			guids = SomeShared
		}
		if urls == Trusted && m.trust.Shared[keys.URL] {
			urls = SomeShared
		}
	}
	return guids, urls
}

func (d *doubt) standing() Standing {
	switch {
	case d.shared > 0:
		return MostShared
	case d.changing:
		return Changing
	}
	return Trusted
}

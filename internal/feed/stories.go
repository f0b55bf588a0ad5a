// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

// Feeds list one story twice, and give different stories one link. Which it was cannot be seen from the value that two
// entries share, only from what else they have in common.

const (
	// tooManyTitles is with how many titles a pair of GUID and URL cannot be one story any more that is listed in
	// several revisions; and of how many entries one title for all says nothing.
	tooManyTitles = 3
	// fewestSharing is how many stories at least must share their values before an attribute is distrusted as a whole.
	fewestSharing = 3
)

// Stories are which entries of one document are the same story.
type Stories struct {
	// First has for each entry the index of the first one that is the same story.
	First []int
	// Shared are the GUIDs, URLs and titles that different stories of the document have in common.
	Shared map[Key]bool
	// MostShareGUIDs and MostShareURLs are set when more than half of the stories with such an attribute, and three
	// at least, share their value of it with another one.
	MostShareGUIDs, MostShareURLs bool
	// GUIDs and URLs are how many stories have one.
	GUIDs, URLs int
}

// Compare tells the stories of a document apart.
//
// Entries with the same GUID are one story if they also have the same URL or the same title, and those with the same
// URL if they also have the same GUID or title. Otherwise they are different ones, and the value that they share
// identifies neither. An attribute that is not trusted does not count as the same. Neither do GUID and URL together when they
// come with three titles, or are those of all that the document lists, nor a title that all have: that is what the feed
// gives to everything.
func Compare(keys []Keys, trust Trust) Stories {
	c := comparison{keys: keys, trust: trust, groups: groupsOf(keys), shared: map[Key]bool{}}
	c.findCrowded()
	c.oneTitle = hasOneTitle(keys)
	for key, group := range c.groups {
		if !c.oneStory(key, group) {
			c.shared[key] = true
		}
	}
	found := Stories{First: c.stories(), Shared: c.shared}
	guids, urls := newShares(len(keys)), newShares(len(keys))
	for i, k := range keys {
		guids.count(found.First[i], k.GUID, c.shared)
		urls.count(found.First[i], k.URL, c.shared)
	}
	found.GUIDs, found.MostShareGUIDs = guids.having, guids.most()
	found.URLs, found.MostShareURLs = urls.having, urls.most()
	return found
}

// shares counts how many stories have an attribute, and how many of them have their value in common with others.
type shares struct {
	counted         []byte
	having, sharing int
}

func newShares(entries int) *shares { return &shares{counted: make([]byte, entries)} }

func (s *shares) count(story int, key Key, shared map[Key]bool) {
	if key.IsZero() {
		return
	}
	if s.counted[story] == 0 {
		s.having, s.counted[story] = s.having+1, 1
	}
	if s.counted[story] == 1 && shared[key] {
		s.sharing, s.counted[story] = s.sharing+1, 2
	}
}

func (s *shares) most() bool { return 2*s.sharing > s.having && s.sharing >= fewestSharing }

// comparison is the work of Compare.
type comparison struct {
	keys  []Keys
	trust Trust
	// groups has the entries with a GUID or URL that several of them have.
	groups map[Key][]int
	// crowded has the pairs of GUID and URL that are no evidence of one story.
	crowded map[[2]Key]bool
	// oneTitle is set when all entries have the same title.
	oneTitle bool
	shared   map[Key]bool
}

func hasOneTitle(keys []Keys) bool {
	for _, k := range keys {
		if k.Title != keys[0].Title {
			return false
		}
	}
	return len(keys) >= tooManyTitles && !keys[0].Title.IsZero()
}

func groupsOf(keys []Keys) map[Key][]int {
	first, groups := make(map[Key]int, 2*len(keys)), map[Key][]int{}
	for i, k := range keys {
		for _, key := range [...]Key{k.GUID, k.URL} {
			if key.IsZero() {
				continue
			}
			other, found := first[key]
			switch {
			case !found:
				first[key] = i
			case groups[key] == nil:
				groups[key] = []int{other, i}
			default:
				groups[key] = append(groups[key], i)
			}
		}
	}
	return groups
}

// findCrowded finds the pairs of GUID and URL that come with too many titles.
func (c *comparison) findCrowded() {
	c.crowded = map[[2]Key]bool{}
	titles, entries := map[[2]Key]map[Key]bool{}, map[[2]Key]int{}
	for _, k := range c.keys {
		if c.groups[k.GUID] == nil || c.groups[k.URL] == nil {
			continue
		}
		pair := [2]Key{k.GUID, k.URL}
		if titles[pair] == nil {
			titles[pair] = map[Key]bool{}
		}
		titles[pair][k.Text()] = true
		entries[pair]++
		everything := entries[pair] == len(c.keys) && len(titles[pair]) > 1
		if len(titles[pair]) >= tooManyTitles || everything {
			c.crowded[pair] = true
		}
	}
}

// oneStory reports whether the entries with this GUID or URL hang together by what else they have in common.
func (c *comparison) oneStory(key Key, group []int) bool {
	together := newUnion(len(group))
	with := make(map[Key]int, 2*len(group))
	for n, i := range group {
		for _, other := range [...]Key{c.other(key, c.keys[i]), c.keys[i].Text()} {
			if other.IsZero() || c.oneTitle && other == c.keys[i].Title {
				continue
			}
			if before, found := with[other]; found {
				together.join(before, n)
			} else {
				with[other] = n
			}
		}
	}
	return together.parts == 1
}

// other returns the URL of an entry that has this GUID, or the GUID of one that has this URL, if it counts.
func (c *comparison) other(key Key, k Keys) Key {
	other, untrusted := k.GUID, c.trust.GUIDsUntrusted
	if key == k.GUID {
		other, untrusted = k.URL, c.trust.URLsUntrusted
	}
	if untrusted || c.crowded[[2]Key{k.GUID, k.URL}] {
		return Key{}
	}
	return other
}

// identifies reports whether entries with this value of an attribute are one story.
func (c *comparison) identifies(key Key, untrusted bool) bool {
	return !key.IsZero() && !untrusted && !c.shared[key] && !c.trust.Shared[key]
}

// stories joins the entries that have a value in common that identifies them; of the others, those of the same title,
// and finds the titles that come with different contents.
func (c *comparison) stories() []int {
	together, first := newUnion(len(c.keys)), make(map[Key]int, 2*len(c.keys))
	contents := map[Key]Key{} // by title
	var byText []int
	for i, k := range c.keys {
		byGUID, byURL := c.identifies(k.GUID, c.trust.GUIDsUntrusted), c.identifies(k.URL, c.trust.URLsUntrusted)
		if byGUID {
			together.meet(first, k.GUID, i)
		}
		if byURL {
			together.meet(first, k.URL, i)
		}
		if byGUID || byURL {
			continue
		}
		byText = append(byText, i)
		if other, found := contents[k.Title]; found && other != k.Content && !k.Title.IsZero() {
			c.shared[k.Title] = true
		}
		contents[k.Title] = k.Content
	}
	for _, i := range byText {
		key := c.keys[i].Title
		if !c.identifies(key, false) {
			key = c.keys[i].Content
		}
		together.meet(first, key, i)
	}
	firsts := make([]int, len(c.keys))
	for i := range firsts {
		firsts[i] = together.root(i)
	}
	return firsts
}

// A union joins numbers to parts. The root of a part is its lowest number.
type union struct {
	parent []int
	parts  int
}

func newUnion(n int) *union {
	u := &union{parent: make([]int, n), parts: n}
	for i := range u.parent {
		u.parent[i] = i
	}
	return u
}

func (u *union) root(i int) int {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

func (u *union) join(i, j int) {
	i, j = u.root(i), u.root(j)
	if i == j {
		return
	}
	u.parent[max(i, j)] = min(i, j)
	u.parts--
}

// meet joins i with the first that had the key.
func (u *union) meet(first map[Key]int, key Key, i int) {
	if before, found := first[key]; found {
		u.join(before, i)
	} else {
		first[key] = i
	}
}

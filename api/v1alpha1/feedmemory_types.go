// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FeedMemoryData is what the operator remembers of a feed between two polls. It is written as a
// whole, after the items of a poll were created, so that a crash in between repeats work and
// loses nothing.
type FeedMemoryData struct {
	// URLHash is a hash of the spec.url that this was remembered for.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	URLHash string `json:"urlHash,omitempty"`

	// EmptySince is when that URL was read first, as long as no entry was found there. Of the entries that are found
	// later, those that were published before it are bounded by spec.initialItems, as those of a first poll are.
	// +optional
	EmptySince *metav1.Time `json:"emptySince,omitempty"`

	// ETag is the validator of the last answer that was read to its end.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ETag string `json:"etag,omitempty"`

	// LastModified is the other validator of that answer.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	LastModified string `json:"lastModified,omitempty"`

	// BodyHash is the SHA-256 of that answer's body, in hexadecimal, for servers that ignore validators.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	BodyHash string `json:"bodyHash,omitempty"`

	// TTLMinutes is for how long that answer asks to be kept (ttl of RSS), in minutes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=527040
	TTLMinutes int32 `json:"ttlMinutes,omitempty"`

	// ItemsToday counts the items that were created on the last day with some. It is written together with their
	// identities, so that a crash forgets neither or both.
	// +optional
	ItemsToday ItemsToday `json:"itemsToday,omitzero"`

	// Archive is the name of the FeedMemory that has most of what follows. A memory of 2,000 entries that are not listed any more
	// has one, so that little is written when one more comes; it is written anew every 500 entries, and has nothing but hashes.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Archive string `json:"archive,omitempty"`

	// Version is the format of the following fields. 2 has titles, and distrusts single values; data
	// without a version is read as well.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Version int32 `json:"version,omitempty"`

	// GUIDsUntrusted is set while no GUID of the feed identifies anything, because most entries of a document had theirs in
	// common with others.
	// +optional
	GUIDsUntrusted bool `json:"guidsUntrusted,omitempty"`

	// GUIDsUntrustedFor is how many documents without such a reason must come before GUIDs are trusted again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	GUIDsUntrustedFor int32 `json:"guidsUntrustedFor,omitempty"`

	// URLsUntrusted is the same for URLs.
	// +optional
	URLsUntrusted bool `json:"urlsUntrusted,omitempty"`

	// URLsUntrustedFor is the same for URLs.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	URLsUntrustedFor int32 `json:"urlsUntrustedFor,omitempty"`

	// GUIDsChanging is set while most entries come with another GUID in each poll: a new one does not mean a new entry, and
	// titles decide where there is no URL.
	// +optional
	GUIDsChanging bool `json:"guidsChanging,omitempty"`

	// URLsChanging is the same for URLs: titles decide where there is no GUID.
	// +optional
	URLsChanging bool `json:"urlsChanging,omitempty"`

	// Shared are the hashes of the GUIDs, URLs and titles that different entries have come with, in the form
	// of guids. They identify nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=32000
	Shared string `json:"shared,omitempty"`

	// Reused are the hashes of the GUIDs and URLs that have come once with what may be another entry, in the same form.
	// +optional
	// +kubebuilder:validation:MaxLength=32000
	Reused string `json:"reused,omitempty"`

	// GUIDs are the hashes of the GUIDs that were seen: 8 bytes each, the least recently seen
	// first, base64.
	// +optional
	// +kubebuilder:validation:MaxLength=480000
	GUIDs string `json:"guids,omitempty"`

	// URLs are the hashes of the canonical URLs that were seen, in the same form.
	// +optional
	// +kubebuilder:validation:MaxLength=480000
	URLs string `json:"urls,omitempty"`

	// Contents are the hashes of the titles and contents of entries that nothing else identifies, in the same form.
	// +optional
	// +kubebuilder:validation:MaxLength=480000
	Contents string `json:"contents,omitempty"`

	// Texts are the hashes of the titles and contents of the latest other entries, in the same form: should their GUIDs and
	// URLs come to identify nothing, these do.
	// +optional
	// +kubebuilder:validation:MaxLength=240000
	Texts string `json:"texts,omitempty"`
}

// PostedMemory is a part of what the operator remembers of the posts at a FeedDestination.
type PostedMemory struct {
	// Destination is the name of the FeedDestination.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Destination string `json:"destination"`

	// Server that was posted to. What was posted to another one is remembered apart.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Server string `json:"server"`

	// Account that has posted, if the server reports it. What another one has posted is remembered apart.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Account string `json:"account,omitempty"`

	// Number of this part: the highest one grows, and the lowest is removed first.
	// +required
	// +kubebuilder:validation:Minimum=0
	Number int64 `json:"number"`

	// Posts is how many this part has.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Posts int32 `json:"posts,omitempty"`

	// Data has, of each post, hashes of the feed's URL with what identified the entry, the time, and the URL of the post:
	// base64 of a version and of gzip.
	// +optional
	// +kubebuilder:validation:MaxLength=1000000
	Data string `json:"data,omitempty"`
}

// FeedMemory is what the operator remembers of a FeedSource: which entries were ever seen, in a
// compact form, and the validators of the last answer. It belongs to its source and outlives the
// items. It is not for editing: deleting it makes the operator mark everything that the feed now
// lists as seen.
//
// Other FeedMemories have, in posted, what was posted to a FeedDestination, so that a source which is deleted and
// applied again posts nothing again. They outlive the source and the destination, and go 90 days after their last post;
// deleting one makes the operator forget its posts.
//
// Others have, in batch, what a webhook is sent of several items, until each has its result; deleting one leaves what may have
// arrived to a person.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=feeds
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.metadata.ownerReferences[0].name`
// +kubebuilder:printcolumn:name="Destination",type=string,JSONPath=`.posted.destination`
// +kubebuilder:printcolumn:name="Posts",type=integer,JSONPath=`.posted.posts`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FeedMemory struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Data is what is remembered.
	// +optional
	Data FeedMemoryData `json:"data,omitzero"`

	// Posted is what is remembered of the posts at a destination.
	// +optional
	Posted *PostedMemory `json:"posted,omitempty"`

	// Batch is what is sent of a batch of a destination, until that is finished.
	// +optional
	Batch *BatchRecords `json:"batch,omitempty"`
}

// FeedMemoryList is a list of FeedMemories.
// +kubebuilder:object:root=true
type FeedMemoryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FeedMemory `json:"items"`
}

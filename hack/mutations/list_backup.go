// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

var backupMutations = []mutation{
	{
		breaks: "what is restored has keys of its own",
		file:   "internal/backup/take.go",
		old:    "annotations[v1alpha1.AnnotationOriginalUID] = string(v1alpha1.OriginalUID(object))",
		now:    "delete(annotations, v1alpha1.AnnotationOriginalUID)",
		in:     "cmd/kubectl-feed",
		tests:  []string{"TestKeysAndIDsStayThroughMoves"},
	},
	{
		breaks: "what is restored is worked on before all is there",
		file:   "internal/backup/restore.go",
		old:    "		*suspend = true\n",
		now:    "		*suspend = false\n",
		in:     "controllers",
		tests:  []string{"TestAnInterruptedRestoreGoesOn"},
	},
	{
		breaks: "a post that may have been made since the backup is made without a look",
		file:   "internal/backup/doubt.go",
		old:    "				doubtOf(row, b.Time, now)\n",
		now:    "",
		in:     "controllers",
		tests:  []string{"TestWhatWasPostedAfterABackupIsNotPostedAgain", "TestANamespaceOfARestoredEtcdPostsNothingAgain"},
	},
	{
		breaks: "entries that came since a backup are items, though they were to be skipped",
		file:   "internal/backup/restore.go",
		old:    "	if r.Since == EntriesSkip {",
		now:    "	if r.Since == \"\" {",
		in:     "controllers",
		tests:  []string{"TestWhatWasPostedAfterABackupIsNotPostedAgain", "TestANamespaceOfARestoredEtcdPostsNothingAgain"},
	},
	{
		breaks: "what was done with an item is not restored",
		file:   "internal/backup/restore.go",
		old:    "func() { item.Status = *status.DeepCopy() }",
		now:    "func() { _ = status }",
		in:     "cmd/kubectl-feed",
		tests:  []string{"TestANamespaceIsSavedAndRestored"},
	},
	{
		breaks: "what is restored belongs to who owned it elsewhere",
		file:   "internal/backup/restore.go",
		old:    "object.SetOwnerReferences(owners)",
		now:    "object.SetOwnerReferences(append(object.GetOwnerReferences(), owners...))",
		in:     "cmd/kubectl-feed",
		tests:  []string{"TestWhatOwnedAnObjectDoesNotComeWithIt"},
	},
	{
		breaks: "an item that is about to be removed is restored into",
		file:   "internal/backup/restore.go",
		old:    " || !metav1.IsControlledBy(item, source)) {",
		now:    ") {",
		in:     "cmd/kubectl-feed",
		tests:  []string{"TestItemsOfASourceThatIsGoneAreNotRestoredInto"},
	},
}

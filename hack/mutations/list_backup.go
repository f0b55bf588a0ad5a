// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

var backupMutations = []mutation{
	{
		breaks: "what is restored has keys of its own",
		file:   "internal/backup/take.go", in: "cmd/kubectl-feed", tests: []string{"TestKeysAndIDsStayThroughMoves"},
		old: "annotations[v1alpha1.AnnotationOriginalUID] = string(v1alpha1.OriginalUID(object))",
		now: "delete(annotations, v1alpha1.AnnotationOriginalUID)",
	},
	{
		breaks: "what is restored is worked on before all is there",
		file:   "internal/backup/restore.go", in: "controllers", tests: []string{"TestAnInterruptedRestoreGoesOn"},
		old: "		*suspend = true\n", now: "		*suspend = false\n",
	},
	{
		breaks: "a post that may have been made since the backup is made without a look",
		file:   "internal/backup/doubt.go", in: "controllers",
		tests: []string{"TestWhatWasPostedAfterABackupIsNotPostedAgain", "TestANamespaceOfARestoredEtcdPostsNothingAgain"},
		old:   "				doubtOf(row, b.Time, now)\n", now: "",
	},
	{
		breaks: "entries that came since a backup are items, though they were to be skipped",
		file:   "internal/backup/restore.go", in: "controllers",
		tests: []string{"TestWhatWasPostedAfterABackupIsNotPostedAgain", "TestANamespaceOfARestoredEtcdPostsNothingAgain"},
		old:   "	if r.Since == EntriesSkip {", now: "	if r.Since == \"\" {",
	},
	{
		breaks: "what was seen is restored under a name under which nobody looks for it",
		file:   "internal/backup/restore.go", in: "cmd/kubectl-feed", tests: []string{"TestWhatFollowsFromUIDsIsRestoredUnderTheNewOnes"},
		old: "name := feedmemory.NameOf(source)", now: "name := memory.Name",
	},
	{
		breaks: "a batch goes on without the items that are restored",
		file:   "internal/backup/posts.go", in: "cmd/kubectl-feed", tests: []string{"TestWhatFollowsFromUIDsIsRestoredUnderTheNewOnes"},
		old: "				batches[i].Members[j].UID = uid\n", now: "				_ = uid\n",
	},
	{
		breaks: "what was done with an item is not restored",
		file:   "internal/backup/restore.go", in: "cmd/kubectl-feed", tests: []string{"TestANamespaceIsSavedAndRestored"},
		old: "func() { item.Status = *status.DeepCopy() }", now: "func() { _ = status }",
	},
	{
		breaks: "what is restored belongs to who owned it elsewhere",
		file:   "internal/backup/restore.go", in: "cmd/kubectl-feed", tests: []string{"TestWhatOwnedAnObjectDoesNotComeWithIt"},
		old: "object.SetOwnerReferences(owners)", now: "object.SetOwnerReferences(append(object.GetOwnerReferences(), owners...))",
	},
	{
		breaks: "an item that is about to be removed is restored into",
		file:   "internal/backup/restore.go", in: "cmd/kubectl-feed", tests: []string{"TestItemsOfASourceThatIsGoneAreNotRestoredInto"},
		old: " || !metav1.IsControlledBy(item, source)) {", now: ") {",
	},
}

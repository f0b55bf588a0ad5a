// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/derive"
	"github.com/feed-operator/feed-operator/internal/feedmemory"
)

// EntriesSince is what becomes of entries that a feed lists and that are not in a backup: they came after it, and nobody can say whether they were posted
// since.
type EntriesSince string

// What becomes of such entries.
const (
	// EntriesSkip: they are remembered as seen, and never become items. What was not posted is lost.
	EntriesSkip EntriesSince = "skip"
	// EntriesCreate: they become items. What was posted is posted again.
	EntriesCreate EntriesSince = "create"
)

// Restorer writes a backup into a namespace.
type Restorer struct {
	Client    client.Client
	Namespace string
	// Since is needed for a backup that is not final.
	Since EntriesSince
	// Now is when it begins.
	Now time.Time

	backup *Backup
	// uids are the new ones, by the old ones.
	uids    map[types.UID]types.UID
	sources map[types.UID]*v1alpha1.FeedSource
	// destinations are those that are being restored, by their names.
	destinations map[string]*v1alpha1.FeedDestination
	// written is set where a restore before has written everything, and was interrupted while it let that go on.
	written bool
	report  Report
}

// Report is what a restore has come to.
type Report struct {
	// Restored are the objects that were written, Done those that had been before.
	Restored, Done int
	// Uncertain is how many posts are looked for before they are made, or left to a person.
	Uncertain int
	// Notes say what a person should know.
	Notes []string
}

// itemsAtOnce is how many items are written at the same time.
const itemsAtOnce = 8

// Restore writes a backup. What it makes is suspended until all is there, so that no operator works on a part of it, whether one runs or not. An error leaves
// it so: the same restore goes on where it has ended. What is there already, and is of no restore of this backup, is an error before anything is written.
func (r *Restorer) Restore(ctx context.Context, b *Backup) (Report, error) {
	if err := r.prepare(b); err != nil {
		return r.report, err
	}
	if err := r.may(ctx); err != nil {
		return r.report, err
	}
	if err := r.check(ctx); err != nil {
		return r.report, err
	}
	r.noteSecrets(ctx)
	steps := []func(context.Context) error{
		r.posted, r.providers, r.destinationsMade, r.sourcesMade, r.memories, r.items, r.statuses, r.batches, r.noteWritten, r.resume,
	}
	if r.written {
		steps = steps[len(steps)-1:]
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return r.report, fmt.Errorf("%w. What was written so far is suspended: run the same restore again to go on", err)
		}
	}
	return r.report, nil
}

// prepare has a backup that is not final made safe, and refuses one of which nobody has said how.
func (r *Restorer) prepare(b *Backup) error {
	r.backup, r.uids = b, map[types.UID]types.UID{}
	r.sources, r.destinations = map[types.UID]*v1alpha1.FeedSource{}, map[string]*v1alpha1.FeedDestination{}
	switch {
	case b.Final:
		return nil
	case r.Since != EntriesSkip && r.Since != EntriesCreate:
		return fmt.Errorf("this backup was made at %s while an operator was at work, or may have been. Say what becomes of entries that came since: "+
			"with --entries-since-backup=skip they are never posted by the restored sources; with --entries-since-backup=create they are, "+
			"also those that were posted since the backup. To move without either, make the backup with --suspend",
			b.Time.UTC().Format(time.RFC3339))
	}
	r.report.Uncertain = doubt(b, r.Now)
	if r.Since == EntriesSkip {
		skipNew(b)
	}
	return nil
}

// marked has an object say which backup it is from, in a namespace. Nothing else of what its file says of it is brought along: what owned it is in another
// cluster, where it has a UID that no object has here, and the garbage collector would delete the object for that.
func (r *Restorer) marked(object client.Object, owners ...metav1.OwnerReference) {
	object.SetNamespace(r.Namespace)
	object.SetGenerateName("")
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetFinalizers(nil)
	object.SetOwnerReferences(owners)
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationRestoredFrom] = r.backup.ID
	object.SetAnnotations(annotations)
}

// state is how an object of the backup stands in the namespace.
type state int

const (
	missing state = iota
	// begun: it was made by a restore of this backup that has not ended.
	begun
	// done: it was restored.
	done
	// foreign: it is not from this backup, or is about to be gone.
	foreign
)

func (r *Restorer) stateOf(ctx context.Context, name string, into client.Object) (state, error) {
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, into)
	switch annotations := into.GetAnnotations(); {
	case apierrors.IsNotFound(err):
		return missing, nil
	case err != nil:
		return missing, err
	case into.GetDeletionTimestamp() != nil:
		return foreign, nil
	case strings.TrimSuffix(annotations[v1alpha1.AnnotationRestoring], allWritten) == r.backup.ID:
		return begun, nil
	case annotations[v1alpha1.AnnotationRestoredFrom] == r.backup.ID:
		return done, nil
	}
	return foreign, nil
}

// check finds what is in the way, before anything is written.
func (r *Restorer) check(ctx context.Context) error {
	var inTheWay []string
	written, whole := false, true
	note := func(kind, name string, into client.Object) error {
		found, err := r.stateOf(ctx, name, into)
		switch {
		case err != nil:
			return err
		case found == foreign:
			if into.GetDeletionTimestamp() != nil {
				name += ", which is being deleted"
			}
			inTheWay = append(inTheWay, kind+" "+name)
		case found == missing: // or deleted since
			whole = false
		case found == done:
			r.report.Done++
		case strings.HasSuffix(into.GetAnnotations()[v1alpha1.AnnotationRestoring], allWritten):
			written = true
		}
		return nil
	}
	for i := range r.backup.Providers {
		if err := note("AIProvider", r.backup.Providers[i].Name, &v1alpha1.AIProvider{}); err != nil {
			return err
		}
	}
	for i := range r.backup.Destinations {
		if err := note("FeedDestination", r.backup.Destinations[i].Name, &v1alpha1.FeedDestination{}); err != nil {
			return err
		}
	}
	for i := range r.backup.Sources {
		if err := note("FeedSource", r.backup.Sources[i].Name, &v1alpha1.FeedSource{}); err != nil {
			return err
		}
	}
	if len(inTheWay) > 0 {
		return fmt.Errorf("in the namespace %s there is already: %s. Nothing was written. Delete what is there, or restore into another namespace; "+
			"what a GitOps tool has applied: stop that until the restore has ended, it takes over then", r.Namespace, strings.Join(inTheWay, ", "))
	}
	r.written = written && whole
	return nil
}

// make creates what a person has written, suspended, or finds what a restore before has made. Suspend is the field that says so. What a person asks of the
// operator by annotation is added when all is there: it was served already, and the status says so only then.
func (r *Restorer) make(ctx context.Context, object, found client.Object, suspend *bool) (state, error) {
	name, old := object.GetName(), object.GetUID()
	stands, err := r.stateOf(ctx, name, found)
	if err != nil {
		return stands, err
	}
	if stands == missing {
		*suspend = true
		r.marked(object)
		annotations := object.GetAnnotations()
		annotations[v1alpha1.AnnotationRestoring] = r.backup.ID
		delete(annotations, v1alpha1.AnnotationRetry)
		delete(annotations, v1alpha1.AnnotationPoll)
		if err := r.create(ctx, object); err != nil {
			return stands, err
		}
		r.uids[old] = object.GetUID()
		return begun, nil
	}
	r.uids[old] = found.GetUID()
	return stands, nil
}

// create makes an object whole or not at all.
func (r *Restorer) create(ctx context.Context, object client.Object) error {
	kind := fmt.Sprintf("%T", object)
	kind = kind[strings.LastIndexByte(kind, '.')+1:]
	err := r.Client.Create(ctx, object, client.FieldValidation(metav1.FieldValidationStrict))
	switch {
	case err == nil:
		r.report.Restored++
		return nil
	case strings.Contains(err.Error(), "unknown field"):
		return fmt.Errorf("%s %s: the CustomResourceDefinitions of this cluster are older than the backup: apply those of the operator's version first: %w",
			kind, object.GetName(), err)
	}
	return fmt.Errorf("%s %s: %w", kind, object.GetName(), err)
}

func (r *Restorer) providers(ctx context.Context) error {
	for i := range r.backup.Providers {
		made, found := r.backup.Providers[i].DeepCopy(), &v1alpha1.AIProvider{}
		if _, err := r.make(ctx, made, found, &made.Spec.Suspend); err != nil {
			return err
		}
	}
	return nil
}

func (r *Restorer) destinationsMade(ctx context.Context) error {
	for i := range r.backup.Destinations {
		made, found := r.backup.Destinations[i].DeepCopy(), &v1alpha1.FeedDestination{}
		stands, err := r.make(ctx, made, found, &made.Spec.Suspend)
		if err != nil {
			return err
		}
		if stands == begun {
			r.destinations[made.Name] = &r.backup.Destinations[i]
		}
	}
	return nil
}

func (r *Restorer) sourcesMade(ctx context.Context) error {
	for i := range r.backup.Sources {
		old := r.backup.Sources[i].UID
		made, found := r.backup.Sources[i].DeepCopy(), &v1alpha1.FeedSource{}
		stands, err := r.make(ctx, made, found, &made.Spec.Suspend)
		switch {
		case err != nil:
			return err
		case stands != begun:
		case found.Name != "":
			r.sources[old] = found
		default:
			r.sources[old] = made
		}
	}
	return nil
}

// memories makes what was seen in the feeds: under the names that follow from the new UIDs.
func (r *Restorer) memories(ctx context.Context) error {
	for i := range r.backup.Memories {
		memory := r.backup.Memories[i].DeepCopy()
		owner := metav1.GetControllerOf(memory)
		if memory.Posted != nil || memory.Batch != nil || owner == nil || r.sources[owner.UID] == nil {
			continue
		}
		source := r.sources[owner.UID]
		before := &v1alpha1.FeedSource{ObjectMeta: metav1.ObjectMeta{Name: source.Name, UID: owner.UID}}
		name := feedmemory.NameOf(source)
		if memory.Name == feedmemory.ArchiveNameOf(before) { // also one that no memory names, because a crash has come between
			name = feedmemory.ArchiveNameOf(source)
		}
		if memory.Data.Archive != "" {
			memory.Data.Archive = feedmemory.ArchiveNameOf(source)
		}
		memory.ObjectMeta = derive.OwnedBy(source, name)
		r.marked(memory, memory.OwnerReferences...)
		if err := r.createOnce(ctx, memory); err != nil {
			return err
		}
	}
	return nil
}

// createOnce makes a memory that belongs to what is being restored, or finds it as an earlier try has made it. Any other one of that name is in the way: one
// that belonged to a source or destination that is gone is about to be removed, and what is remembered would be lost with it.
func (r *Restorer) createOnce(ctx context.Context, memory *v1alpha1.FeedMemory) error {
	err := r.create(ctx, memory)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found := &v1alpha1.FeedMemory{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(memory), found); err != nil {
		return fmt.Errorf("FeedMemory %s: %w", memory.Name, err)
	}
	owner, wanted := metav1.GetControllerOf(found), metav1.GetControllerOf(memory)
	switch {
	case !found.DeletionTimestamp.IsZero():
		return fmt.Errorf("FeedMemory %s: there is one of that name, which is being deleted: wait until it is removed", memory.Name)
	case owner == nil || owner.UID != wanted.UID || found.Annotations[v1alpha1.AnnotationRestoredFrom] != r.backup.ID:
		return fmt.Errorf("FeedMemory %s: there is another one of that name: delete it, or wait until it is removed with the %s that it belonged to",
			memory.Name, wanted.Kind)
	case !apiequality.Semantic.DeepEqual(found.Data, memory.Data):
		return fmt.Errorf("FeedMemory %s: it is not as this restore would write it: it was begun with another --entries-since-backup. Say the same again, "+
			"or, where something has changed it since, delete the %s that it belongs to", memory.Name, wanted.Kind)
	}
	return nil
}

// items makes the items with their statuses: first those, and then what was done with them.
func (r *Restorer) items(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(itemsAtOnce)
	written := make([]bool, len(r.backup.Items))
	uids := make([]types.UID, len(r.backup.Items))
	for i := range r.backup.Items {
		source := r.sources[r.backup.Items[i].Spec.SourceRef.UID]
		if source == nil { // it was restored before, and its items with it
			continue
		}
		group.Go(func() error {
			uid, err := r.item(ctx, r.backup.Items[i].DeepCopy(), source)
			written[i], uids[i] = err == nil, uid
			return err
		})
	}
	err := group.Wait()
	for i := range written {
		if written[i] {
			r.report.Restored++
			r.uids[r.backup.Items[i].UID] = uids[i]
		}
	}
	return err
}

func (r *Restorer) item(ctx context.Context, item *v1alpha1.FeedItem, source *v1alpha1.FeedSource) (types.UID, error) {
	status := item.Status
	item.Spec.SourceRef.UID = source.UID
	r.marked(item, derive.OwnedBy(source, item.Name).OwnerReferences...)
	key := client.ObjectKeyFromObject(item)
	err := r.Client.Create(ctx, item, client.FieldValidation(metav1.FieldValidationStrict))
	if apierrors.IsAlreadyExists(err) {
		err = r.Client.Get(ctx, key, item)
		// One that an earlier source of this backup has left is about to be removed: what was written to it would be lost.
		if err == nil && (item.Annotations[v1alpha1.AnnotationRestoredFrom] != r.backup.ID || !metav1.IsControlledBy(item, source)) {
			err = errors.New("there is another one of that name: delete it, or wait until it is removed with its source")
		}
	}
	if err == nil {
		err = r.writeStatus(ctx, item, func() { item.Status = *status.DeepCopy() })
	}
	if err != nil {
		return "", fmt.Errorf("FeedItem %s: %w", key.Name, err)
	}
	return item.UID, nil
}

// writeStatus writes a status whole, or not at all; also where somebody writes the object meanwhile.
func (r *Restorer) writeStatus(ctx context.Context, object client.Object, change func()) error {
	key := client.ObjectKeyFromObject(object)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		change()
		err := r.Client.Status().Update(ctx, object, client.FieldValidation(metav1.FieldValidationStrict))
		if apierrors.IsConflict(err) {
			if err := r.Client.Get(ctx, key, object); err != nil {
				return err
			}
		}
		return err
	})
}

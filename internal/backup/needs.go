// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
)

// rights are what a restore does, by verbs. The ClusterRole feeds-restorer has them all (config/rbac/feeds_restorer_role.yaml).
var rights = map[string]string{
	"create get patch":  "aiproviders feeddestinations feedsources",
	"create get":        "feeditems",
	"create get update": "feedmemories",
	"update":            "aiproviders/status feeddestinations/status feeditems/status feedsources/status",
}

// may finds out whether the person may do all of that, before anything is written.
func (r *Restorer) may(ctx context.Context) error {
	var lacking []string
	for verbs, resources := range rights {
		for resource := range strings.FieldsSeq(resources) {
			name, subresource, _ := strings.Cut(resource, "/")
			for verb := range strings.FieldsSeq(verbs) {
				review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: r.Namespace, Verb: verb, Group: v1alpha1.GroupVersion.Group, Resource: name, Subresource: subresource,
					},
				}}
				if err := r.Client.Create(ctx, review); err != nil {
					return fmt.Errorf("find out what you may do: %w", err)
				}
				if !review.Status.Allowed {
					lacking = append(lacking, verb+" "+resource)
				}
			}
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	slices.Sort(lacking)
	return fmt.Errorf("you may not write what the operator remembers in the namespace %s (%s). Nothing was written. "+
		"Ask an administrator to restore it, or to let you for as long as it takes: "+
		"kubectl create rolebinding restore-feeds --namespace %s --clusterrole feeds-restorer --user YOU",
		r.Namespace, strings.Join(lacking, ", "), r.Namespace)
}

// Secrets are the names of the Secrets that the objects of the backup name, each with who needs it. The backup holds none of them.
func (b *Backup) Secrets() map[string][]string {
	needed := map[string][]string{}
	note := func(ref *v1alpha1.SecretReference, who string) {
		if ref != nil {
			needed[ref.Name] = append(needed[ref.Name], who)
		}
	}
	for i := range b.Providers {
		note(b.Providers[i].SecretRef(), "provider/"+b.Providers[i].Name)
	}
	for i := range b.Destinations {
		note(b.Destinations[i].SecretRef(), "destination/"+b.Destinations[i].Name)
	}
	for i := range b.Sources {
		note(b.Sources[i].Spec.SecretRef, "source/"+b.Sources[i].Name)
	}
	return needed
}

// noteSecrets notes which of them are missing. Their values are not read.
func (r *Restorer) noteSecrets(ctx context.Context) {
	needed := r.backup.Secrets()
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, secret)
		who := strings.Join(needed[name], ", ")
		switch {
		case apierrors.IsNotFound(err):
			r.report.Notes = append(r.report.Notes, fmt.Sprintf("Secret %s is missing, and needed by %s: what needs it waits until you create it", name, who))
		case err != nil:
			r.report.Notes = append(r.report.Notes, fmt.Sprintf("Secret %s is needed by %s; whether it is there could not be found out", name, who))
		}
	}
}

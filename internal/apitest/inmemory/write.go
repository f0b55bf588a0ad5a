// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inmemory

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// suffix is how many characters are added to a name that is to be generated, and mostNames how many are tried until one is free: as the real one does
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values).
const (
	suffix    = 5
	mostNames = 8
)

// largest is how long the body of a request may be, in bytes: the limit of the real one.
const largest = 3 << 20

func bodyOf(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, largest+1))
	if err == nil && len(text) > largest {
		err = apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", largest))
	}
	return text, err
}

// object reads the object of a request's body.
func (a *asked) object(r *http.Request) (*unstructured.Unstructured, error) {
	text, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &object.Object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if object.GroupVersionKind() != a.gvk() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%s is not %s", object.GroupVersionKind(), a.gvk()))
	}
	return object, nil
}

// fit makes an object what its kind keeps of it: without fields that the schema does not know, with its defaults.
func (a *asked) fit(w http.ResponseWriter, object map[string]any) error {
	if a.schema == nil {
		return nil
	}
	unknown := pruning.PruneWithOptions(object, a.schema, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for i := range unknown {
		unknown[i] = fmt.Sprintf("unknown field %q", unknown[i])
	}
	switch {
	case len(unknown) == 0 || a.validation == metav1.FieldValidationIgnore:
	case a.validation == metav1.FieldValidationStrict && a.patched != nil:
		return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(
			field.NewPath("patch"), string(a.patched), "strict decoding error: "+strings.Join(unknown, ", "))})
	case a.validation == metav1.FieldValidationStrict:
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: strict decoding error: %s",
			a.kind.name, a.resource.Version, a.kind.name, strings.Join(unknown, ", ")))
	default:
		for _, field := range unknown {
			if header, err := utilnet.NewWarningHeader(299, "-", field); err == nil {
				w.Header().Add("Warning", header)
			}
		}
	}
	fill(object, a.schema)
	return nil
}

// create stores a new object.
func (s *Server) create(w http.ResponseWriter, r *http.Request, request *asked) (*stored, error) {
	object, err := request.object(r)
	if err != nil {
		return nil, err
	}
	if object.GetResourceVersion() != "" {
		return nil, failed("resourceVersion should not be set on objects to be created")
	}
	if named := object.GetNamespace(); named != "" && named != request.namespace {
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	generated := object.GetName() == "" && object.GetGenerateName() != ""
	if generated {
		s.name(object, request)
	}
	if request.review {
		object.Object["status"] = map[string]any{"allowed": true}
		return &stored{Unstructured: *object, encoded: encode(object.Object)}, nil
	}
	if request.name = object.GetName(); request.name == "" {
		return nil, request.invalid("", field.Required(field.NewPath("metadata", "name"), "name or generateName is required"))
	}
	if err := request.fit(w, object.Object); err != nil {
		return nil, err
	}
	if err := s.admit(request); err != nil {
		return nil, err
	}
	if there := request.in(request.namespace).objects[request.key]; there != nil {
		err := apierrors.NewAlreadyExists(request.group(), request.name)
		if generated {
			err = apierrors.NewGenerateNameConflict(request.group(), request.name, 1)
		}
		if there.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return nil, err
	}
	if request.hasStatus {
		delete(object.Object, "status")
		fill(object.Object, request.schema)
	}
	object.SetNamespace(request.namespace)
	object.SetUID(uuid.NewUUID())
	object.SetCreationTimestamp(metav1.NewTime(time.Now()))
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	object.SetGeneration(0)
	if request.schema != nil {
		object.SetGeneration(1)
	}
	tidy(object)
	request.complete(object)
	if request.dryRun {
		return &stored{Unstructured: *object, encoded: encode(object.Object)}, nil
	}
	return s.put(request.collection, nil, object.Object), nil
}

// name gives an object a name that is free, if one is found.
func (s *Server) name(object *unstructured.Unstructured, request *asked) {
	for range mostNames {
		object.SetName(object.GetGenerateName() + s.Suffix())
		if request.in(request.namespace).objects[key{request.namespace, object.GetName()}] == nil {
			return
		}
	}
}

// admit refuses a new object where its namespace is not there, or is about to end.
func (s *Server) admit(request *asked) error {
	if request.clusterScoped {
		return nil
	}
	of := s.collections[namespaceResource()].in("").objects[key{name: request.namespace}]
	if of == nil {
		return apierrors.NewNotFound(namespaceResource().GroupResource(), request.namespace)
	}
	if of.GetDeletionTimestamp() != nil {
		err := apierrors.NewForbidden(request.group(), request.name,
			fmt.Errorf("unable to create new content in namespace %s because it is being terminated", request.namespace))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: "NamespaceTerminating", Message: fmt.Sprintf("namespace %s is being terminated", request.namespace), Field: "metadata.namespace",
		})
		return err
	}
	return nil
}

// complete does to an object what the real one does to this kind of Kubernetes.
func (a *asked) complete(object *unstructured.Unstructured) {
	switch a.kind.name {
	case "Namespace":
		labels := object.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels["kubernetes.io/metadata.name"] = object.GetName()
		object.SetLabels(labels)
		if phase, _, _ := unstructured.NestedString(object.Object, "status", "phase"); phase != "" { // it is there already, and may be ending
			return
		}
		object.Object["spec"] = map[string]any{"finalizers": []any{"kubernetes"}}
		object.Object["status"] = map[string]any{"phase": "Active"}
	case "Secret":
		texts, _, _ := unstructured.NestedStringMap(object.Object, "stringData")
		for name, text := range texts {
			_ = unstructured.SetNestedField(object.Object, base64.StdEncoding.EncodeToString([]byte(text)), "data", name)
		}
		delete(object.Object, "stringData")
		if object.Object["type"] == nil {
			object.Object["type"] = "Opaque"
		}
	}
}

// tidy takes out of the metadata what is empty.
func tidy(object *unstructured.Unstructured) {
	metadata, _ := object.Object["metadata"].(map[string]any)
	for name, value := range metadata {
		switch value := value.(type) {
		case map[string]any:
			if len(value) == 0 {
				delete(metadata, name)
			}
		case []any:
			if len(value) == 0 {
				delete(metadata, name)
			}
		}
	}
}

// update replaces an object by that of the body.
func (s *Server) update(w http.ResponseWriter, r *http.Request, request *asked) (*stored, error) {
	object, err := request.object(r)
	if err != nil {
		return nil, err
	}
	before, err := request.existing()
	if err != nil {
		return nil, err
	}
	if object.GetResourceVersion() == "" && request.schema != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: request.resource.Group, Kind: request.resource.Resource}, request.name,
			field.ErrorList{field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	}
	if uid := object.GetUID(); uid != "" && uid != before.GetUID() {
		return nil, apierrors.NewConflict(request.group(), request.name, fmt.Errorf(
			"StorageError: invalid object, Code: 4, Key: /registry/%s/%s/%s/%s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "+
				"UID in precondition: %s, UID in object meta: %s",
			request.resource.Group, request.resource.Resource, request.namespace, request.name, uid, before.GetUID()))
	}
	return s.replace(w, request, before, object)
}

// patch merges the body into an object (RFC 7386).
func (s *Server) patch(w http.ResponseWriter, r *http.Request, request *asked) (*stored, error) {
	if kind := r.Header.Get("Content-Type"); types.PatchType(kind) != types.MergePatchType {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, r.Method, request.group(), request.name,
			kind+" is not served in memory: a test of it needs a real API server", 0, true)
	}
	text, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	before, err := request.existing()
	if err != nil {
		return nil, err
	}
	merged, err := jsonpatch.MergePatch(before.encoded, text)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	request.patched = merged
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(merged, &object.Object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s.replace(w, request, before, object)
}

// replace stores the next version of an object.
func (s *Server) replace(w http.ResponseWriter, request *asked, before *stored, object *unstructured.Unstructured) (*stored, error) {
	if object.GetNamespace() == "" {
		object.SetNamespace(before.GetNamespace())
	}
	if object.GetName() != before.GetName() || object.GetNamespace() != before.GetNamespace() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
			object.GetName(), before.GetName()))
	}
	if version := object.GetResourceVersion(); version != "" && version != before.GetResourceVersion() {
		return nil, apierrors.NewConflict(request.group(), request.name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if uid := object.GetUID(); request.part == "" && uid != "" && uid != before.GetUID() {
		wrong := field.Invalid(field.NewPath("metadata", "uid"), string(uid), "field is immutable")
		return nil, request.invalid(request.name, wrong, wrong) // so does the real one
	}
	if err := request.fit(w, object.Object); err != nil {
		return nil, err
	}
	after := request.allowed(before, object)
	switch {
	case request.dryRun:
		return at(after.Object, before.version), nil
	case apiequality.Semantic.DeepEqual(before.Object, after.Object):
		return before, nil
	case after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 && request.kind.name != "Namespace":
		s.put(request.collection, before, nil)
		return at(after.Object, before.version), nil // as it would have been
	}
	return s.put(request.collection, before, after.Object), nil
}

// allowed is the next version of an object as far as a request may change it.
func (a *asked) allowed(before *stored, object *unstructured.Unstructured) *unstructured.Unstructured {
	if a.part == "status" {
		after := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(without(before.Object, "status"))}
		if status, has := object.Object["status"]; has {
			after.Object["status"] = status
		}
		fill(after.Object, a.schema)
		return after
	}
	object.SetUID(before.GetUID())
	object.SetResourceVersion(before.GetResourceVersion())
	object.SetCreationTimestamp(before.GetCreationTimestamp())
	object.SetDeletionTimestamp(before.GetDeletionTimestamp())
	object.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	object.SetGeneration(before.GetGeneration())
	tidy(object)
	apart := []string{"metadata"}
	if a.hasStatus {
		apart = append(apart, "status")
		delete(object.Object, "status")
		if status, has := before.Object["status"]; has {
			object.Object["status"] = status
		}
	}
	a.complete(object)
	if a.schema != nil && !apiequality.Semantic.DeepEqual(without(before.Object, apart...), without(object.Object, apart...)) {
		object.SetGeneration(before.GetGeneration() + 1)
	}
	return object
}

// remove deletes an object, or those of a selection.
func (s *Server) remove(r *http.Request, request *asked) (int, []byte, error) {
	text, err := bodyOf(r)
	if err != nil {
		return 0, nil, err
	}
	var options metav1.DeleteOptions
	if len(text) > 0 {
		if err := json.Unmarshal(text, &options); err != nil {
			return 0, nil, apierrors.NewBadRequest(err.Error())
		}
	}
	dry := request.dryRun || len(options.DryRun) > 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if request.name == "" {
		selected, err := request.selection()
		if err != nil {
			return 0, nil, err
		}
		for _, object := range request.objectsOf(selected) {
			if !dry {
				s.end(request, object)
			}
		}
		return http.StatusOK, encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		}), nil
	}
	object, err := request.existing()
	if err != nil {
		return 0, nil, err
	}
	if only := options.Preconditions; only != nil {
		of := schema.GroupResource{Group: request.resource.Group, Resource: request.kind.name}
		if only.UID != nil && *only.UID != object.GetUID() {
			return 0, nil, apierrors.NewConflict(of, request.name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). "+
				"The object might have been deleted and then recreated", *only.UID, object.GetUID()))
		}
		if only.ResourceVersion != nil && *only.ResourceVersion != object.GetResourceVersion() {
			return 0, nil, apierrors.NewConflict(of, request.name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the "+
				"ResourceVersion in record (%s). The object might have been modified", *only.ResourceVersion, object.GetResourceVersion()))
		}
	}
	if !dry {
		if ending := s.end(request, object); ending != nil {
			return http.StatusOK, request.encodedOf(ending), nil
		}
	}
	return http.StatusOK, encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: request.name, Group: request.resource.Group, Kind: request.resource.Resource, UID: object.GetUID()},
	}), nil
}

// end deletes an object, or marks it where somebody has to do something first: then it returns the marked one.
func (s *Server) end(request *asked, object *stored) *stored {
	isNamespace := request.kind.name == "Namespace"
	if len(object.GetFinalizers()) == 0 && !isNamespace {
		s.put(request.collection, object, nil)
		return nil
	}
	if object.GetDeletionTimestamp() != nil {
		return object
	}
	ending := object.DeepCopy()
	ending.SetDeletionTimestamp(new(metav1.NewTime(time.Now())))
	if request.schema != nil {
		ending.SetDeletionGracePeriodSeconds(new(int64(0)))
		ending.SetGeneration(object.GetGeneration() + 1)
	}
	if isNamespace {
		_ = unstructured.SetNestedField(ending.Object, "Terminating", "status", "phase")
	}
	return s.put(request.collection, object, ending.Object)
}

func (a *asked) invalid(name string, problems ...*field.Error) error {
	return apierrors.NewInvalid(a.gvk().GroupKind(), name, problems)
}

// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package inmemory

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
)

const namespaces = "namespaces"

// Server is an API server. It is an http.Handler, and the transport of who reaches it without a network.
type Server struct {
	// Kept is how many changes of the objects of a kind are remembered, and up to twice as many. Who asks for what comes after older ones has to list anew.
	Kept int
	// Suffix makes what is added to a name that is to be generated.
	Suffix func() string

	mu          sync.Mutex
	version     uint64 // of the last change
	collections map[schema.GroupVersionResource]*collection
}

// first is the version before any change. That of a real one is never small either.
const first = 1000

// New makes a server with the CustomResourceDefinitions of a folder, and some kinds of Kubernetes.
func New(folder string) (*Server, error) {
	custom, err := customKinds(folder)
	if err != nil {
		return nil, err
	}
	server := &Server{
		Kept: 20_000, Suffix: func() string { return utilrand.String(suffix) },
		version: first, collections: map[schema.GroupVersionResource]*collection{},
	}
	for _, kind := range append(builtin(), custom...) {
		server.collections[kind.resource] = &collection{kind: kind, lock: &server.mu, spaces: map[string]*space{}}
	}
	return server, nil
}

// Config reaches the server without a network. It has no limit of requests a second.
func (s *Server) Config() *rest.Config {
	return &rest.Config{
		Host: "http://in-memory.invalid", Transport: transport{s}, QPS: -1,
		ContentConfig: rest.ContentConfig{ContentType: "application/json", AcceptContentTypes: "application/json"},
	}
}

// asked is a request for objects of a kind.
type asked struct {
	*collection
	key
	// part of the object, such as its status.
	part    string
	options metav1.ListOptions
	// dryRun has nothing be stored.
	dryRun bool
	// validation says what is done with fields that no schema knows: Strict, Warn, Ignore.
	validation string
	// patched is what a patch has made of an object.
	patched []byte
	// onlyMetadata has nothing but the metadata be returned.
	onlyMetadata bool
}

func (a *asked) group() schema.GroupResource { return a.resource.GroupResource() }

// understand reads what a request is for.
func (s *Server) understand(r *http.Request) (*asked, error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var of schema.GroupVersionResource
	switch {
	case len(parts) > 2 && parts[0] == "api":
		of.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		of.Group, of.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil, notServed(r)
	}
	request := &asked{}
	if parts[0] == namespaces && len(parts) > 2 {
		request.namespace, parts = parts[1], parts[2:]
	}
	of.Resource = parts[0]
	if request.collection = s.collections[of]; request.collection == nil || request.clusterScoped && request.namespace != "" {
		return nil, notServed(r)
	}
	if len(parts) > 1 {
		request.name = parts[1]
	}
	if len(parts) > 2 {
		request.part = parts[2]
	}
	if len(parts) > 3 || request.part != "" && (request.part != "status" || !request.hasStatus) {
		return nil, notServed(r)
	}
	query := r.URL.Query()
	if err := metav1.Convert_url_Values_To_v1_ListOptions(&query, &request.options, nil); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	request.dryRun, request.validation = query.Get("dryRun") == metav1.DryRunAll, query.Get("fieldValidation")
	request.onlyMetadata = strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
	return request, nil
}

// selection is which objects a list is asked for.
func (a *asked) selection() (selection, error) {
	chosen := selection{kind: a.kind, namespace: a.namespace}
	var err error
	if chosen.labels, err = labels.Parse(a.options.LabelSelector); err != nil {
		return chosen, apierrors.NewBadRequest(err.Error())
	}
	if chosen.fields, err = fields.ParseSelector(a.options.FieldSelector); err != nil {
		return chosen, apierrors.NewBadRequest(err.Error())
	}
	for _, required := range chosen.fields.Requirements() {
		switch _, known := a.selectable[required.Field]; {
		case known, required.Field == "metadata.name", required.Field == "metadata.namespace":
		default:
			return chosen, apierrors.NewBadRequest("field label not supported: " + required.Field)
		}
	}
	return chosen, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	if discovered := s.discovered(r.URL.Path); discovered != nil {
		_, _ = w.Write(encode(discovered))
		return
	}
	request, err := s.understand(r)
	if err == nil && r.Method == http.MethodGet && request.options.Watch {
		if err = s.watch(w, r, request); err == nil {
			return
		}
	}
	code, answer := http.StatusOK, []byte(nil)
	if err == nil {
		code, answer, err = s.answer(w, r, request)
	}
	if err != nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			status = apierrors.NewInternalError(err)
		}
		said := status.Status()
		said.Kind, said.APIVersion = "Status", "v1"
		code, answer = int(said.Code), encode(said)
	}
	w.WriteHeader(code)
	_, _ = w.Write(answer) //nolint:gosec // it is JSON, and no browser reads it
}

// answer does what is asked, and returns the code and the body of the answer.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, request *asked) (int, []byte, error) {
	do := map[string]func(http.ResponseWriter, *http.Request, *asked) (*stored, error){
		http.MethodPut: s.update, http.MethodPatch: s.patch,
	}
	if request.name == "" {
		do = map[string]func(http.ResponseWriter, *http.Request, *asked) (*stored, error){http.MethodPost: s.create}
	}
	switch verb := do[r.Method]; {
	case r.Method == http.MethodGet && request.name == "":
		return s.list(request)
	case r.Method == http.MethodGet:
		s.mu.Lock()
		defer s.mu.Unlock()
		object, err := request.existing()
		return shown(http.StatusOK, object, request, err)
	case r.Method == http.MethodDelete:
		return s.remove(r, request)
	case verb == nil:
		return 0, nil, apierrors.NewMethodNotSupported(request.group(), r.Method)
	default:
		s.mu.Lock()
		defer s.mu.Unlock()
		code := http.StatusOK
		if r.Method == http.MethodPost {
			code = http.StatusCreated
		}
		object, err := verb(w, r, request)
		return shown(code, object, request, err)
	}
}

// existing is the object that a request names.
func (a *asked) existing() (*stored, error) {
	object := a.in(a.namespace).objects[a.key]
	if object == nil {
		return nil, apierrors.NewNotFound(a.group(), a.name)
	}
	return object, nil
}

// shown is the answer with an object.
func shown(code int, object *stored, request *asked, err error) (int, []byte, error) {
	if err != nil {
		return 0, nil, err
	}
	return code, request.encodedOf(object), nil
}

// encodedOf is an object as it is asked for.
func (a *asked) encodedOf(object *stored) []byte {
	if !a.onlyMetadata {
		return object.encoded
	}
	return encode(map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": object.Object["metadata"]})
}

func namespaceResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: namespaces}
}

// failed is an error of which the real one says no more than its text.
func failed(why string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: why}}
}

func notServed(r *http.Request) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, "",
		fmt.Sprintf("%s is not served in memory: a test of it needs a real API server", r.URL.Path), 0, true)
}

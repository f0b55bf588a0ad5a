// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"strings"
	"testing"

	"github.com/feed-operator/feed-operator/internal/pdftest"
	"github.com/feed-operator/feed-operator/internal/provider"
	"github.com/feed-operator/feed-operator/internal/providertest"
)

// R2.5: of the servers that speak the API, few take documents.
func TestOtherServersGetTheText(t *testing.T) {
	t.Parallel()
	server := subject.Serve(t)
	request := providertest.Article()
	request.Document = &provider.Document{MIMEType: provider.MIMETypePDF, Data: pdftest.Write(pdftest.Options{}, []string{"x"})}
	p := subject.Client(t, server.URL)
	if _, err := p.Generate(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if call := server.Calls()[0]; len(call.Documents) != 0 || !strings.Contains(call.User, request.Text) {
		t.Errorf("%d documents, and the prompt\n%s", len(call.Documents), call.User)
	}
	request.Text = ""
	if _, err := p.Generate(t.Context(), request); providertest.Failed(t, err).Type != "Unsupported" || len(server.Calls()) != 1 {
		t.Errorf("a document without a text: %v after %d calls", err, len(server.Calls()))
	}
}

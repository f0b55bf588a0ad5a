// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/feed-operator/feed-operator/internal/dashboard/people"
)

// signInPage asks for a token.
func (h *handler) signInPage(w http.ResponseWriter, r *http.Request) {
	if h.door == nil {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	h.askToSignIn(w, r, http.StatusOK, "")
}

// askToSignIn shows the form for a token, and what was wrong with the last one.
func (h *handler) askToSignIn(w http.ResponseWriter, r *http.Request, status int, wrong string) {
	body, err := (&page{Title: "Sign in", kind: "signin", Refusal: wrong, Form: people.FormToken(h.key, everybody)}).bytes()
	if err != nil {
		h.refuse(w, r, http.StatusInternalServerError, "The form cannot be shown.")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// signIn takes a token that the API server knows.
func (h *handler) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if h.door == nil || !h.formed(r, everybody) {
		h.askAgain(w, r, "The form was loaded before the operator was started anew. Please try once more.")
		return
	}
	token := strings.TrimSpace(r.PostFormValue("token"))
	if len(token) > people.MostToken {
		h.askAgain(w, r, "The token is too long to be kept in a cookie. Send it in the header Authorization instead, by a proxy of yours.")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	if _, err := h.door.Who(ctx, token, r.RemoteAddr); errors.Is(err, people.ErrSignIn) {
		h.askAgain(w, r, "The API server does not know this token, or it has expired.")
		return
	} else if err != nil {
		h.explain(w, r, err)
		return
	}
	http.SetCookie(w, h.door.Cookie(token, r.RemoteAddr, r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (h *handler) askAgain(w http.ResponseWriter, r *http.Request, wrong string) {
	if h.door == nil {
		h.refuse(w, r, http.StatusNotFound, "Nobody has to sign in here.")
		return
	}
	h.askToSignIn(w, r, http.StatusUnauthorized, wrong)
}

// signOut has the browser forget the token.
func (h *handler) signOut(w http.ResponseWriter, r *http.Request) {
	//nolint:gosec // it is Secure where the page is reached by https; by port-forward it is not
	http.SetCookie(w, &http.Cookie{Name: people.CookieName, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
	http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
}

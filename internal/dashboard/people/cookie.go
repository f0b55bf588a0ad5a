// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package people

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"
)

// TokenOf returns the token that a request shows: in its header, or in the cookie that Cookie is.
func (p *People) TokenOf(r *http.Request) string {
	if bearer, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); is {
		return strings.TrimSpace(bearer)
	}
	cookie, err := r.Cookie(CookieName)
	if err != nil {
		return ""
	}
	return p.open(cookie.Value, r.RemoteAddr)
}

// Cookie holds a token, for who has sent a request from an address. It is encrypted, because a browser shows the cookies of one port of a host to all
// other ports of it: whatever else a person forwards to localhost would get the token. What that gets, it could still show to the page itself where it
// reaches that by the network: so what was given to loopback is good there only.
func (p *People) Cookie(token, from string, encrypted bool) *http.Cookie {
	sealing := p.sealing()
	nonce := make([]byte, sealing.NonceSize())
	_, _ = rand.Read(nonce)
	value := base64.RawURLEncoding.EncodeToString(sealing.Seal(nonce, nonce, []byte(token), sideOf(from)))
	//nolint:gosec // it is Secure where the page is reached by https; by port-forward it is not
	return &http.Cookie{Name: CookieName, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: encrypted}
}

// sideOf is on which side of the network an address is, as http.Request.RemoteAddr has it: loopback, as by kubectl port-forward, or not.
func sideOf(from string) []byte {
	if address, err := netip.ParseAddrPort(from); err == nil && address.Addr().Unmap().IsLoopback() {
		return []byte("loopback")
	}
	return nil
}

func (p *People) open(value, from string) string {
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	sealing := p.sealing()
	if err != nil || len(sealed) < sealing.NonceSize() {
		return ""
	}
	token, err := sealing.Open(nil, sealed[:sealing.NonceSize()], sealed[sealing.NonceSize():], sideOf(from))
	if err != nil {
		return "" // of another process or side, or made up
	}
	return string(token)
}

func (p *People) sealing() cipher.AEAD {
	block, err := aes.NewCipher(p.key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	sealing, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return sealing
}

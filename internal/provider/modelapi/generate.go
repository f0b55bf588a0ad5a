// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package modelapi

import (
	"context"
	"encoding/json"

	"github.com/feed-operator/feed-operator/api/v1alpha1"
	"github.com/feed-operator/feed-operator/internal/failure"
	"github.com/feed-operator/feed-operator/internal/provider"
)

const (
	// OutputTokens is the room for an answer, which every model has. Those that think need most of it
	// for their thoughts, and sometimes more than it.
	OutputTokens = 8_192
	// moreOutputTokens is what an answer gets that had too little room.
	moreOutputTokens = 32_768
)

// Answer is what came of one request for a summary.
type Answer struct {
	// Response holds the model that answered and the tokens that it counted, also beside Err.
	Response provider.Response
	// Err is a *failure.Error, or nil.
	Err error
	// WantsRoom is set if the answer broke off too early, and may be longer where it is given more room.
	WantsRoom bool
	// RoomRefused is set if Err is about the room that was asked for.
	RoomRefused bool
}

// Ask makes one request, with room for so many tokens in the answer.
type Ask func(ctx context.Context, prompt provider.Prompt, room int64) Answer

// Generate asks for a summary, and for a verdict in the same call where the request wants one. It asks
// once; once more with the text in place of a document, where the model does not take that; once more
// with a part of the text, where the model finds that too long; and once more with more room, where
// the answer broke off too early.
//
// What the model says is without the key, should the other side have sent it back. An error is a *failure.Error.
// Tokens are counted over all, in the Response beside an error, too.
func (a *API) Generate(ctx context.Context, request provider.Request, ask Ask) (provider.Response, error) {
	if request.MaxCharacters < 1 {
		return provider.Response{}, failure.New(v1alpha1.CategoryValidation, failure.TypeUnsupported,
			"A summary must be allowed at least one character.")
	}
	prompt := provider.NewPrompt(request)
	if prompt.IsBlank() {
		return provider.Response{}, failure.New(v1alpha1.CategoryValidation, failure.TypeEmpty,
			"The article has no text to make a summary of.")
	}
	shortened, tokens := false, int64(0)
	var cutOff *Answer // that which broke off
	for room := int64(OutputTokens); ; {
		this := ask(ctx, prompt, room)
		tokens = provider.SumTokens(tokens, this.Response.Tokens)
		if FailedWith(this.Err, typeInvalidRequest) && !this.RoomRefused { // not every model reads documents
			if text, ok := prompt.WithoutDocument(); ok {
				prompt = text
				continue
			}
		}
		if FailedWith(this.Err, failure.TypeTooLong) && !shortened {
			if shorter, ok := prompt.Shorter(); ok {
				prompt, shortened = shorter, prompt.Document == nil
				continue
			}
		}
		if this.WantsRoom && room == OutputTokens {
			cutOff, room = &this, moreOutputTokens
			continue
		}
		if cutOff != nil {
			this = better(*cutOff, this)
		}
		this.Response.Tokens = tokens
		return this.Response.WithoutEchoes(a.sent), this.Err
	}
}

// better chooses between an answer that broke off, and the one that was given more room.
func better(cutOff, second Answer) Answer {
	switch {
	case second.Err == nil && (cutOff.Err != nil || len(second.Response.Summary) >= len(cutOff.Response.Summary)):
		return second
	case cutOff.Err == nil, second.RoomRefused, FailedWith(second.Err, typeInvalidRequest): // the model has no more room
		return cutOff
	case second.Response.Verdict == nil:
		second.Response.Verdict = cutOff.Response.Verdict
	}
	return second
}

// Read reads what a model wrote to a request. ranOut says that it stopped because there was no more room.
// The model and its tokens are the caller's to set, and Err to pass through Call.Failed.
func Read(text string, ranOut bool, request provider.Request) Answer {
	// Some models write blanks after a complete answer until there is no room left.
	if !ranOut || json.Valid([]byte(text)) {
		response, err := provider.ParseAnswer(text, request)
		return Answer{Response: response, Err: err}
	}
	response, err := provider.ParseTruncated(text, request)
	short := FailedWith(err, failure.TypeTruncated) || err == nil && provider.IsShort(response.Summary, request)
	return Answer{Response: response, Err: err, WantsRoom: short && !response.Verdict.Against()}
}

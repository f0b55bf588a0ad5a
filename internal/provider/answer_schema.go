// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

// Kinds of values in a Schema, as JSON Schema calls them.
const (
	SchemaObject  = "object"
	SchemaString  = "string"
	SchemaBoolean = "boolean"
)

// Names in an answer. Some APIs have properties written in alphabetical order whatever order is
// asked for, so the names are such that this order is ours: the judgement before the summary, and its
// reason before the judgement.
const (
	nameScreening   = "screening"
	nameComplete    = "complete"
	nameExplanation = "explanation"
	nameValuable    = "valuable"
	nameSummary     = "summary"
)

// Schema describes the JSON that a model answers with, in the few words that every API of a model
// knows.
type Schema struct {
	// Type is one of the Schema constants.
	Type        string
	Description string
	// Properties of an object, in the order in which they are to be written. All are required, and
	// there are no others.
	Properties []Property
}

// Property of an object.
type Property struct {
	Name string
	Schema
}

// AnswerSchema returns what the answer to a request looks like: a summary, and before it the
// judgement where the request asks for one.
func AnswerSchema(request Request) Schema {
	answer := Schema{Type: SchemaObject}
	if request.Screening != nil {
		answer.Properties = append(answer.Properties, Property{nameScreening, Schema{
			Type:        SchemaObject,
			Description: "The judgement of the article.",
			Properties: []Property{
				{nameComplete, Schema{Type: SchemaBoolean, Description: "Whether the article itself is there."}},
				{nameExplanation, Schema{Type: SchemaString, Description: "Why, in one sentence."}},
				{nameValuable, Schema{Type: SchemaBoolean, Description: "Whether the article meets the criteria."}},
			},
		}})
	}
	if request.asksOnly() {
		return answer
	}
	summary := "The summary."
	if request.Screening != nil {
		summary = "The summary. Empty if the article is not complete or not valuable."
	}
	answer.Properties = append(answer.Properties, Property{nameSummary, Schema{Type: SchemaString, Description: summary}})
	return answer
}

// JSON returns the schema in the words of JSON Schema, in the subset that APIs take which have a model
// follow it strictly: objects are closed, and all that they have is required.
func (s Schema) JSON() map[string]any {
	out := map[string]any{"type": s.Type}
	if s.Description != "" {
		out["description"] = s.Description
	}
	if s.Type != SchemaObject {
		return out
	}
	properties, required := map[string]any{}, make([]string, 0, len(s.Properties))
	for _, property := range s.Properties {
		properties[property.Name] = property.JSON()
		required = append(required, property.Name)
	}
	out["properties"], out["required"], out["additionalProperties"] = properties, required, false
	return out
}

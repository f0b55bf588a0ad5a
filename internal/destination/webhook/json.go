// Copyright The feed-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// maxNesting bounds the objects and lists within each other. Most parsers of JSON take more.
const maxNesting = 64

var errTooLarge = errors.New("it is too large")

// toJSON returns a value as a JSON object: keys in order, times as in RFC 3339, durations as in protobuf's JSON ("1.5s"), bytes in
// base64, no HTML escaped. It stops where that is larger than maxBody: values within values may stand for far more than they take.
// The error is errTooLarge, or says what is no JSON, and where.
func toJSON(value ref.Val) (string, error) {
	if _, isObject := value.(traits.Mapper); !isObject {
		return "", fmt.Errorf(`the expression gives a %s, not a JSON object, such as {"text": title}`, value.Type().TypeName())
	}
	var out encoder
	if err := out.write(value, "", 0); err != nil {
		return "", err
	}
	return out.String(), nil
}

type encoder struct{ bytes.Buffer }

// write appends a value that stands at a place of the body.
func (e *encoder) write(value ref.Val, at string, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("it has more than %d objects and lists within each other", maxNesting)
	}
	switch v := value.(type) {
	case types.Null:
		e.WriteString("null")
	case types.Bool:
		e.WriteString(strconv.FormatBool(bool(v)))
	case types.Int:
		e.WriteString(strconv.FormatInt(int64(v), 10))
	case types.Uint:
		e.WriteString(strconv.FormatUint(uint64(v), 10))
	case types.Double:
		if number := float64(v); math.IsNaN(number) || math.IsInf(number, 0) {
			return fmt.Errorf("%s is a number that JSON cannot hold", place(at))
		}
		return e.plain(float64(v))
	case types.String:
		return e.plain(string(v))
	case types.Bytes:
		return e.plain(base64.StdEncoding.EncodeToString(v))
	case types.Timestamp:
		return e.plain(v.UTC().Format(time.RFC3339Nano))
	case types.Duration:
		return e.plain(strconv.FormatFloat(v.Seconds(), 'f', -1, 64) + "s")
	case *types.Optional:
		if !v.HasValue() {
			return e.write(types.NullValue, at, depth)
		}
		return e.write(v.GetValue(), at, depth)
	case traits.Mapper:
		return e.object(v, at, depth)
	case traits.Lister:
		return e.list(v, at, depth)
	default:
		return fmt.Errorf("%s is a %s, which JSON cannot hold", place(at), value.Type().TypeName())
	}
	return e.bounded()
}

// plain appends a text or a number.
func (e *encoder) plain(value any) error {
	encode := json.NewEncoder(e)
	encode.SetEscapeHTML(false)
	if err := encode.Encode(value); err != nil {
		return err
	}
	e.Truncate(e.Len() - 1) // the end of the line
	return e.bounded()
}

func (e *encoder) bounded() error {
	if e.Len() > maxBody {
		return errTooLarge
	}
	return nil
}

func (e *encoder) object(object traits.Mapper, at string, depth int) error {
	var keys []string
	for every := object.Iterator(); every.HasNext() == types.True; {
		key, isText := every.Next().(types.String)
		if !isText {
			return fmt.Errorf("%s has a key that is no text", place(at))
		}
		keys = append(keys, string(key))
	}
	slices.Sort(keys)
	e.WriteByte('{')
	for i, key := range keys {
		if i > 0 {
			e.WriteByte(',')
		}
		if err := e.plain(key); err != nil {
			return err
		}
		e.WriteByte(':')
		if err := e.write(object.Get(types.String(key)), at+"."+shortened(key), depth+1); err != nil {
			return err
		}
	}
	e.WriteByte('}')
	return e.bounded()
}

func (e *encoder) list(list traits.Lister, at string, depth int) error {
	e.WriteByte('[')
	i := 0
	for every := list.Iterator(); every.HasNext() == types.True; i++ {
		if i > 0 {
			e.WriteByte(',')
		}
		if err := e.write(every.Next(), at+"["+strconv.Itoa(i)+"]", depth+1); err != nil {
			return err
		}
	}
	e.WriteByte(']')
	return e.bounded()
}

// place names a part of the body as an expression would.
func place(at string) string {
	if at == "" {
		return "the body"
	}
	return "the body's " + at
}

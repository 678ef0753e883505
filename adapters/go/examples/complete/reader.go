package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An object keeps the order of its members. Go's own reader does not, takes a name twice, and mends text that is no Unicode.
type object struct {
	names  []string
	values map[string]any
}

// get is a member; nil where it is absent, or null.
func (o *object) get(name string) any {
	if o == nil {
		return nil
	}
	return o.values[name]
}

// set adds a member.
func (o *object) set(name string, value any) {
	o.names, o.values[name] = append(o.names, name), value
}

func newObject() *object { return &object{values: map[string]any{}} }

// MarshalJSON writes the members in their order.
func (o *object) MarshalJSON() ([]byte, error) {
	text := []byte{'{'}
	for n, name := range o.names {
		if n > 0 {
			text = append(text, ',')
		}
		quoted, _ := json.Marshal(name) // of a string, which is no error
		value, err := json.Marshal(o.values[name])
		if err != nil {
			return nil, err
		}
		text = append(append(append(text, quoted...), ':'), value...)
	}
	return append(text, '}'), nil
}

// reader reads JSON as strictly as FMT-01 asks: nil, bool, json.Number, string, []any and *object.
type reader struct {
	text     string
	at       int
	repeated []string // names that occur twice in one object
}

const deepest = 1000

// parse reads a text; an error is S01.
func parse(bytes []byte) (value any, repeated []string, err error) {
	if !utf8.Valid(bytes) {
		return nil, nil, errors.New("the bytes are not UTF-8")
	}
	r := &reader{text: string(bytes)}
	if value, err = r.value(1); err != nil {
		return nil, nil, fmt.Errorf("byte %d: %w", r.at, err)
	}
	if r.space(); r.at < len(r.text) {
		return nil, nil, fmt.Errorf("byte %d: text after the value", r.at)
	}
	return value, r.repeated, nil
}

// look is the byte here; 0 at the end, which no JSON has.
func (r *reader) look() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *reader) space() {
	for c := r.look(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = r.look() {
		r.at++
	}
}

func (r *reader) take(wanted byte) bool {
	r.space()
	if r.look() != wanted {
		return false
	}
	r.at++
	return true
}

func (r *reader) value(depth int) (any, error) {
	if depth > deepest {
		return nil, errors.New("nested deeper than 1000 levels")
	}
	r.space()
	for word, value := range map[string]any{"null": nil, "true": true, "false": false} {
		if strings.HasPrefix(r.text[r.at:], word) {
			r.at += len(word)
			return value, nil
		}
	}
	switch r.look() {
	case '"':
		return r.string()
	case '[':
		r.at++
		items := []any{}
		if r.take(']') {
			return items, nil
		}
		for {
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			if items = append(items, item); !r.take(',') {
				break
			}
		}
		if !r.take(']') {
			return nil, errors.New("`,` or `]` was expected")
		}
		return items, nil
	case '{':
		return r.members(depth)
	}
	return r.number()
}

func (r *reader) members(depth int) (any, error) {
	r.at++
	found := newObject()
	if r.take('}') {
		return found, nil
	}
	for {
		if r.space(); r.look() != '"' {
			return nil, errors.New("a name was expected")
		}
		name, err := r.string()
		if err != nil {
			return nil, err
		}
		if !r.take(':') {
			return nil, errors.New("`:` was expected")
		}
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if _, twice := found.values[name]; twice {
			r.repeated = append(r.repeated, name)
		}
		found.set(name, value)
		if !r.take(',') {
			break
		}
	}
	if !r.take('}') {
		return nil, errors.New("`,` or `}` was expected")
	}
	return found, nil
}

func (r *reader) digits() (count int) {
	for ; r.look() >= '0' && r.look() <= '9'; count++ {
		r.at++
	}
	return count
}

func (r *reader) number() (any, error) {
	from := r.at
	if r.look() == '-' {
		r.at++
	}
	zero := r.look() == '0'
	if count := r.digits(); count == 0 {
		return nil, errors.New("no JSON value")
	} else if zero && count > 1 {
		return nil, errors.New("a leading zero")
	}
	if r.look() == '.' {
		if r.at++; r.digits() == 0 {
			return nil, errors.New("a digit was expected")
		}
	}
	if c := r.look(); c == 'e' || c == 'E' {
		if r.at++; r.look() == '+' || r.look() == '-' {
			r.at++
		}
		if r.digits() == 0 {
			return nil, errors.New("a digit was expected")
		}
	}
	text := r.text[from:r.at]
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return nil, errors.New("a number beyond binary64")
	}
	return json.Number(text), nil
}

// string reads a string, which Go's reader then does: all that it would mend has been looked for.
func (r *reader) string() (string, error) {
	from := r.at
	for r.at++; r.look() != '"'; r.at++ {
		if r.at >= len(r.text) {
			return "", errors.New("the text ends within a string")
		}
		if r.look() < ' ' {
			return "", errors.New("a control character within a string")
		}
		if r.look() != '\\' {
			continue
		}
		if r.at++; r.look() != 'u' {
			continue
		}
		unit, err := r.unit()
		if err == nil && unit >= 0xd800 && unit <= 0xdfff {
			low := 0
			if strings.HasPrefix(r.text[r.at+1:], `\u`) {
				r.at += 2
				low, err = r.unit()
			}
			if err == nil && (unit > 0xdbff || low < 0xdc00 || low > 0xdfff) {
				err = errors.New("half of a surrogate pair")
			}
		}
		if err != nil {
			return "", err
		}
	}
	r.at++
	var text string
	if json.Unmarshal([]byte(r.text[from:r.at]), &text) != nil {
		return "", errors.New("no escape")
	}
	return text, nil
}

// unit reads four hexadecimal digits from behind a `u`, and ends on the last of them.
func (r *reader) unit() (int, error) {
	if r.at+5 > len(r.text) {
		return 0, errors.New("the text ends within an escape")
	}
	value, err := strconv.ParseUint(r.text[r.at+1:r.at+5], 16, 32)
	if err != nil {
		return 0, errors.New("four hexadecimal digits were expected")
	}
	r.at += 4
	return int(value), nil
}

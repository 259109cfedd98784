package client

// Replies that are maps: pairs in RESP3, an array of names and values in turns in
// RESP2. Every field that is asked for must be there and of its type; more may come.

import (
	"fmt"
	"time"
)

// fields is a map that is being read.
type fields struct {
	command string
	whole   any
	values  map[string]any
	err     error
}

// readFields begins a reply that must be a map.
func readFields(command string, reply any) *fields {
	f := &fields{command: command, whole: reply, values: map[string]any{}}
	switch reply := reply.(type) {
	case map[any]any:
		for name, value := range reply {
			f.put(name, value)
		}
	case []any:
		if len(reply)%2 != 0 {
			f.fail("a map")
			break
		}
		for i := 0; i < len(reply); i += 2 {
			f.put(reply[i], reply[i+1])
		}
	default:
		f.fail("a map")
	}
	return f
}

func (f *fields) put(name, value any) {
	text, ok := name.(string)
	if _, twice := f.values[text]; !ok || twice {
		f.fail("names that differ")
	}
	f.values[text] = value
}

func (f *fields) fail(want string) {
	if f.err == nil {
		f.err = &ReplyError{Command: f.command, Want: want, Got: fmt.Sprintf("%#v", f.whole)}
	}
}

func (f *fields) has(name string) bool { _, ok := f.values[name]; return ok }

// one reads a field as the only element of an array, with that reader's rules.
func (f *fields) one(name string, read func(*reader)) {
	value, ok := f.values[name]
	if f.err != nil {
		return
	}
	if !ok {
		f.fail("a field " + name)
		return
	}
	r := &reader{command: f.command, whole: f.whole, list: []any{value}}
	read(r)
	f.err = r.err
}

func (f *fields) integer(name string, low, high int64) (n int64) {
	f.one(name, func(r *reader) { n = r.integer(name, low, high) })
	return n
}

func (f *fields) units(name string, money *bool) (n int64) {
	f.one(name, func(r *reader) { n = r.units(name, money) })
	return n
}

func (f *fields) wait(name string, low int64) (d time.Duration) {
	f.one(name, func(r *reader) { d = r.wait(name, low) })
	return d
}

func (f *fields) instant(name string) (t time.Time) {
	f.one(name, func(r *reader) { t = r.instant(name) })
	return t
}

func (f *fields) text(name string) (s string) {
	f.one(name, func(r *reader) { s = r.textOrNil(name) })
	return s
}

// optional reads a text that need not be there.
func (f *fields) optional(name string) string {
	if !f.has(name) {
		return ""
	}
	return f.text(name)
}

package plans

// Names of states: documented ones, and the two promises for all others.

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// tag is the rule for hash tags, as the shard and Redis Cluster have it.
func tag(key []byte) []byte {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	if n := bytes.IndexByte(key[open+1:], '}'); n > 0 {
		return key[open+1 : open+1+n]
	}
	return key
}

func TestStateNames(t *testing.T) {
	for _, r := range []struct{ key, want, tag string }{
		{"user:42", "{user:42}#rpm", "user:42"},
		{"{acme}7", "{acme}7##rpm", "acme"},
		{"x{acme}", "x{acme}##rpm", "acme"},
		{"{a}{b}", "{a}{b}##rpm", "a"},
		{"a#b", "{a#b}#rpm", "a#b"},
		{"a{b", "{a{b}#rpm", "a{b"},
		{"{", "{{}#rpm", "{"},
		{"a}b", "{a}b}#rpm", "a"},
		{"a}", "{a}}#rpm", "a"},
		{"a{}b", "{a{}b}#rpm", "a{"},
		{"{}{a}", "{{}{a}}#rpm", "{"},
		{"", "{%}%#rpm", "%"},
		{"}", "{%}}%#rpm", "%"},
		{"}{", "{%}{}%#rpm", "%"},
		{"}{a}", "}{a}##rpm", "a"},
		{"{user:42}#rpm", "{user:42}#rpm##rpm", "user:42"},
		{"{%}%", "{%}%##rpm", "%"},
		{"%", "{%}#rpm", "%"},
	} {
		got := AppendStateName([]byte("x")[:0], []byte(r.key), []byte("rpm"))
		if string(got) != r.want || string(tag(got)) != r.tag {
			t.Errorf("%q: got %s with tag %s, want %s with tag %s", r.key, got, tag(got), r.want, r.tag)
		}
	}
}

// checkState fails unless a name gives back key and limit and lives where it must.
func checkState(t *testing.T, key, limit []byte) {
	t.Helper()
	name := AppendStateName(nil, key, limit)
	if gotKey, gotLimit, ok := SplitStateName(name); !ok || !bytes.Equal(gotKey, key) || !bytes.Equal(gotLimit, limit) {
		t.Fatalf("%q and %q are named %q, which says %q and %q", key, limit, name, gotKey, gotLimit)
	}
	if len(name) > len(key)+len(limit)+StateNameBytesMore-NameBytesMax {
		t.Fatalf("%q and %q are named %q, of %d bytes", key, limit, name, len(name))
	}
	base := AppendStateBase(nil, key)
	if !bytes.Equal(tag(base), tag(name)) || len(tag(name)) >= len(name) {
		t.Fatalf("%q: the tag of %q is %q, that of %q is %q", key, base, tag(base), name, tag(name))
	}
	// A key has its tag in common with any other name at all only if the tag can
	// stand between braces, or is the whole of that name.
	if own := tag(key); len(own) > 0 && !bytes.Contains(own, []byte("}")) {
		if !bytes.Equal(own, tag(name)) {
			t.Fatalf("%q lives at %q, its state %q at %q", key, own, name, tag(name))
		}
	}
}

func TestNoStateName(t *testing.T) {
	for _, name := range []string{"", "#", "}#rpm", "%#rpm", "{%#rpm", "{%}#", "k#rpm", "k}#rpm", "{k}%#rpm", "{k}"} {
		if key, limit, ok := SplitStateName([]byte(name)); ok && !bytes.Equal(AppendStateName(nil, key, limit), []byte(name)) {
			t.Errorf("%q is said to be of %q and %q", name, key, limit)
		}
	}
}

func TestStateNamesAreUnique(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	type pair struct{ key, limit string }
	names := map[string]pair{}
	add := func(key, limit string) {
		t.Helper()
		checkState(t, []byte(key), []byte(limit))
		name := string(AppendStateName(nil, []byte(key), []byte(limit)))
		if other, taken := names[name]; taken && other != (pair{key, limit}) {
			t.Fatalf("seed %d: %q is the name of %v and %v", seed, name, other, pair{key, limit})
		}
		names[name] = pair{key, limit}
	}
	// All short keys over the characters that matter, and random longer ones.
	const marks = "{}#%a"
	for size := range 6 {
		total := 1
		for range size {
			total *= len(marks)
		}
		for n := range total {
			key := make([]byte, size)
			for i := range key {
				key[i] = marks[n%len(marks)]
				n /= len(marks)
			}
			add(string(key), "a")
			add(string(key), "a.b")
		}
	}
	for range 20_000 {
		key := make([]byte, random.IntN(20))
		for i := range key {
			key[i] = marks[random.IntN(len(marks))]
		}
		add(string(key), "a")
	}
}

func FuzzStateName(f *testing.F) {
	for _, key := range []string{"", "}", "{}", "{a}", "a}b{c", "{%}%", "#"} {
		f.Add([]byte(key), []byte(key+"x"))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		checkState(t, a, []byte("rpm"))
		checkState(t, b, []byte("rpm"))
		if same := bytes.Equal(AppendStateName(nil, a, []byte("r")), AppendStateName(nil, b, []byte("r"))); same != bytes.Equal(a, b) {
			t.Fatalf("%q and %q share a state", a, b)
		}
	})
}

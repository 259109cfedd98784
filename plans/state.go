package plans

// What the state of a key's limit is named, and where it lives.
//
// A plan keeps no state of its own: each of its limits has one under a name made
// of the key and the limit, whatever the plan is called. The name is
//
//	{key}#limit     user:42 → {user:42}#rpm
//	key##limit      if the key has a hash tag of its own: {acme}7 → {acme}7##rpm
//	{%key}%#limit   if it is empty, or begins with '}' and has no tag
//
// The hash tag of a name is what stands between its first '{' and the first '}'
// after that, if it is not empty; without one the whole name is the tag. It decides
// which shard, and which node of a cluster, a name lives on.
//
// No two pairs of key and limit share a name. A limit's name has no '#', so the
// last '#' of a state's name ends what is before the limit, and that is
//
//	{key}    ends with '}', and between the outer braces is the key,
//	key#     ends with '#', and before that is the key,
//	{%key}%  ends with '%', and between {% and }% is the key:
//
// the last byte says which of the three it is, and each gives the key back.
//
// All limits of a key live together: whatever stands before "#limit" has a tag, so
// the limit's name is never part of it. For {key} with a key that does not begin
// with '}' the tag begins at the key's first byte, which makes it not empty; for
// key# it is the key's own; for {%key}% it begins with the '%'.
//
// They live where their key lives, if that is possible: a key without any '}' is
// the tag of {key}, and key# has the tag of its key. What is left are the keys
// without a tag of their own that are empty or hold a '}'. The tag of such a key is
// the key itself, and no name but the key itself can have that tag, since a tag
// between braces is neither empty nor holds a '}'. Therefore calls with a plan are
// routed by the tag of the state's base, for all keys alike; for the few whose tag
// is another than the key's own this is the only difference.

import "bytes"

// AppendStateName writes the name of the state that a key has under a limit.
func AppendStateName(dst, key, limit []byte) []byte {
	dst = AppendStateBase(dst, key)
	dst = append(dst, '#')
	return append(dst, limit...)
}

// AppendStateBase writes what the names of all of a key's states begin with. A
// Limit's Suffix makes a name of it. Its hash tag is the tag of all these names:
// who routes a call with a plan routes by it.
func AppendStateBase(dst, key []byte) []byte {
	switch {
	case hasTag(key):
		dst = append(dst, key...)
		return append(dst, '#')
	case len(key) == 0 || key[0] == '}':
		dst = append(dst, '{', '%')
		dst = append(dst, key...)
		return append(dst, '}', '%')
	}
	dst = append(dst, '{')
	dst = append(dst, key...)
	return append(dst, '}')
}

// SplitStateName gives back the key and the limit that a state is named after; ok is
// false where a name is none of a state's.
func SplitStateName(name []byte) (key, limit []byte, ok bool) {
	at := bytes.LastIndexByte(name, '#')
	if at < 1 {
		return nil, nil, false
	}
	base, limit := name[:at], name[at+1:]
	switch base[at-1] {
	case '#':
		return base[:at-1], limit, true
	case '}':
		if at >= 2 && base[0] == '{' {
			return base[1 : at-1], limit, true
		}
	case '%':
		if at >= 4 && bytes.HasPrefix(base, []byte("{%")) && base[at-2] == '}' {
			return base[2 : at-2], limit, true
		}
	}
	return nil, nil, false
}

// StateNameBytesMore is how much longer than its key the name of a state may be.
const StateNameBytesMore = 5 + NameBytesMax

// hasTag says whether a key has a hash tag of its own.
func hasTag(key []byte) bool {
	open := bytes.IndexByte(key, '{')
	return open >= 0 && bytes.IndexByte(key[open+1:], '}') > 0
}

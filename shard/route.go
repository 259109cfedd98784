package shard

// Which shard a key lives on. This is the one place that knows the rule.

import "bytes"

// Tag returns the part of a key that decides where it lives: what stands
// between the first '{' and the first '}' after it, if that is not empty, else
// the whole key. It is the rule of Redis Cluster, so keys that belong together
// can be put together by giving them one tag.
func Tag(key []byte) []byte {
	open := bytes.IndexByte(key, '{')
	if open < 0 {
		return key
	}
	if n := bytes.IndexByte(key[open+1:], '}'); n > 0 {
		return key[open+1 : open+1+n]
	}
	return key
}

// Route picks one of n shards by the xxhash64 of a key's tag: its high 32 bits
// as a fraction, times n.
func Route(tagHash uint64, n int) int {
	return int(tagHash >> 32 * uint64(n) >> 32)
}

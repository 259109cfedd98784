package bench

// Which shard a hash tag lives on: what the protocol promises of placing, so that a call can be sent to one shard or to two.

import (
	"math/bits"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// tagOn returns a hash tag that lives on shard n of so many: the xxhash64 of the tag, multiplied and shifted.
func tagOn(n, of int) string {
	for i := 0; ; i++ {
		tag := "t" + strconv.Itoa(i)
		if at, _ := bits.Mul64(xxhash.Sum64String(tag), uint64(of)); int(at) == n {
			return tag
		}
	}
}

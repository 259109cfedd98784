package bench

// Which key comes next. Keys are numbers here, written into requests as user:000000000042, 20 bytes with what stands
// around them in most of them. Everything random has a seed, so that each server gets the same keys in the same order.

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
)

// keyDigits is how many digits a key's number is written with.
const keyDigits = 15

// KeysMax bounds Keys.Count.
const KeysMax = 1_000_000_000

// zipfExponent makes the hottest of 100,000 keys get about 12 % of the calls.
const zipfExponent = 1.05

// Keys is a distribution over a number of keys.
type Keys struct {
	Kind  string // one of KeyKinds
	Count uint64
	First uint64 // the first number, for new
}

// KeyKinds are the distributions: every key alike, few keys often, one key only, each key once, and one after the other
// for ever.
var KeyKinds = []string{"uniform", "zipf", "hot", "new", "each"}

// ParseKeys reads KIND:COUNT, such as zipf:100000.
func ParseKeys(text string) (Keys, error) {
	kind, count, ok := strings.Cut(text, ":")
	k := Keys{Kind: kind, Count: 1}
	if ok {
		n, err := strconv.ParseUint(count, 10, 64)
		if err != nil {
			return k, fmt.Errorf("keys must be KIND:COUNT such as uniform:100000, got %q", text)
		}
		k.Count = n
	}
	return k, k.check()
}

func (k Keys) check() error {
	if k.Count < 1 || k.Count > KeysMax {
		return fmt.Errorf("the number of keys must be from 1 to %d, got %d", KeysMax, k.Count)
	}
	for _, kind := range KeyKinds {
		if k.Kind == kind {
			return nil
		}
	}
	return fmt.Errorf("keys are %s, got %q", strings.Join(KeyKinds, ", "), k.Kind)
}

// next returns a function that draws keys.
func (k Keys) next(seed uint64) func() uint64 {
	random := rand.NewPCG(seed, 0x51)
	switch k.Kind {
	case "zipf":
		z := rand.NewZipf(rand.New(random), zipfExponent, 1, k.Count-1)
		// The hot keys are not neighbours.
		return func() uint64 { return z.Uint64() * 7919 % k.Count }
	case "hot":
		return func() uint64 { return k.First }
	case "new":
		at := k.First
		return func() uint64 { at++; return at - 1 }
	case "each":
		at := k.Count - 1
		return func() uint64 {
			if at++; at == k.Count {
				at = 0
			}
			return at
		}
	}
	return func() uint64 {
		n, _ := bits.Mul64(random.Uint64(), k.Count)
		return n
	}
}

package algorithms

import (
	"testing"
	"time"
)

// BenchmarkDecide measures one decision that spends, a key in steady use: half
// of the calls pass, as on a key at its limit.
func BenchmarkDecide(b *testing.B) {
	for _, a := range Rates() {
		b.Run(a.Name, func(b *testing.B) {
			l, err := NewLimit(Spec{Algorithm: a.ID, Units: 100, Window: uint64(time.Second)}, LogLimitMaxDefault)
			if err != nil {
				b.Fatal(err)
			}
			k := &Stored{Log: new(Log)}
			c, d := &Call{Limit: &l, Cost: 1}, &Decision{}
			now := uint64(1_800_000_000 * time.Second)
			passed := 0
			b.ReportAllocs()
			for b.Loop() {
				now += uint64(5 * time.Millisecond)
				c.Now = now
				Allow(c, k, d)
				if d.Allowed {
					passed++
				}
			}
			if passed == 0 || passed > b.N/2+101 {
				b.Fatalf("%d of %d calls passed", passed, b.N)
			}
		})
	}
}

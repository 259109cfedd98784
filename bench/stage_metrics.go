package bench

// What metrics cost: this server beside one that was built without them, in turns. The best turn of each counts, for who
// else is at work on the machine only ever adds.

import "fmt"

func (r *runner) metrics() error {
	if r.Unmeasured == "" {
		r.progress("metrics: left out, as --unmeasured names no server without them (`make bench-metrics`)")
		return nil
	}
	with, err := r.startSluice("--dir", "")
	if err != nil {
		return err
	}
	port := r.Port + portRedis
	without, err := r.start(port, r.Unmeasured, "serve", "--listen", fmt.Sprintf("127.0.0.1:%d", port), "--dir", "", "--log-level", "warn")
	if err != nil {
		return err
	}
	sec := r.section("metrics", "What metrics cost", fmt.Sprintf(
		"This server beside one built with `-tags unmeasured`, in turns; %s uniform keys, a closed loop.", Whole(keysLive)),
		"pipeline", "server CPU µs a request, least", "without metrics", "more")
	for _, depth := range []int{100, 16} {
		got, err := r.race(fmt.Sprintf("metrics/p%d", depth), r.load(depth), []contender{
			{name: "with metrics", id: "with", server: with, request: requestOf(CountFirst, 1, bucketLine), bound: bucketBound},
			{name: "without", id: "without", server: without, request: requestOf(CountFirst, 1, bucketLine), bound: bucketBound},
		})
		if err != nil {
			return err
		}
		more, less := got["with"].of(cpu).min(), got["without"].of(cpu).min()
		sec.row(fmt.Sprint(depth), fmt.Sprintf("%.3f", more), fmt.Sprintf("%.3f", less), fmt.Sprintf("%+.1f %%", (more/less-1)*100))
	}
	return nil
}

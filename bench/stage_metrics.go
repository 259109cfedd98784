package bench

// What metrics cost: this server beside one that was built without them, in turns. The best turn of each counts, for who
// else is at work on the machine only ever adds. A second server with metrics takes turns with both: by how much it
// differs from the first is what a difference here may be without any cause.

import "fmt"

// shortTurns is how many turns are made of one, so that more of them are undisturbed.
const shortTurns = 4

func (r *runner) metrics() error {
	if r.Unmeasured == "" {
		r.progress("metrics: left out, as --unmeasured names no server without them (`make bench-metrics`)")
		return nil
	}
	all := []contender{{id: "with", name: "with metrics"}, {id: "without", name: "without"}, {id: "again", name: "with metrics again"}}
	for i, binary := range []string{r.Binary, r.Unmeasured, r.Binary} {
		port := r.Port + portSluice + i
		s, err := r.start(port, binary, "serve", "--listen", fmt.Sprintf("127.0.0.1:%d", port), "--dir", "", "--log-level", "warn")
		if err != nil {
			return err
		}
		all[i].server, all[i].request, all[i].bound = s, requestOf(CountFirst, 1, bucketLine), bucketBound
	}
	sec := r.section("metrics", "What metrics cost", fmt.Sprintf(
		"This server beside one built with `-tags unmeasured` and beside itself, in %d turns of %v each; %s uniform keys, a closed loop. The last column is what a difference may be without any cause.",
		shortTurns*r.Rounds, r.Turn/shortTurns, Whole(keysLive)),
		"pipeline", "server CPU µs a request, least", "without metrics", "more", "the same server again")
	for _, depth := range []int{100, 16} {
		load := r.load(depth)
		load.Duration /= shortTurns
		got, err := r.rounds(shortTurns*r.Rounds, fmt.Sprintf("metrics/p%d", depth), load, all)
		if err != nil {
			return err
		}
		least := func(id string) float64 { return got[id].of(cpu).min() }
		against := func(other string) string { return fmt.Sprintf("%+.1f %%", (least("with")/least(other)-1)*100) }
		sec.row(fmt.Sprint(depth), fmt.Sprintf("%.3f", least("with")), fmt.Sprintf("%.3f", least("without")), against("without"), against("again"))
	}
	return nil
}

package bench

// One run of the load generator: how many connections ask what, how fast, for how long; and what came of it. A closed loop
// sends the next requests of a connection when all before have been answered, and finds out how much a server can do. An
// open loop sends at a fixed rate whatever the server does, and finds out how long callers wait: latency counts from the
// instant at which a request was meant to be sent, so a server that stalls is charged with everything that queued up.

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// ConnectionsMax bounds Load.Connections.
	ConnectionsMax = 20_000
	// PipelineMax bounds Load.Pipeline.
	PipelineMax = 10_000
	// DurationMax bounds Load.Duration.
	DurationMax = time.Hour

	latencyMin    = time.Microsecond
	latencyMax    = time.Minute
	latencyDigits = 3
	// drainMax is how long a run waits for the last replies.
	drainMax = 30 * time.Second
)

// Load describes a run. It ends after Duration or Requests, whichever is first; one of them must be given.
type Load struct {
	Addr        string
	Dial        func(context.Context) (net.Conn, error) // makes a connection that is ready for requests, which Run closes; nil: TCP to Addr
	Request     *Request
	Keys        Keys
	Connections int
	Pipeline    int           // requests that a connection has under way; in an open loop the most it may have
	Rate        float64       // requests a second of an open loop; 0 for a closed one
	Duration    time.Duration // 0: until Requests
	Requests    uint64        // 0: until Duration
	Seed        uint64
	Seen        func([]byte) // if not nil, is given every reply; slow
}

// Outcome is what a run gave.
type Outcome struct {
	Requests   uint64 // answered
	Admitted   uint64 // decisions that let pass, as Request.Counts has it
	Errors     uint64
	FirstError string
	Elapsed    time.Duration           // from the first request to the last reply
	Latency    *hdrhistogram.Histogram // in nanoseconds
}

// PerSecond is the rate at which requests were answered.
func (o *Outcome) PerSecond() float64 { return float64(o.Requests) / o.Elapsed.Seconds() }

// Quantile is the latency that q per cent of the requests did not exceed.
func (o *Outcome) Quantile(q float64) time.Duration {
	return time.Duration(o.Latency.ValueAtQuantile(q))
}

// String is what a person wants to know.
func (o *Outcome) String() string {
	text := fmt.Sprintf("%d requests in %v: %s a second, %d passed; waits p50 %v, p90 %v, p99 %v, p99.9 %v, longest %v",
		o.Requests, o.Elapsed.Round(time.Millisecond), Whole(o.PerSecond()), o.Admitted,
		o.Quantile(50), o.Quantile(90), o.Quantile(99), o.Quantile(99.9), o.Quantile(100))
	if o.Errors > 0 {
		text += fmt.Sprintf("; %d errors, the first is %q", o.Errors, o.FirstError)
	}
	return text
}

// Check says what is wrong with a load.
func (l *Load) Check() error {
	switch {
	case l.Connections < 1 || l.Connections > ConnectionsMax:
		return fmt.Errorf("connections must be from 1 to %d, got %d", ConnectionsMax, l.Connections)
	case l.Pipeline < 1 || l.Pipeline > PipelineMax:
		return fmt.Errorf("pipeline must be from 1 to %d, got %d", PipelineMax, l.Pipeline)
	case l.Duration < 0 || l.Duration > DurationMax:
		return fmt.Errorf("duration must be at most %v, got %v", DurationMax, l.Duration)
	case l.Duration == 0 && l.Requests == 0:
		return fmt.Errorf("a run must end: give a duration or a number of requests")
	case l.Rate < 0:
		return fmt.Errorf("rate must be 0 (as fast as it goes) or more, got %v", l.Rate)
	}
	return l.Keys.check()
}

// Loopback refuses an address that is not this machine's, unless remote is allowed: load is pointed at another machine only
// by somebody who says so.
func Loopback(addr string, remote bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("an address must be HOST:PORT, got %q", addr)
	}
	ip := net.ParseIP(host)
	if remote || host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("%s is not this machine; --allow-remote lets load go there", addr)
}

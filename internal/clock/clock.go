// Package clock is the one place where Sluice asks what time it is. Everything else takes the time as an argument.
//
// Server time is an unsigned 64-bit count of nanoseconds since the Unix epoch, from 1970 to 2200. It is the wall clock
// read once, at start (or the last recorded time, if that is later), plus the boot time that has gone by since:
//
//	server time = max(wall at start, last recorded) + (boot now − boot at start)
//
// Boot time never stops and never steps: it counts while the machine is suspended, and nobody can set it. So a wall
// clock that an administrator or NTP puts back or forward is not felt by any limit, a limit of an hour ends after an
// hour whether or not the lid was closed, and a restart never goes back before what is already on disk. How far the
// wall clock has wandered off is there to be shown (Server.Offset), and can be corrected slowly (SlewToWall).
//
//	source, err := clock.NewOS()
//	server, err := clock.NewServer(source, lastRecorded)
//	now := server.Now()
//
// Tests and documentation use Test, which stands still until it is told otherwise.
package clock

// Clock tells server time. Every implementation may be used by any number of goroutines at once.
type Clock interface {
	// Now returns server time in nanoseconds since the Unix epoch, at most InstantNsMax.
	Now() uint64
}

// The limits of server time. All are nanoseconds.
const (
	// InstantNsMax is the last instant there is: 2200-01-01T00:00:00Z. A clock that gets there stays there.
	InstantNsMax uint64 = 7_258_118_400_000_000_000

	// BehindNsMax is how far behind the last recorded time the wall clock may be at a start that nobody waved through.
	BehindNsMax uint64 = 24 * 3600 * nsPerSecond

	// OffsetWarnNs is the distance between wall clock and server time, either way, above which a server should warn.
	OffsetWarnNs int64 = nsPerSecond

	// T0Ns is the instant at which a Test clock stands when it is new: 2027-01-15T08:00:00Z.
	T0Ns uint64 = 1_800_000_000 * nsPerSecond
)

const (
	nsPerSecond = 1_000_000_000
	nsPerMs     = 1_000_000
)

// Interface checks: whatever serves as a clock or as a source says so here.
var (
	_ Clock  = (*Server)(nil)
	_ Clock  = (*Test)(nil)
	_ Source = (*OS)(nil)
)

package main

// What goes on beside serving: telling systemd how things are, watching the wall
// clock, and the log's form.

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"sluice/internal/clock"
)

// handler makes the log's handler: for people on a terminal, JSON elsewhere.
func handler(w io.Writer, format string, level slog.Leveler) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: durations}
	if format == "text" || format == "auto" && isTerminal(w) {
		return slog.NewTextHandler(w, options)
	}
	return slog.NewJSONHandler(w, options)
}

// durations has JSON tell a duration as text does, 37.7ms, and not by a number whose
// unit one has to know.
func durations(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// isTerminal says whether something is a character device, as terminals are.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// notify tells systemd something, where it has started the server. What cannot be
// told is logged; nothing depends on it.
func (f *service) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		f.log.Warn("systemd cannot be told", "state", state, "error", err)
	}
}

// notifyReloading tells that the configuration is being read; READY=1 has to follow.
// Without the time in it systemctl reload would wait forever.
func (f *service) notifyReloading() {
	f.notify(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
}

// lookInterval is how often the wall clock is looked at, and the least time between
// two signs of life.
const lookInterval = time.Second

// roomInterval is for how long no call may have been refused for want of room until the
// log says that there is room.
const roomInterval = time.Minute

// shortage is what is known of calls that are refused for want of room.
type shortage struct {
	refused uint64        // how many have been
	quiet   time.Duration // since the last one
}

// look takes how many have been refused by now, every lookInterval, and says whether
// that has begun, or has been over for long enough.
func (s *shortage) look(refused uint64) (begun, over bool) {
	if refused > s.refused {
		begun, s.quiet = s.quiet >= roomInterval, 0
	} else {
		s.quiet += lookInterval
		over = s.quiet == roomInterval
	}
	s.refused = refused
	return begun, over
}

// look watches until the channel is closed: it warns while the wall clock is too far
// from server time, and while there is no room for new keys, corrects server time where
// that is wanted, and gives systemd a sign of life as long as limiting works.
func (f *service) look(t *timekeeper, quit <-chan struct{}) {
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		f.log.Warn("the watchdog of systemd is not understood", "error", err)
	}
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	far := false
	room := shortage{refused: f.server.Full(), quiet: roomInterval}
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
		}
		t.correct()
		if is := abs(t.Offset()) > clock.OffsetWarnNs; is != far {
			far = is
			if far {
				f.log.Warn("the wall clock is off server time, which goes on as it was at the start; --slew lets it follow slowly",
					"offset", time.Duration(t.Offset()).Round(time.Millisecond))
			} else {
				f.log.Info("the wall clock is near server time again")
			}
		}
		switch begun, over := room.look(f.server.Full()); {
		case begun:
			f.log.Error("there is no room: calls that need more get OOM and are not decided",
				"max-keys", f.Text("max-keys"), "max-memory", f.Text("max-memory"))
		case over:
			f.log.Info("no call was refused for want of room for a minute")
		}
		if watchdog > 0 && f.server.Works() {
			f.notify(daemon.SdNotifyWatchdog)
		}
	}
}

func abs(n int64) int64 { return max(n, -n) }

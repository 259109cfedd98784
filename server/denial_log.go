package server

// The log of denials: who was limited, for those who keep logs. It costs a decision
// nothing, whether it is on or not: ten times a second it looks at what the shards
// remember anyway (shard/watch.go), draws one of so many, and logs that. What it could
// not log, because there were more than are remembered or than may be logged, it counts
// and says so.
//
// A key is logged as its HMAC-SHA-256 unless it is asked for plain: who reads the log
// can tell two callers apart and follow one, and who knows the secret can compute which
// one, but nobody else can try out names.

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"time"

	"sluice/algorithms"
	"sluice/plans"
	"sluice/shard"
)

const (
	// DenialLinesPerSecondMax is how many denials are logged in a second.
	DenialLinesPerSecondMax = 1000
	// DenialHashBytes is how much of a key's hash is logged.
	DenialHashBytes = 16

	denialLogInterval = 100 * time.Millisecond
	denialLinesALook  = DenialLinesPerSecondMax / int(time.Second/denialLogInterval)
)

// denialLog is what the log of denials knows. Only one goroutine looks at a time, and
// after all Close.
type denialLog struct {
	secret []byte
	random *mathrand.Rand
	on     bool
	seen   []uint64 // by shard, the number of the last denial that was looked at
	room   int      // lines that may be logged now
	unseen uint64   // denials that others took the place of before they were looked at
	over   uint64   // denials that were drawn when there was no room
}

func (l *denialLog) begin(s *Server) {
	config := s.config()
	l.secret = []byte(config.DenialLogSecret)
	if len(l.secret) == 0 {
		l.secret = []byte(rand.Text())
	}
	l.random = mathrand.New(mathrand.NewPCG(s.random.Uint64(), s.random.Uint64()))
	l.on = config.DenialLog > 0
	l.seen = make([]uint64, s.shards.Len())
	l.room = DenialLinesPerSecondMax
}

// logDenials is one look. What was denied before the log was switched on is not logged.
func (s *Server) logDenials() {
	l, config := &s.denialLog, s.config()
	was := l.on
	if l.on = config.DenialLog > 0; !l.on {
		return
	}
	l.room = min(l.room+denialLinesALook, DenialLinesPerSecondMax)
	var list []shard.Denial
	_ = s.shards.Each(func(n int, c *shard.Core, _ uint64) {
		before, newest := l.seen[n], uint64(0)
		met := uint64(0)
		c.Denials(func(d *shard.Denial) bool {
			newest = max(newest, d.Number)
			if !was || d.Number <= before {
				return false
			}
			met++
			switch {
			case l.random.IntN(config.DenialLog) > 0:
			case len(list) < l.room:
				list = append(list, *d)
			default:
				l.over++
			}
			return true
		})
		if l.seen[n] = max(before, newest); was {
			l.unseen += l.seen[n] - before - met
		}
	}) // a shard that has failed has no denials; who calls it is told why
	l.room -= len(list)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b shard.Denial) int { return cmp.Compare(a.Time, b.Time) })
	for i := range list {
		s.log.LogAttrs(context.Background(), slog.LevelInfo, "denied", s.aboutDenial(&list[i])...)
	}
	if l.room > 0 && l.unseen+l.over > 0 {
		s.log.Info("denials are missing from the log: there were too many at once", "unseen", l.unseen, "drawn", l.over)
		l.unseen, l.over = 0, 0
	}
}

// aboutDenial is what is logged of a denial; names as RL.DENIALS has them.
func (s *Server) aboutDenial(d *shard.Denial) []slog.Attr {
	config, of, key := s.config(), s.labelsOf(d.Series()), d.Key()
	if of.plan != "" && !d.Cut() {
		if named, _, ok := plans.SplitStateName(key); ok {
			key = named
		}
	}
	list := []slog.Attr{slog.Uint64("time_ms", d.Time/nanosPerMilli)}
	if config.DenialLogHashed {
		list = append(list, slog.String("key_hash", s.denialLog.hash(key)))
	} else {
		list = append(list, slog.String("key", escapedKey(key)))
	}
	if d.Cut() {
		list = append(list, slog.Bool("cut", true))
	}
	for _, label := range [][2]string{{"plan", of.plan}, {"limit", of.limit}, {"rule", of.rule}} {
		if label[1] != "" {
			list = append(list, slog.String(label[0], label[1]))
		}
	}
	return append(list, slog.String("algorithm", of.algorithm.String()), slog.String("cost", fmt.Sprint(amountOf(d.Cost, algorithms.Of(of.algorithm).Kind))),
		slog.Int64("retry_after_ms", d.Wait), slog.Uint64("client", uint64(d.Client)), slog.Int("one_of", config.DenialLog))
}

// escapedKey is a key for people and programs: what is no text in it, a quotation mark or a
// backslash is escaped as in Go, so that no two keys look alike.
func escapedKey(key []byte) string {
	q := strconv.Quote(string(key))
	return q[1 : len(q)-1]
}

// hash is what stands for a key.
func (l *denialLog) hash(key []byte) string {
	mac := hmac.New(sha256.New, l.secret)
	mac.Write(key)
	return hex.EncodeToString(mac.Sum(nil)[:DenialHashBytes])
}

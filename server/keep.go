package server

// What the server has to do with the disk: commands that save, and what commands
// get while data are loaded or while the journal cannot keep its promise.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/redcon"

	"sluice/internal/keeper"
	"sluice/shard"
)

// Keeper keeps the server's state. The server asks it nothing while it loads.
type Keeper interface {
	// Save writes a snapshot and returns when it is there.
	Save() error
	// SaveLast is Save for the end: it waits for one that is being written first.
	SaveLast() error
	// BackgroundSave begins one and returns.
	BackgroundSave() error
	// Refusing tells why nothing may be spent at present, nil if it may.
	Refusing() error
	Status() keeper.Status
}

// Loading tells how far the loading of data is, and when it began (ns since 1970).
// A server whose keeper has data to load must begin in it: it would ask the keeper
// too early.
type Loading struct {
	Done, Total int64
	Since       uint64
}

// SetLoading says that the server loads its data; nil, that it has done so.
// Meanwhile commands that need them are answered with LOADING.
func (s *Server) SetLoading(l *Loading) { s.loading.Store(l) }

// restraint is what holds commands back at one moment.
type restraint struct {
	loading  *Loading
	refusing error
}

// restrained looks at what holds commands back now.
func (s *Server) restrained() (r restraint, any bool) {
	if r.loading = s.loading.Load(); r.loading != nil {
		return r, true
	}
	if s.keeper != nil {
		r.refusing = s.keeper.Refusing()
	}
	return r, r.refusing != nil
}

// check returns the error that a command gets, if it is held back as a whole. One
// that is about keys goes on to be parsed, and then tame looks at what it asks.
func (r restraint) check(c *Command) error {
	if r.loading != nil && c.Flags&FlagLoading == 0 {
		return fmt.Errorf("LOADING Sluice is loading its data, %d of %d bytes", r.loading.Done, r.loading.Total)
	}
	return nil
}

// checkAlone returns the error that a command gets that would be done alone, and
// cannot be tamed.
func (r restraint) checkAlone(c *Command) error {
	if r.refusing != nil && c.Flags&FlagWrite != 0 && c.Flags&FlagAdmin == 0 {
		return errUnsaved(r.refusing)
	}
	return nil
}

// tame makes operations harmless while nothing may be spent. Those that would spend
// are tried only: a denial is told as ever, and what would pass is told why it does
// not. Nothing may be reset.
func (r restraint) tame(ops []shard.Op) error {
	if r.refusing == nil {
		return nil
	}
	for i := range ops {
		op := &ops[i]
		if op.Again != nil { // what it was answered may not be on disk
			return errUnsaved(r.refusing)
		}
		switch op.Kind {
		case shard.Allow:
			op.Kind = shard.Try
		case shard.Reset, shard.Debit, shard.Refund, shard.Release, shard.Renew, shard.Lease, shard.Return, shard.Report:
			return errUnsaved(r.refusing)
		}
	}
	return nil
}

// errUnsaved is what a command gets that the journal cannot make durable.
func errUnsaved(cause error) error {
	return fmt.Errorf("MISCONF the journal cannot be written, so nothing that spends is acknowledged until it can: %w", cause)
}

// unsaved is the error for an operation whose records did not become durable.
func (s *session) unsaved() string {
	if cause := s.restraint.refusing; cause != nil {
		return errUnsaved(cause).Error()
	}
	return s.server.unsaved()
}

// unsaved is the same where nothing is known of the moment it was read in.
func (s *Server) unsaved() string {
	var cause error
	if s.keeper != nil {
		if cause = s.keeper.Refusing(); cause == nil {
			cause = errors.New(s.keeper.Status().LastError)
		}
	}
	return errUnsaved(cause).Error()
}

var errNothingKept = errors.New(`ERR nothing is kept: the server was started with --dir ""`)

func runSave(s *session, out []byte, _ [][]byte) ([]byte, error) {
	if s.server.keeper == nil {
		return nil, errNothingKept
	}
	if err := s.server.keeper.Save(); err != nil {
		return nil, fmt.Errorf("ERR %w", err)
	}
	return redcon.AppendOK(out), nil
}

func runBackgroundSave(s *session, out []byte, args [][]byte) ([]byte, error) {
	if s.server.keeper == nil {
		return nil, errNothingKept
	}
	if len(args) > 1 && !strings.EqualFold(string(args[1]), "SCHEDULE") {
		return nil, fmt.Errorf("ERR BGSAVE takes SCHEDULE or nothing, got '%s'", show(args[1]))
	}
	if err := s.server.keeper.BackgroundSave(); err != nil {
		return nil, fmt.Errorf("ERR %w", err)
	}
	return redcon.AppendString(out, "Background saving started"), nil
}

func runLastSave(s *session, out []byte, _ [][]byte) ([]byte, error) {
	var at uint64
	if s.server.keeper != nil {
		at = s.server.keeper.Status().LastSave
	}
	return redcon.AppendInt(out, int64(at/(1000*nanosPerMilli))), nil
}

// runShutdown ends the server, after a snapshot unless NOSAVE says otherwise or
// nothing has been loaded yet. It has no reply when it works: the connection is
// closed.
func runShutdown(s *session, out []byte, args [][]byte) ([]byte, error) {
	save := s.server.keeper != nil && s.server.loading.Load() == nil
	if len(args) > 1 {
		switch strings.ToUpper(string(args[1])) {
		case "NOSAVE":
			save = false
		case "SAVE":
			if s.server.keeper == nil {
				return nil, errNothingKept
			}
		default:
			return nil, fmt.Errorf("ERR SHUTDOWN takes SAVE, NOSAVE or nothing, got '%s'", show(args[1]))
		}
	}
	if s.server.shutdown == nil {
		return nil, errors.New("ERR this server cannot be ended by a command")
	}
	if save {
		if err := s.server.keeper.SaveLast(); err != nil {
			return nil, fmt.Errorf("ERR not ended, because the snapshot failed; SHUTDOWN NOSAVE ends without one: %w", err)
		}
	}
	s.closing = true
	s.server.shutdown()
	return out, nil
}

// Package settings is the table of settings: one row each, from which come the
// flags of the command line, the variables of the environment, the fields of the
// file's section server, CONFIG GET and SET, and docs/settings.md.
//
//	settings.go   what a row and a Config are
//	table.go      the rows
//	fields.go     the kinds of values: addresses, sizes, durations, words, …
//	load.go       one Config out of defaults, file, environment and flags
//	live.go       the Config of a running server, which commands and reloads change
//	show.go       a Config for people; the commented file
//
// A new setting is a field of Config and a row.
package settings

import (
	"log/slog"
	"strings"
	"time"

	"sluice/persistence"
)

// Config is what a server is told, checked. It is not changed once it is made.
type Config struct {
	File string // of configuration; "": none

	Listen         []string
	TLSListen      []string
	TLSCert        string
	TLSKey         string
	TLSClientCA    string
	UnixSocket     string
	UnixSocketMode uint32
	Shards         int
	Drain          time.Duration
	TestClock      bool

	MaxClients     int
	IdleTimeout    time.Duration
	TCPKeepAlive   time.Duration
	OutputMax      int64 // bytes
	OutputSoft     int64 // bytes
	OutputSoftTime time.Duration

	RequirePass     string
	RequirePassFile string
	ACLFile         string
	ProtectedMode   bool

	Admin      string // address; "": none
	AdminToken string // "": none
	Pprof      bool

	LogLevel  slog.Level
	LogFormat string
	SlowLog   time.Duration

	DenialLog       int // one of how many is logged; 0: none
	DenialLogHashed bool
	DenialLogSecret string // "": one that nobody knows

	EnableDebug bool
	Slew        bool

	AllowClockBehind bool
	Dir              string
	Journal          persistence.Mode
	SnapshotEvery    time.Duration
	SnapshotJournal  int64 // bytes
	OnDiskError      string

	MaxMemory     int64 // bytes
	MaxKeys       int
	OnFull        string
	SlidingLogMax uint64

	given  map[string]given
	beaten []Beaten
}

// given is what a row was given, and by whom.
type given struct {
	text string
	from Origin
}

// Source is where a value may come from. A later one beats an earlier one.
type Source int

// The sources, weakest first.
const (
	Default Source = iota
	File
	Environment
	Flag
	Command
)

// Origin is where a value came from: the source, and the place in it, as
// sluice.yaml:3, SLUICE_LISTEN, --listen.
type Origin struct {
	Source Source
	Place  string
}

// String is the origin for people.
func (o Origin) String() string {
	switch o.Source {
	case File:
		return "file " + o.Place
	case Environment:
		return "environment " + o.Place
	case Flag:
		return "flag " + o.Place
	case Command:
		return "CONFIG SET"
	}
	return "default"
}

// Row is one setting.
type Row struct {
	Name    string // as flags and CONFIG have it: max-memory
	Group   string // of the help and the reference
	Arg     string // what stands for the value in the help; "": true or false
	Default string
	Said    string // the default in words, where it depends on the machine
	Summary string // one line, in small letters
	Example string // what the commented file shows, where the default shows little

	// Live: CONFIG SET and a reload change it. All others are read at start.
	Live bool
	// Outside: it cannot stand in the file.
	Outside bool
	// Secret: it has no flag, which every user of the machine could read, and its
	// value is never shown.
	Secret bool

	field field
}

// Groups are those of the rows, in the order in which people read them.
var Groups = []string{"Server", "Connections", "TLS", "Access", "Admin listener", "State on disk", "Memory and bounds", "Log", "Clock"}

// Env is the variable of the environment: SLUICE_MAX_MEMORY.
func (r *Row) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(r.Name, "-", "_"))
}

// EnvPrefix begins the names of all variables.
const EnvPrefix = "SLUICE_"

// Key is the name in the file: max_memory.
func (r *Row) Key() string { return strings.ReplaceAll(r.Name, "-", "_") }

// Toggle says whether the setting is true or false.
func (r *Row) Toggle() bool { return r.Arg == "" }

// Check reads a value and says what is wrong with it: "must be …, got …".
func (r *Row) Check(text string) error { return r.field(&Config{}, text) }

// ByName finds a row, nil if there is none.
func ByName(name string) *Row { return byName[name] }

// canonical is the name of a row for one that a file may write: max_memory, and
// tls.cert for tls-cert.
func canonical(name string) string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(name)
}

var byName = make(map[string]*Row)

func init() {
	for i := range Rows {
		byName[Rows[i].Name] = &Rows[i]
	}
}

// Text is what a setting was given, as it was written.
func (c *Config) Text(name string) string { return c.given[name].text }

// Origin is where a setting's value came from.
func (c *Config) Origin(name string) Origin { return c.given[name].from }

// shown is the value for those who may look.
func (c *Config) shown(r *Row) string {
	if text := c.Text(r.Name); !r.Secret || text == "" {
		return text
	}
	return "(hidden)"
}

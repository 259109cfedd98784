// The four promises about what a crash can take away: the modes of the journal, from the dearest to the cheapest, and
// their names.

package persistence

import "fmt"

// Mode says when a batch counts as committed.
type Mode uint8

const (
	// Always: when it is durable. One sync for all batches that have gathered meanwhile.
	Always Mode = iota
	// EverySec: when it is written. It is durable within a second, unless Fault says otherwise.
	EverySec
	// OSDecides: when it is written. The operating system makes it durable when it likes; a killed process loses nothing.
	OSDecides
	// Off: at once. Nothing is journaled; snapshots work.
	Off
)

var modeNames = [...]string{Always: "always", EverySec: "everysec", OSDecides: "os", Off: "off"}

func (m Mode) String() string { return modeNames[m] }

// ParseMode reads a mode's name.
func ParseMode(name string) (Mode, error) {
	for mode, n := range modeNames {
		if n == name {
			return Mode(mode), nil
		}
	}
	return 0, fmt.Errorf("unknown journal mode '%s', one of always, everysec, os, off", name)
}

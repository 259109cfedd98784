package access

// A user: what it may do, and how that is asked. It is asked for every request of those who may not do
// everything, so commands are bits and nothing is allocated.

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

// hash is the SHA-256 of a password.
type hash [sha256.Size]byte

func (h hash) String() string { return hex.EncodeToString(h[:]) }

// Need is what a command does with a key.
type Need uint8

const (
	// Read: what is known of the key is told.
	Read Need = 1 << iota
	// Write: it may change.
	Write
)

// pattern is keys that a user may touch, as KEYS matches them.
type pattern struct {
	glob string
	may  Need
}

func (p pattern) String() string {
	switch p.may {
	case Read:
		return "%R~" + p.glob
	case Write:
		return "%W~" + p.glob
	}
	return "~" + p.glob
}

// User is a user at one moment. It never changes.
type User struct {
	Name string
	// On: may log in.
	On bool
	// NoPass: any password will do.
	NoPass bool
	// Free: may run every command on every key.
	Free bool

	passwords []hash
	commands  set
	rules     []string // what made commands what it is
	keys      []pattern
	channels  []string
}

// newUser is a user who may do nothing, not even log in.
func newUser(name string) *User { return &User{Name: name, rules: []string{"-@all"}} }

// Runs says whether the user may run the command with a number.
func (u *User) Runs(command int) bool { return u.commands.has(command) }

// Touches says whether the user may do with a key what need says. Two patterns may do so together: one to read, another
// to write. match compares a key with a pattern.
func (u *User) Touches(key []byte, need Need, match func(pattern, key []byte) bool) bool {
	for _, p := range u.keys {
		if need == 0 {
			break
		}
		if need&p.may != 0 && (p.glob == "*" || match([]byte(p.glob), key)) {
			need &^= p.may
		}
	}
	return need == 0
}

// accepts says whether a password is one of the user's, in a time that does not depend on it.
func (u *User) accepts(password []byte) bool {
	given := hash(sha256.Sum256(password))
	found := 0
	for _, h := range u.passwords {
		found |= subtle.ConstantTimeCompare(h[:], given[:])
	}
	return u.On && (u.NoPass || found == 1)
}

// everything says whether all commands and all keys are the user's.
func (u *User) everything(c *Catalog) bool {
	for n := range c.commands {
		if !u.commands.has(n) {
			return false
		}
	}
	return len(u.keys) > 0 && u.keys[0] == anyKey
}

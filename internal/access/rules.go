package access

// Rules as text: read one by one into a user, and written out as the shortest list that makes the same user.
//
//	on off                     may log in, or not
//	nopass resetpass           any password, none
//	>secret <secret            a password is added, removed
//	#hash !hash                the same, as SHA-256 in 64 hexadecimal digits
//	~pattern %R~p %W~p         keys that may be touched: in every way, to read, to write
//	allkeys resetkeys
//	&pattern allchannels resetchannels
//	+command -command          with its subcommands
//	+command|sub -command|sub
//	+@category -@category allcommands nocommands
//	reset                      as a new user

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// PatternsMax is how many patterns, passwords and rules a user can have, of each.
const PatternsMax = 1024

// anyKey is the pattern of allkeys.
var anyKey = pattern{"*", Read | Write}

var (
	errSyntax  = errors.New("Syntax error")
	errUnknown = errors.New("Unknown command or category name in ACL")
	errHash    = errors.New("The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")
	errAbsent  = errors.New("The password you are trying to remove from the user does not exist")
	errNoUse   = errors.New("Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns")
	errMany    = fmt.Errorf("a user has at most %d passwords, patterns and rules of a kind", PatternsMax)
)

// With returns the user after rules. The error names the first that is wrong, without the password in it.
func (c *Catalog) With(u *User, rules []string) (*User, error) {
	next := *u
	next.passwords, next.rules = slices.Clone(u.passwords), slices.Clone(u.rules)
	next.keys, next.channels = slices.Clone(u.keys), slices.Clone(u.channels)
	for _, rule := range rules {
		if err := c.apply(&next, rule); err != nil {
			shown := rule
			if strings.ContainsAny(rule[:min(len(rule), 1)], "<>") {
				shown = rule[:1] + "(a password)"
			}
			return nil, fmt.Errorf("Error in ACL SETUSER modifier '%s': %w", shown, err)
		}
		if max(len(next.passwords), len(next.rules), len(next.keys), len(next.channels)) > PatternsMax {
			return nil, fmt.Errorf("Error in ACL SETUSER modifiers: %w", errMany)
		}
	}
	next.Free = next.everything(c)
	return &next, nil
}

// apply changes a user by one rule.
func (c *Catalog) apply(u *User, rule string) error {
	switch word := strings.ToLower(rule); word {
	case "":
		return errSyntax
	case "on", "off":
		u.On = word == "on"
	case "nopass":
		u.NoPass, u.passwords = true, nil
	case "resetpass":
		u.NoPass, u.passwords = false, nil
	case "allkeys":
		u.keys = []pattern{anyKey}
	case "resetkeys":
		u.keys = nil
	case "allchannels":
		u.channels = []string{"*"}
	case "resetchannels":
		u.channels = nil
	case "allcommands":
		return c.commandRule(u, "+@all")
	case "nocommands":
		return c.commandRule(u, "-@all")
	case "reset":
		*u = *newUser(u.Name)
	case "sanitize-payload", "skip-sanitize-payload": // of RESTORE, which there is not
	default:
		return c.applySigned(u, rule)
	}
	return nil
}

// applySigned is apply for a rule that begins with a sign.
func (c *Catalog) applySigned(u *User, rule string) error {
	rest := rule[1:]
	switch rule[0] {
	case '>', '<':
		return u.password(rule[0] == '>', sha256.Sum256([]byte(rest)))
	case '#', '!':
		h, err := hex.DecodeString(rest)
		if err != nil || len(h) != sha256.Size || strings.ToLower(rest) != rest {
			return errHash
		}
		return u.password(rule[0] == '#', hash(h))
	case '~':
		return u.keyRule(pattern{rest, Read | Write})
	case '%':
		ways, glob, found := strings.Cut(rest, "~")
		may, known := map[string]Need{"R": Read, "W": Write, "RW": Read | Write, "WR": Read | Write}[strings.ToUpper(ways)]
		if !found || !known {
			return errSyntax
		}
		return u.keyRule(pattern{glob, may})
	case '&':
		if !slices.Contains(u.channels, rest) {
			u.channels = append(u.channels, rest)
		}
		return nil
	case '+', '-':
		return c.commandRule(u, strings.ToLower(rule))
	}
	return errSyntax
}

// password adds or removes one.
func (u *User) password(add bool, h hash) error {
	i := slices.Index(u.passwords, h)
	switch {
	case add && i < 0:
		u.passwords = append(u.passwords, h)
	case !add && i < 0:
		return errAbsent
	case !add:
		u.passwords = slices.Delete(u.passwords, i, i+1)
	}
	if add {
		u.NoPass = false
	}
	return nil
}

func (u *User) keyRule(p pattern) error {
	if slices.Contains(u.keys, anyKey) && p != anyKey {
		return errNoUse
	}
	switch {
	case p == anyKey:
		u.keys = []pattern{p}
	case !slices.Contains(u.keys, p):
		u.keys = append(u.keys, p)
	}
	return nil
}

// commandRule adds or removes commands.
func (c *Catalog) commandRule(u *User, rule string) error {
	what := rule[1:]
	numbers, ok := c.named(what)
	if !ok {
		return errUnknown
	}
	for _, n := range numbers {
		u.commands.put(n, rule[0] == '+')
	}
	if what == "@all" {
		u.rules = []string{rule}
		return nil
	}
	// What was said before about the same, or about a part of it, does not count any more.
	u.rules = slices.DeleteFunc(u.rules, func(old string) bool {
		return old[1:] == what || strings.HasPrefix(old[1:], what+"|")
	})
	u.rules = append(u.rules, rule)
	return nil
}

// Flags lists what is so about the user, as ACL GETUSER tells it.
func (u *User) Flags() (flags []string) {
	flags = append(flags, map[bool]string{true: "on", false: "off"}[u.On])
	if u.NoPass {
		flags = append(flags, "nopass")
	}
	return flags
}

// Passwords lists the passwords' hashes in hexadecimal digits.
func (u *User) Passwords() []string {
	list := []string{}
	for _, h := range u.passwords {
		list = append(list, h.String())
	}
	return list
}

// Commands are the rules about commands, on one line.
func (u *User) Commands() string { return strings.Join(u.rules, " ") }

// Keys are the rules about keys, on one line.
func (u *User) Keys() string {
	list := make([]string, len(u.keys))
	for i, p := range u.keys {
		list[i] = p.String()
	}
	return strings.Join(list, " ")
}

// Channels are the rules about channels, on one line.
func (u *User) Channels() string {
	list := make([]string, len(u.channels))
	for i, channel := range u.channels {
		list[i] = "&" + channel
	}
	return strings.Join(list, " ")
}

// String is the user with all its rules, as ACL LIST and the file have it.
func (u *User) String() string {
	words := append([]string{"user", u.Name}, u.Flags()...)
	for _, h := range u.passwords {
		words = append(words, "#"+h.String())
	}
	if keys := u.Keys(); keys != "" {
		words = append(words, keys)
	}
	if channels := u.Channels(); channels != "" {
		words = append(words, channels)
	} else {
		words = append(words, "resetchannels")
	}
	return strings.Join(append(words, u.Commands()), " ")
}

// CheckName refuses a name that would not stand in a line of the file.
func CheckName(name []byte) error {
	if len(name) == 0 || bytes.ContainsAny(name, " \t\r\n\v\f\x00") {
		return errors.New("Usernames can't contain spaces or null characters")
	}
	return nil
}

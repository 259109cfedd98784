package access

// The commands that rules speak of. Each has a number, and what a user may run is a set of numbers, so asking is one bit.

import (
	"slices"
	"strings"
)

// CommandsMax is how many commands and subcommands there can be.
const CommandsMax = 512

// set is a set of commands.
type set [CommandsMax / 64]uint64

func (s *set) has(n int) bool { return s[n/64]&(1<<(n%64)) != 0 }

func (s *set) put(n int, in bool) {
	if in {
		s[n/64] |= 1 << (n % 64)
	} else {
		s[n/64] &^= 1 << (n % 64)
	}
}

// Command is what rules know of a command: its name in small letters, with | before a subcommand, and its categories
// without the @. Its number is its place in the catalog.
type Command struct {
	Name       string
	Categories []string
}

// Catalog is all commands.
type Catalog struct {
	commands   []Command
	byName     map[string]int
	categories []string
}

// NewCatalog returns a catalog of commands. It panics if there are more than CommandsMax.
func NewCatalog(commands []Command) *Catalog {
	if len(commands) > CommandsMax {
		panic("access: more commands than CommandsMax")
	}
	c := &Catalog{commands: commands, byName: make(map[string]int, len(commands))}
	for n, command := range commands {
		c.byName[command.Name] = n
		c.categories = append(c.categories, command.Categories...)
	}
	slices.Sort(c.categories)
	c.categories = slices.Compact(c.categories)
	return c
}

// Categories lists the names of all categories, in order.
func (c *Catalog) Categories() []string { return c.categories }

// In lists the names of the commands in a category; ok is false if there is no such category.
func (c *Catalog) In(category string) (names []string, ok bool) {
	if !slices.Contains(c.categories, category) {
		return nil, false
	}
	for _, command := range c.commands {
		if slices.Contains(command.Categories, category) {
			names = append(names, command.Name)
		}
	}
	return names, true
}

// named returns the commands that a rule without its sign names: @category, command with its subcommands, or
// command|subcommand. ok is false if there are none.
func (c *Catalog) named(what string) (numbers []int, ok bool) {
	if category, is := strings.CutPrefix(what, "@"); is {
		for n, command := range c.commands {
			if category == "all" || slices.Contains(command.Categories, category) {
				numbers = append(numbers, n)
			}
		}
		return numbers, len(numbers) > 0
	}
	if _, there := c.byName[what]; !there {
		return nil, false
	}
	for n, command := range c.commands {
		if command.Name == what || strings.HasPrefix(command.Name, what+"|") {
			numbers = append(numbers, n)
		}
	}
	return numbers, true
}

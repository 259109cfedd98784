package access

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func catalogForTests() *Catalog {
	return NewCatalog([]Command{
		{"get", []string{"read", "fast"}}, {"set", []string{"write", "slow"}}, {"config", []string{"admin"}},
		{"config|get", []string{"admin"}}, {"config|set", []string{"admin", "dangerous"}}, {"ping", []string{"fast"}},
	})
}

// prefixed compares as if every pattern were a prefix.
func prefixed(pattern, key []byte) bool {
	return bytes.HasPrefix(key, bytes.TrimSuffix(pattern, []byte{'*'}))
}

// runs lists the commands that a user may run.
func runs(c *Catalog, u *User) string {
	var b strings.Builder
	for n, command := range c.commands {
		if u.Runs(n) {
			b.WriteString(command.Name + " ")
		}
	}
	return strings.TrimSpace(b.String())
}

func TestCommandRules(t *testing.T) {
	for _, row := range []struct{ rules, runs, kept string }{
		{"", "", "-@all"},
		{"+get", "get", "-@all +get"},
		{"+GET -get", "", "-@all -get"},
		{"+@fast -ping", "get", "-@all +@fast -ping"},
		{"+@fast -ping +ping", "get ping", "-@all +@fast +ping"},
		{"+config", "config config|get config|set", "-@all +config"},
		{"+config -config|set", "config config|get", "-@all +config -config|set"},
		{"+config|get +config -config", "", "-@all -config"},
		{"+config|set", "config|set", "-@all +config|set"},
		{"+@all -@admin", "get set ping", "+@all -@admin"},
		{"+@all -@dangerous", "get set config config|get ping", "+@all -@dangerous"},
		{"allcommands", "get set config config|get config|set ping", "+@all"},
		{"+get allcommands nocommands", "", "-@all"},
		{"+get reset", "", "-@all"},
	} {
		c := catalogForTests()
		u, err := c.With(newUser("u"), strings.Fields(row.rules))
		if err != nil {
			t.Errorf("%s: %v", row.rules, err)
			continue
		}
		if got := runs(c, u); got != row.runs {
			t.Errorf("%s: may run %q, want %q", row.rules, got, row.runs)
		}
		if u.Commands() != row.kept {
			t.Errorf("%s: kept as %q, want %q", row.rules, u.Commands(), row.kept)
		}
		again, err := c.With(newUser("u"), strings.Fields(u.String())[2:])
		if err != nil || runs(c, again) != runs(c, u) || again.String() != u.String() {
			t.Errorf("%s: %q is read as %q (%v)", row.rules, u, again, err)
		}
	}
}

func TestKeyRules(t *testing.T) {
	c := catalogForTests()
	for _, row := range []struct {
		rules, key  string
		read, write bool
	}{
		{"", "a", false, false},
		{"~a*", "ab", true, true},
		{"~a*", "b", false, false},
		{"%R~a*", "ab", true, false},
		{"%W~a*", "ab", false, true},
		{"%RW~a*", "ab", true, true},
		{"%R~a* %W~ab*", "ab", true, true},
		{"~a* resetkeys", "ab", false, false},
		{"~a* allkeys", "z", true, true},
		{"~*", "", true, true},
	} {
		u, err := c.With(newUser("u"), strings.Fields(row.rules))
		if err != nil {
			t.Fatalf("%s: %v", row.rules, err)
		}
		for need, want := range map[Need]bool{Read: row.read, Write: row.write, Read | Write: row.read && row.write} {
			if got := u.Touches([]byte(row.key), need, prefixed); got != want {
				t.Errorf("%s: key %q, need %d: %v", row.rules, row.key, need, got)
			}
		}
	}
}

func TestWrongRulesChangeNothing(t *testing.T) {
	users := NewUsers(catalogForTests())
	if err := users.Set("u", []string{"on", ">pw", "~a", "+get"}); err != nil {
		t.Fatal(err)
	}
	before := users.Account("u").User().String()
	for _, rule := range []string{"", "+", "-", "+@", "+nosuch", "+get|x", "+@nosuch", "on off", "%", "%R", "%X~a", "<other", "!abc", "#ABC", "#" + strings.Repeat("G", 64), "pw", "(+get)"} {
		if err := users.Set("u", []string{"off", "allkeys", "+@all", rule}); err == nil {
			t.Errorf("%q is taken", rule)
		}
	}
	if after := users.Account("u").User().String(); after != before {
		t.Errorf("from %q to %q", before, after)
	}
	if err := users.Set("new", []string{"+nosuch"}); err == nil || users.Account("new") != nil {
		t.Error("a user was made by a wrong rule")
	}
}

func TestPasswordsAreNotTold(t *testing.T) {
	c := catalogForTests()
	for _, rule := range []string{"<hunter2"} {
		if _, err := c.With(newUser("u"), []string{rule}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", rule, err)
		}
	}
	u, err := c.With(newUser("u"), []string{">hunter2"})
	if err != nil || strings.Contains(u.String(), "hunter2") {
		t.Errorf("%v (%v)", u, err)
	}
}

func TestLogin(t *testing.T) {
	users := NewUsers(catalogForTests())
	set := func(name string, rules ...string) {
		t.Helper()
		if err := users.Set(name, rules); err != nil {
			t.Fatal(err)
		}
	}
	set("two", "on", ">a", ">b")
	set("off", ">a")
	set("open", "on", "nopass")
	set("none", "on")
	for _, row := range []struct {
		name, password string
		in             bool
	}{
		{"default", "anything", true}, {"two", "a", true}, {"two", "b", true}, {"two", "", false}, {"two", "ab", false},
		{"off", "a", false}, {"open", "", true}, {"none", "", false}, {"nobody", "a", false}, {"", "", false},
	} {
		if got := users.Login(row.name, []byte(row.password)) != nil; got != row.in {
			t.Errorf("%+v: %v", row, got)
		}
	}
	set("two", "<a")
	if users.Login("two", []byte("a")) != nil {
		t.Error("a removed password is taken")
	}
	if users.Initial() == nil {
		t.Error("default must log in although it needs no password")
	}
	set("default", ">pw")
	if users.Initial() != nil {
		t.Error("default need not log in although it has a password")
	}
}

// TestAccountsFollow: who holds an account feels what becomes of its user.
func TestAccountsFollow(t *testing.T) {
	users := NewUsers(catalogForTests())
	if err := users.Set("u", []string{"on", "nopass", "+get"}); err != nil {
		t.Fatal(err)
	}
	a := users.Login("u", nil)
	if err := users.Set("u", []string{"+@all", "allkeys"}); err != nil || !a.User().Free {
		t.Errorf("%v (%v)", a.User(), err)
	}
	path := filepath.Join(t.TempDir(), "users.acl")
	if err := users.Save(path); err != nil {
		t.Fatal(err)
	}
	if err := users.Set("u", []string{"-get"}); err != nil || a.User().Free {
		t.Errorf("%v (%v)", a.User(), err)
	}
	if err := users.Load(path); err != nil || a.User() == nil || !a.User().Free {
		t.Errorf("after loading: %v (%v)", a.User(), err)
	}
	if n, err := users.Delete([]string{"u", "u", "nobody"}); n != 1 || err != nil || a.User() != nil {
		t.Errorf("%d deleted (%v), %v is left", n, err, a.User())
	}
	if n, err := users.Delete([]string{"default"}); n != 0 || err == nil {
		t.Errorf("default: %d deleted (%v)", n, err)
	}
	if err := users.Load(filepath.Join(t.TempDir(), "nosuch")); err != nil || len(users.All()) != 1 {
		t.Errorf("a file that is not there: %v, %d users", err, len(users.All()))
	}
}

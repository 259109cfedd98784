package access

// All users, under names, and logging in. The lock is for those who come and go; what a user may do is read
// without it.

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Default is the name of the user that a connection has before it says another.
const Default = "default"

// UsersMax is how many users there can be.
const UsersMax = 10_000

var errDefault = errors.New("The 'default' user cannot be removed")

// Account is a name that one may be logged in under. What it may do can change.
type Account struct{ user atomic.Pointer[User] }

// User is who the account belongs to now; nil if the user has been deleted.
func (a *Account) User() *User { return a.user.Load() }

// Users is all users of a server.
type Users struct {
	Catalog *Catalog

	mu     sync.Mutex
	byName map[string]*Account
}

// NewUsers returns the users that there are at first: default, who may do everything without a password.
func NewUsers(c *Catalog) *Users {
	u := &Users{Catalog: c, byName: map[string]*Account{}}
	if err := u.Set(Default, initialRules); err != nil {
		panic(err)
	}
	return u
}

// initialRules are those of the default user.
var initialRules = []string{"on", "nopass", "allkeys", "allchannels", "+@all"}

// Initial is the account of a connection that has not logged in, nil if it must.
func (u *Users) Initial() *Account {
	a := u.Account(Default)
	if user := a.User(); !user.On || !user.NoPass {
		return nil
	}
	return a
}

// Account is the account with a name, nil if there is none.
func (u *Users) Account(name string) *Account {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.byName[name]
}

// nobody is whom a password is compared for where there is no such user, so that it takes as long.
var nobody = &User{passwords: make([]hash, 1)}

// Login returns the account of a user whose password this is, nil if it is not.
func (u *Users) Login(name string, password []byte) *Account {
	a := u.Account(name)
	user := nobody
	if a != nil {
		user = a.User()
	}
	if user == nil || !user.accepts(password) {
		return nil
	}
	return a
}

// Set changes a user by rules, or makes one. After an error nothing has changed.
func (u *Users) Set(name string, rules []string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.byName[name]
	from := newUser(name)
	if a != nil {
		from = a.User()
	} else if len(u.byName) >= UsersMax {
		return errors.New("there are too many users")
	}
	next, err := u.Catalog.With(from, rules)
	if err != nil {
		return err
	}
	if a == nil {
		a = &Account{}
		u.byName[name] = a
	}
	a.user.Store(next)
	return nil
}

// SetPassword makes a password the only one of the default user; an empty one lets everybody in.
func (u *Users) SetPassword(password string) error {
	if password == "" {
		return u.Set(Default, []string{"nopass"})
	}
	return u.Set(Default, []string{"resetpass", ">" + password})
}

// Delete removes users and returns how many there were.
func (u *Users) Delete(names []string) (n int, err error) {
	if slices.Contains(names, Default) {
		return 0, errDefault
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, name := range names {
		if a := u.byName[name]; a != nil {
			a.user.Store(nil)
			delete(u.byName, name)
			n++
		}
	}
	return n, nil
}

// All lists the users in the order of their names.
func (u *Users) All() (list []*User) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(u.byName)) {
		list = append(list, u.byName[name].User())
	}
	return list
}

package access

// The file that users are kept in: a line a user, as ACL LIST prints it. It is read as a whole or not at all, and
// written anew beside the old one, which it then replaces.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// FileBytesMax is how long the file may be.
const FileBytesMax = 16 << 20

// read reads the lines of a file into users.
func (c *Catalog) read(text []byte) (map[string]*User, error) {
	users := map[string]*User{}
	var wrong []error
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, FileBytesMax)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if len(words) < 2 || words[0] != "user" {
			wrong = append(wrong, fmt.Errorf("line %d: it must be 'user', a name and rules", n))
			continue
		}
		name := words[1]
		if users[name] != nil {
			wrong = append(wrong, fmt.Errorf("line %d: user '%s' was there before", n, name))
			continue
		}
		user, err := c.With(newUser(name), words[2:])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", n, err))
			continue
		}
		users[name] = user
	}
	return users, errors.Join(append(wrong, lines.Err())...)
}

// Load makes the users those of a file: others are deleted, and who is logged in as one that stays feels its rules at
// once. A file without default leaves that user as it is. After an error nothing has changed. A file that is not there is as an empty one.
func (u *Users) Load(path string) error {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the users: %w", err)
	}
	if len(text) > FileBytesMax {
		return fmt.Errorf("%s: %d bytes, at most %d are read", path, len(text), FileBytesMax)
	}
	users, err := u.Catalog.read(text)
	if err == nil && len(users) > UsersMax {
		err = fmt.Errorf("%d users, there may be at most %d", len(users), UsersMax)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for name, a := range u.byName {
		if users[name] == nil && name != Default {
			a.user.Store(nil)
			delete(u.byName, name)
		}
	}
	for name, user := range users {
		if u.byName[name] == nil {
			u.byName[name] = &Account{}
		}
		u.byName[name].user.Store(user)
	}
	return nil
}

// Save writes the users to a file that only its owner may read. It is replaced as a whole, or stays as it was.
func (u *Users) Save(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".users-*")
	if err != nil {
		return fmt.Errorf("write the users: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("write the users: %w", err)
		}
	}()
	for _, user := range u.All() {
		fmt.Fprintln(f, user)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

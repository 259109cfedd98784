package main

// Who is let in: the users that a configuration makes, and the rule that a server that
// everybody may use stays on this machine.

import (
	"fmt"

	"sluice/internal/access"
	"sluice/internal/settings"
	"sluice/server"
)

// makeUsers makes the users, and says what is wrong with them or with listening on an
// address.
func makeUsers(c *settings.Config) (*access.Users, error) {
	wrong := func(name, format string, args ...any) error {
		return &settings.Error{Name: name, Origin: c.Origin(name), Message: fmt.Errorf(format, args...).Error()}
	}
	users := server.NewUsers()
	if c.ACLFile != "" {
		if err := users.Load(c.ACLFile); err != nil {
			return nil, wrong("acl-file", "cannot be used: %v", err)
		}
	}
	password := c.RequirePass
	if c.RequirePassFile != "" {
		line, err := settings.FirstLine(c.RequirePassFile, "password")
		if err != nil {
			return nil, wrong("requirepass-file", "%w", err)
		}
		password = line
	}
	if password != "" {
		if err := users.SetPassword(password); err != nil {
			return nil, wrong("requirepass", "cannot be used: %v", err)
		}
	}
	if !c.ProtectedMode || users.Initial() == nil {
		return users, nil
	}
	for name, addresses := range map[string][]string{"listen": c.Listen, "tls-listen": c.TLSListen} {
		for _, address := range addresses {
			if !settings.Loopback(address) {
				return nil, wrong(name, "%s would be open to everybody who can reach it: set a password with --requirepass-file or SLUICE_REQUIREPASS, "+
					"or users with --acl-file; --protected-mode=false opens it all the same", address)
			}
		}
	}
	return users, nil
}

package settings

// The kinds of values. A field reads a text into its place in a Config; where it
// cannot, its error goes on from the name of the setting: "must be true or false,
// got 'perhaps'".

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"sluice/algorithms"
)

type field func(c *Config, text string) error

// text takes anything.
func text(at func(*Config) *string) field {
	return func(c *Config, text string) error {
		*at(c) = text
		return nil
	}
}

// checkAddress refuses what is not HOST:PORT. The port is a number, or the name of a
// service.
func checkAddress(text string) error {
	if _, port, err := net.SplitHostPort(text); err != nil || port == "" {
		return fmt.Errorf("must be HOST:PORT such as 127.0.0.1:6380, got %q", text)
	}
	return nil
}

// addresses takes HOST:PORT, several with commas between them, or nothing.
func addresses(at func(*Config) *[]string) field {
	return func(c *Config, text string) error {
		var list []string
		if text != "" {
			list = strings.Split(text, ",")
		}
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
			if err := checkAddress(list[i]); err != nil {
				return err
			}
		}
		*at(c) = list
		return nil
	}
}

// mode takes permissions as three octal digits.
func mode(at func(*Config) *uint32) field {
	return func(c *Config, text string) error {
		n, err := strconv.ParseUint(text, 8, 32)
		if err != nil || n > 0o777 {
			return fmt.Errorf("must be permissions such as 700 or 770, got %q", text)
		}
		*at(c) = uint32(n)
		return nil
	}
}

// optional takes an address, or nothing.
func optional(at func(*Config) *string) field {
	return func(c *Config, text string) error {
		*at(c) = text
		if text == "" {
			return nil
		}
		return checkAddress(text)
	}
}

// Loopback says whether an address can be reached from this machine only.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// SecretBytesMin is the shortest token that is taken.
const SecretBytesMin = 16

// secret takes a token that cannot be guessed. Its errors do not show it.
func secret(at func(*Config) *string) field {
	return func(c *Config, text string) error {
		if text != "" && len(text) < SecretBytesMin {
			return fmt.Errorf("must have at least %d bytes, such as `openssl rand -hex 32` makes, got %d", SecretBytesMin, len(text))
		}
		*at(c) = text
		return nil
	}
}

// secretFile takes a file that holds a token.
func secretFile(at func(*Config) *string) field {
	take := secret(at)
	return func(c *Config, text string) error {
		if text == "" {
			return take(c, "")
		}
		content, err := os.ReadFile(text)
		if err != nil {
			return fmt.Errorf("must be a file that can be read: %w", err)
		}
		line, _, _ := strings.Cut(string(content), "\n")
		if line = strings.TrimSpace(line); line == "" {
			return fmt.Errorf("must be a file with the token on its first line, and %s has none there", text)
		}
		if err := take(c, line); err != nil {
			return fmt.Errorf("is %s, whose first line %w", text, err)
		}
		return nil
	}
}

// number takes a whole number of a range.
func number[T int | uint64](at func(*Config) *T, least, most T) field {
	return func(c *Config, text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("must be a whole number from %d to %d, got %q", least, most, text)
		}
		if n < int64(least) || n > int64(most) {
			return fmt.Errorf("must be from %d to %d, got %d", least, most, n)
		}
		*at(c) = T(n)
		return nil
	}
}

// duration takes 0 or a duration.
func duration(at func(*Config) *time.Duration) field {
	return func(c *Config, text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return fmt.Errorf("must be 0 or a duration such as 5m or 30s, got %q", text)
		}
		*at(c) = d
		return nil
	}
}

// parseSize reads a number of bytes with a unit: 256MiB, 1GB, 4096.
func parseSize(text string) (int64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > 1<<62 {
		return 0, fmt.Errorf("must be a size such as 256MiB, got %q", text)
	}
	return int64(n), nil
}

// size takes a number of bytes.
func size(at func(*Config) *int64) field {
	return func(c *Config, text string) (err error) {
		*at(c), err = parseSize(text)
		return err
	}
}

// word takes one of a few.
func word(set func(c *Config, word string) error, words ...string) field {
	n := len(words) - 1
	legal := strings.Join(words[:n], ", ") + " or " + words[n]
	return func(c *Config, text string) error {
		for _, w := range words {
			if w == text {
				return set(c, w)
			}
		}
		if near := algorithms.Nearest(strings.ToLower(text), words); near != "" {
			return fmt.Errorf("must be %s, got %q; did you mean %q?", legal, text, near)
		}
		return fmt.Errorf("must be %s, got %q", legal, text)
	}
}

// toggle takes true or false.
func toggle(at func(*Config) *bool) field {
	return func(c *Config, text string) (err error) {
		*at(c), err = strconv.ParseBool(text)
		switch word := strings.ToLower(text); {
		case err == nil:
			return nil
		case slices.Contains([]string{"yes", "y", "on", "enabled"}, word):
			return fmt.Errorf("must be true or false, got %q; did you mean \"true\"?", text)
		case slices.Contains([]string{"no", "n", "off", "disabled"}, word):
			return fmt.Errorf("must be true or false, got %q; did you mean \"false\"?", text)
		}
		return fmt.Errorf("must be true or false, got %q", text)
	}
}

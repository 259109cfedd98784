package settings

// The kinds of values. A field reads a text into its place in a Config; where it
// cannot, its error goes on from the name of the setting: "must be true or false,
// got 'perhaps'".

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
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
	wrong := func(near string) error {
		return fmt.Errorf("must be HOST:PORT such as 127.0.0.1:6380, got %q%s", text, meant(near))
	}
	if n, err := strconv.ParseUint(text, 10, 16); err == nil {
		return wrong(fmt.Sprintf("127.0.0.1:%d", n))
	}
	_, port, err := net.SplitHostPort(text)
	if err != nil || port == "" {
		return wrong("")
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("must be HOST:PORT with a port from 0 to 65535, got %q", text)
	}
	return nil
}

// meant asks whether a value was meant; "" is none.
func meant(near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
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
		line, err := FirstLine(text, "token")
		if err != nil {
			return err
		}
		if err := take(c, strings.TrimSpace(line)); err != nil {
			return fmt.Errorf("is %s, whose first line %w", text, err)
		}
		return nil
	}
}

// FirstLine reads the first line of a file, which holds a secret of a kind.
func FirstLine(path, kind string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("must be a file that can be read: %w", err)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	if line = strings.TrimSuffix(line, "\r"); strings.TrimSpace(line) == "" {
		return "", fmt.Errorf("must be a file with the %s on its first line, and %s has none there", kind, path)
	}
	return line, nil
}

// passwordFile takes a file that holds a password.
func passwordFile(at func(*Config) *string) field {
	return func(c *Config, text string) (err error) {
		if *at(c) = text; text != "" {
			_, err = FirstLine(text, "password")
		}
		return err
	}
}

// number takes a whole number of a range.
func number[T int | uint64](at func(*Config) *T, least, most T) field {
	return func(c *Config, text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("must be a whole number from %d to %d, got %q%s", least, most, text, meant(inFull(text)))
		}
		if n < int64(least) || n > int64(most) {
			return fmt.Errorf("must be from %d to %d, got %d", least, most, n)
		}
		*at(c) = T(n)
		return nil
	}
}

// inFull is a whole number that was written shortly, as 10k, 1e6 or 10_000; "" for
// anything else.
func inFull(text string) string {
	digits, times := strings.ReplaceAll(strings.ToLower(text), "_", ""), 1.0
	for suffix, factor := range map[string]float64{"k": 1e3, "m": 1e6} {
		if short, ok := strings.CutSuffix(digits, suffix); ok {
			digits, times = short, factor
		}
	}
	if n, err := strconv.ParseFloat(digits, 64); err == nil && n >= 0 && n*times <= 1e15 && n*times == float64(int64(n*times)) {
		return strconv.FormatInt(int64(n*times), 10)
	}
	return ""
}

// duration takes 0 or a duration.
func duration(at func(*Config) *time.Duration) field {
	return func(c *Config, text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return fmt.Errorf("must be 0 or a duration such as 5m or 30s, got %q%s", text, meant(withUnit(text)))
		}
		*at(c) = d
		return nil
	}
}

var worded = regexp.MustCompile(`^([0-9]{1,6}) *(ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)?$`)

// withUnit is a duration whose unit was left away or written out, as 5, 10 sec or 2d;
// "" for anything else.
func withUnit(text string) string {
	m := worded.FindStringSubmatch(strings.ToLower(text))
	switch {
	case m == nil:
		return ""
	case m[2] == "":
		return m[1] + "s"
	case m[2] == "ms":
		return m[1] + "ms"
	case m[2][0] == 'd':
		days, _ := strconv.Atoi(m[1]) // six digits at most
		return strconv.Itoa(24*days) + "h"
	}
	return m[1] + m[2][:1]
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
		return fmt.Errorf("must be %s, got %q%s", legal, text, meant(nearest(text, words)))
	}
}

// nearest is the word that a text is like, or is the beginning of, or goes on from:
// evict, warning. "" if there is none.
func nearest(text string, words []string) string {
	text = strings.ToLower(text)
	if near := algorithms.Nearest(text, words); near != "" {
		return near
	}
	for _, w := range words {
		if len(text) > 2 && (strings.HasPrefix(w, text) || strings.HasPrefix(text, w)) {
			return w
		}
	}
	return ""
}

// toggle takes true or false.
func toggle(at func(*Config) *bool) field {
	return func(c *Config, text string) (err error) {
		if *at(c), err = strconv.ParseBool(text); err == nil {
			return nil
		}
		near := ""
		switch word := strings.ToLower(text); {
		case slices.Contains([]string{"yes", "y", "on", "enabled"}, word):
			near = "true"
		case slices.Contains([]string{"no", "n", "off", "disabled"}, word):
			near = "false"
		}
		return fmt.Errorf("must be true or false, got %q%s", text, meant(near))
	}
}

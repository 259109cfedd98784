package middleware

// Whom a request comes from. An identity is a kind and a value, and keys are written so
// that no two of them share one: "user:42", "api_key:k1", "ip:192.0.2.1",
// "ip:2001:db8::/64". Addresses are what the peer's socket says; what a header claims
// counts only where a trusted proxy has written it.

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// valueBytesMax is the longest value that stands in a key as it is; of longer ones the
// SHA-256 does.
const valueBytesMax = 256

// Identity finds out whom a request comes from; it returns "" if it cannot.
type Identity struct {
	kind string
	of   func(*http.Request) string
}

// User is a user's name, as what runs before this middleware has found it out.
func User(of func(*http.Request) string) Identity { return Identity{"user", of} }

// APIKey is an API key, found in any way.
func APIKey(of func(*http.Request) string) Identity { return Identity{"api_key", of} }

// Header is an API key in a header field. Put what checks the key before this
// middleware, or everybody who makes keys up is somebody new.
func Header(name string) Identity {
	return APIKey(func(r *http.Request) string { return r.Header.Get(name) })
}

// identified is what is known of a request's sender.
type identified struct {
	kind, value      string
	user, apiKey, ip string
}

// key is the key of the sender.
func (i identified) key() string {
	value := i.value
	kind := i.kind
	if len(value) > valueBytesMax {
		sum := sha256.Sum256([]byte(value))
		kind, value = kind+"_sha256", hex.EncodeToString(sum[:])
	}
	return kind + ":" + value
}

var errNobody = errors.New("the request has neither an identity nor an address: a server on a Unix socket needs Per, or a proxy in TrustedProxies")

// identify finds out whom a request is counted for.
func (h *handler) identify(r *http.Request) (who identified, err error) {
	addr, known := h.address(r)
	if known {
		who.ip = addr.String()
	}
	for _, i := range h.per {
		value := i.of(r)
		if value == "" {
			continue
		}
		if who.kind == "" {
			who.kind, who.value = i.kind, value
		}
		switch {
		case i.kind == "user" && who.user == "":
			who.user = value
		case i.kind == "api_key" && who.apiKey == "":
			who.apiKey = value
		}
	}
	if who.kind != "" {
		return who, nil
	}
	if !known {
		return who, errNobody
	}
	who.kind, who.value = "ip", counted(addr, h.v6Bits)
	return who, nil
}

// AddressKey is the key that an address, with a port or without one, is counted under by
// the middleware, for interceptors of other protocols; false for what is no address. Of
// IPv6 so many bits count, from 1 to 128.
func AddressKey(text string, v6Bits int) (key string, ok bool) {
	addr, ok := parseAddress(text)
	if !ok {
		return "", false
	}
	return "ip:" + counted(addr, v6Bits), true
}

// counted is the part of an address that counts.
func counted(addr netip.Addr, v6Bits int) string {
	if addr.Is4() {
		return addr.String()
	}
	prefix, _ := addr.Prefix(min(max(1, v6Bits), 128)) // it has no zone
	return prefix.String()
}

// address is the client's: the peer's, or, if that is a trusted proxy, the last one in
// X-Forwarded-For that no trusted proxy has.
func (h *handler) address(r *http.Request) (addr netip.Addr, known bool) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, known = parseAddress(host)
	if known && !h.trusts(addr) {
		return addr, true
	}
	if !known && len(h.trusted) == 0 {
		return addr, false
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		next, ok := parseAddress(strings.TrimSpace(hop))
		if !ok {
			break // from here on nobody trusted vouches for anything
		}
		addr, known = next, true
		if !h.trusts(next) {
			break
		}
	}
	return addr, known
}

func (h *handler) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(h.trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// parseAddress reads an address: one of IPv4 in IPv6's clothes is the former, and a zone
// is nobody's business.
func parseAddress(text string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		if pair, failed := netip.ParseAddrPort(text); failed == nil {
			return pair.Addr().Unmap().WithZone(""), true
		}
		return netip.Addr{}, false
	}
	return addr.Unmap().WithZone(""), true
}

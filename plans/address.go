package plans

// The address of a client. Whoever can have several addresses for nothing would
// have several limits: therefore IPv6 counts by network, an IPv4 address is the
// same in both its forms, and zones are dropped. And whoever can write his address
// himself would have any: of a list as X-Forwarded-For has it, only what proxies of
// ours have added counts, from the right.

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unsafe"

	"sluice/algorithms"
)

const (
	// IPv6PrefixDefault is the network that one client of IPv6 is given.
	IPv6PrefixDefault = 64
	// ipv6PrefixLeast is the largest network that can be one client: what a
	// provider is given is shorter.
	ipv6PrefixLeast = 32
	// TrustedProxiesMax is how many networks of proxies there may be.
	TrustedProxiesMax = 256
)

// Addresses says how addresses are read. Its zero value trusts nobody and counts
// IPv6 by /64.
type Addresses struct {
	Trusted    []netip.Prefix // proxies that say truly whom they speak for
	IPv6Prefix int            // bits of an IPv6 address that count; 0: IPv6PrefixDefault
}

// Client returns the address that counts in a list of addresses, as proxies hand it
// on: each adds the one that it was called from to the right. That is the right-most
// one that is not a trusted proxy, or the left-most if all are. What stands to the
// left of it anybody may have written, and is not looked at.
func (a *Addresses) Client(list []byte) (netip.Addr, error) {
	for rest := list; ; {
		part := rest
		comma := bytes.LastIndexByte(rest, ',')
		if comma >= 0 {
			part = rest[comma+1:]
		}
		ip, ok := parseAddress(bytes.Trim(part, " \t"))
		if !ok {
			return netip.Addr{}, fmt.Errorf("'%s' is not an IP address", algorithms.Show(bytes.Trim(part, " \t")))
		}
		if comma < 0 || !a.trusts(ip) {
			return ip, nil
		}
		rest = rest[:comma]
	}
}

// trusts says whether an address is one of a trusted proxy.
func (a *Addresses) trusts(ip netip.Addr) bool {
	for _, network := range a.Trusted {
		if network.Contains(ip) {
			return true
		}
	}
	return false
}

// addressBytesMax is longer than every address with its zone and port.
const addressBytesMax = 128

// parseAddress reads an address, with or without a port, an IPv6 address with or
// without brackets and zone: 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1]:80,
// fe80::1%eth0. An IPv4 address in IPv6 form becomes what it is.
func parseAddress(text []byte) (netip.Addr, bool) {
	if len(text) == 0 || len(text) > addressBytesMax {
		return netip.Addr{}, false
	}
	if text[0] == '[' {
		end := bytes.IndexByte(text, ']')
		if end < 0 || len(text) > end+1 && !isPort(text[end+1:]) || bytes.IndexByte(text[:end], ':') < 0 || bytes.IndexByte(text[1:end], '[') >= 0 {
			return netip.Addr{}, false
		}
		text = text[1:end]
	} else if colon := bytes.IndexByte(text, ':'); colon >= 0 && bytes.IndexByte(text[:colon], '.') >= 0 {
		if !isPort(text[colon:]) {
			return netip.Addr{}, false
		}
		text = text[:colon]
	}
	if zone := bytes.IndexByte(text, '%'); zone >= 0 {
		if zone == len(text)-1 || bytes.IndexByte(text[:zone], ':') < 0 {
			return netip.Addr{}, false
		}
		text = text[:zone]
	}
	if len(text) == 0 {
		return netip.Addr{}, false
	}
	// The string is the bytes themselves, to save an allocation. ParseAddr keeps
	// nothing of it but a zone, of which there is none, and its error, which ends
	// here.
	ip, err := netip.ParseAddr(unsafe.String(&text[0], len(text)))
	return ip.Unmap(), err == nil
}

// isPort says whether text is a ':' and a port.
func isPort(text []byte) bool {
	if len(text) < 2 || len(text) > 6 || text[0] != ':' {
		return false
	}
	port := 0
	for _, c := range text[1:] {
		if c < '0' || c > '9' {
			return false
		}
		port = port*10 + int(c-'0')
	}
	return port <= 65535
}

// AppendAddress writes what counts of an address: all of an IPv4 address, the
// network of an IPv6 address with its length (2001:db8::/64).
func (a *Addresses) AppendAddress(dst []byte, ip netip.Addr) []byte {
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.AppendTo(dst)
	}
	bits := a.IPv6Prefix
	if bits == 0 {
		bits = IPv6PrefixDefault
	}
	network, err := ip.Prefix(bits)
	if err != nil {
		return ip.AppendTo(dst) // bits are checked where they are read
	}
	return network.AppendTo(dst)
}

// parseNetwork reads the network of a trusted proxy: 10.0.0.0/8, or one address.
func parseNetwork(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("'%s' is not an IP address or network, such as 10.0.0.0/8", show(text))
		}
		ip = ip.Unmap()
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return network, fmt.Errorf("'%s' is not an IP address or network, such as 10.0.0.0/8", show(text))
	case network.Addr().Is4In6() && network.Bits() < 96:
		return network, fmt.Errorf("'%s' holds more than all of IPv4", show(text))
	case network.Addr().Is4In6():
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
	}
	if network.Bits() == 0 {
		return network, errors.New("a network that holds every address would trust everybody to say who he is")
	}
	if masked := network.Masked(); masked != network {
		return network, fmt.Errorf("network '%s' has bits behind its prefix, did you mean '%s'?", show(text), masked)
	}
	return network, nil
}

var addressFields = []string{"trusted_proxies", "ipv6_prefix"}

// addresses reads how addresses are to be read.
func (r *reader) addresses(n *node) (a Addresses) {
	r.fields(n, "addresses", addressFields, func(f pair) {
		if f.name == "ipv6_prefix" {
			a.IPv6Prefix = int(r.whole(f.value, "ipv6_prefix", ipv6PrefixLeast, 128))
			return
		}
		if f.value.shape != list {
			r.fail(f.value.at, "trusted_proxies must be a list such as [10.0.0.0/8, 2001:db8::/32], got %s", f.value.described())
		}
		if len(f.value.items) > TrustedProxiesMax {
			r.fail(f.value.at, "trusted_proxies may list at most %d networks, got %d", TrustedProxiesMax, len(f.value.items))
		}
		for i, item := range f.value.items {
			r.in(step{item: i + 1}, func() {
				network, err := parseNetwork(r.text(item, "a trusted proxy must be an IP address or network"))
				if err != nil {
					r.fail(item.at, "%s", err)
				}
				if !slices.Contains(a.Trusted, network) {
					a.Trusted = append(a.Trusted, network)
				}
			})
		}
	})
	return a
}

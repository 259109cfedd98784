package plans

// Whom a rule counts: the key that its plan's limits are kept under.
//
//	rule|scope:value               orders-write|user:42
//	rule|scope:value|scope:value   models|api_key:k1|model:large
//	rule|global                    everybody together
//
// No two rules and no two identities share a key: '|' stands between the parts, a
// rule's name and a scope have no '|' and no ':', and in a value '%', '|', '{' and
// '}' are written %25, %7C, %7B and %7D. So the parts can be told apart again. The
// braces are among them because they are a hash tag: nobody shall choose his shard
// by choosing his name.
//
// What is missing or empty is replaced by the IP address, for that part of the
// key, and never by a constant: else the first client without an identity would
// use up the limit of all.

import (
	"fmt"
	"net/netip"
)

// Identity is what is known about who sends a request. What is empty is missing.
type Identity struct {
	User       []byte
	APIKey     []byte
	IP         []byte // an address, or a list as X-Forwarded-For has it, the nearest last
	Attributes []Attribute
}

// Attribute is something else to count by, such as a model or a tenant.
type Attribute struct {
	Name, Value []byte
}

// value is the value of a scope other than the IP's.
func (id *Identity) value(scope string) []byte {
	switch scope {
	case ScopeUser:
		return id.User
	case ScopeAPIKey:
		return id.APIKey
	}
	for i := range id.Attributes {
		if a := &id.Attributes[i]; string(a.Name) == scope {
			return a.Value
		}
	}
	return nil
}

// AppendKey writes the key that a rule counts an identity under. anonymous says
// that part of the identity was missing and the IP address stands in for it. The
// error says that there is no usable address where one is needed.
func (a *Addresses) AppendKey(dst []byte, r *Rule, id *Identity) (key []byte, anonymous bool, err error) {
	start := len(dst)
	dst = append(dst, r.Name...)
	var ip netip.Addr
	for _, scope := range r.Per {
		dst = append(dst, '|')
		if scope == ScopeGlobal {
			dst = append(dst, scope...)
			continue
		}
		if scope != ScopeIP {
			if v := id.value(scope); len(v) > 0 {
				dst = append(append(dst, scope...), ':')
				dst = appendEscaped(dst, v)
				continue
			}
			anonymous = true
		}
		if !ip.IsValid() {
			if len(id.IP) == 0 {
				return dst[:start], anonymous, missingError(r, scope)
			}
			if ip, err = a.Client(id.IP); err != nil {
				return dst[:start], anonymous, err
			}
		}
		dst = append(append(dst, ScopeIP...), ':')
		dst = a.AppendAddress(dst, ip)
	}
	return dst, anonymous, nil
}

func missingError(r *Rule, scope string) error {
	if scope == ScopeIP {
		return fmt.Errorf("rule '%s' counts per ip, and there is no IP address", r.Name)
	}
	return fmt.Errorf("rule '%s' counts per %s, and there is neither that nor an IP address", r.Name, scope)
}

// appendEscaped writes a value so that nothing in it looks like the key's own
// marks.
func appendEscaped(dst, value []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range value {
		switch c {
		case '%', '|', '{', '}':
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

package plans

// Keys of rules: whom they count, that nobody shares one, and which address counts.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
)

func prefixes(list ...string) (networks []netip.Prefix) {
	for _, text := range list {
		networks = append(networks, netip.MustParsePrefix(text))
	}
	return networks
}

func ruleFor(t testing.TB, name, per string) *Rule {
	t.Helper()
	r, err := ParseRule(name, []byte("{match: /, plan: p, per: "+per+"}"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestKeys(t *testing.T) {
	model := func(v string) []Attribute {
		return []Attribute{{[]byte("x"), []byte("y")}, {[]byte("model"), []byte(v)}}
	}
	ip := []byte("192.0.2.1")
	for _, r := range []struct {
		per       string
		id        Identity
		want      string
		anonymous bool
	}{
		{"user", Identity{User: []byte("42")}, "r|user:42", false},
		{"user", Identity{User: []byte("42"), IP: []byte("nonsense")}, "r|user:42", false},
		{"user", Identity{User: []byte("a|b{c}d%e:f\x00é")}, "r|user:a%7Cb%7Bc%7Dd%25e:f\x00é", false},
		{"user", Identity{APIKey: []byte("k"), IP: ip}, "r|ip:192.0.2.1", true},
		{"user", Identity{User: []byte(""), IP: ip}, "r|ip:192.0.2.1", true},
		{"api_key", Identity{APIKey: []byte("k")}, "r|api_key:k", false},
		{"ip", Identity{User: []byte("42"), IP: ip}, "r|ip:192.0.2.1", false},
		{"global", Identity{}, "r|global", false},
		{"global", Identity{User: []byte("42"), IP: []byte("nonsense")}, "r|global", false},
		{"[api_key, model]", Identity{APIKey: []byte("k"), Attributes: model("m")}, "r|api_key:k|model:m", false},
		{"[model, api_key]", Identity{APIKey: []byte("k"), Attributes: model("m")}, "r|model:m|api_key:k", false},
		{"[api_key, model]", Identity{APIKey: []byte("k"), IP: ip}, "r|api_key:k|ip:192.0.2.1", true},
		{"[api_key, model]", Identity{Attributes: model("m"), IP: ip}, "r|ip:192.0.2.1|model:m", true},
		{"[api_key, model]", Identity{Attributes: model(""), IP: ip}, "r|ip:192.0.2.1|ip:192.0.2.1", true},
		{"[ip, user]", Identity{User: []byte("42"), IP: ip}, "r|ip:192.0.2.1|user:42", false},
		{"[model]", Identity{Attributes: model("m|x")}, "r|model:m%7Cx", false},
		{"ip", Identity{IP: []byte("2001:DB8:0:1::5")}, "r|ip:2001:db8:0:1::/64", false},
	} {
		var a Addresses
		got, anonymous, err := a.AppendKey([]byte("before "), ruleFor(t, "r", r.per), &r.id)
		if err != nil || string(got) != "before "+r.want || anonymous != r.anonymous {
			t.Errorf("%s of %q: got %q, %v, %v, want %q, %v", r.per, r.id, got, anonymous, err, r.want, r.anonymous)
		}
		if key := got[len("before "):]; !bytes.Equal(AppendStateBase(nil, key), []byte("{"+string(key)+"}")) {
			t.Errorf("%q has a tag of its own or a stray brace", key)
		}
	}
}

// C88: who is not known is never counted together with everybody else who is not.
func TestMissingIdentity(t *testing.T) {
	for _, r := range []struct{ per, ip, want string }{
		{"user", "", "rule 'r' counts per user, and there is neither that nor an IP address"},
		{"ip", "", "rule 'r' counts per ip, and there is no IP address"},
		{"[api_key, model]", "", "rule 'r' counts per api_key, and there is neither that nor an IP address"},
		{"user", "unknown", "'unknown' is not an IP address"},
		{"user", "192.0.2.1, ", "'' is not an IP address"},
		{"user", "localhost", "'localhost' is not an IP address"},
	} {
		var a Addresses
		got, _, err := a.AppendKey([]byte("x"), ruleFor(t, "r", r.per), &Identity{IP: []byte(r.ip)})
		if err == nil || err.Error() != r.want || string(got) != "x" {
			t.Errorf("%s with '%s': got %q, %v, want %s", r.per, r.ip, got, err, r.want)
		}
	}
}

// C127: one household is one client, however it spells its address.
func TestOneClientOneKey(t *testing.T) {
	var a Addresses
	r := ruleFor(t, "r", "ip")
	key := func(a Addresses, ip string) string {
		t.Helper()
		got, _, err := a.AppendKey(nil, r, &Identity{IP: []byte(ip)})
		if err != nil {
			t.Fatalf("%s: %v", ip, err)
		}
		return string(got)
	}
	for i := range 65_536 {
		ip := fmt.Sprintf("2001:db8:0:7:%x:%x::%x", i&0xff, i>>8, i)
		if got := key(a, ip); got != "r|ip:2001:db8:0:7::/64" {
			t.Fatalf("%s: got %s", ip, got)
		}
	}
	for _, group := range [][]string{
		{"1.2.3.4", "::ffff:1.2.3.4", "::FFFF:102:304", "[::ffff:1.2.3.4]:80", "1.2.3.4:80", " 1.2.3.4\t"},
		{"fe80::1%eth0", "fe80::1%eth1", "FE80::1", "fe80:0:0:0:0:0:0:2", "[fe80::1%eth0]", "[fe80::1%25eth0]:443"},
	} {
		for _, ip := range group[1:] {
			if key(a, ip) != key(a, group[0]) {
				t.Errorf("%s and %s: %s and %s", ip, group[0], key(a, ip), key(a, group[0]))
			}
		}
	}
	for bits, want := range map[int]string{32: "r|ip:2001:db8::/32", 48: "r|ip:2001:db8:1::/48", 56: "r|ip:2001:db8:1:200::/56", 128: "r|ip:2001:db8:1:2ff::1/128"} {
		if got := key(Addresses{IPv6Prefix: bits}, "2001:db8:1:2ff::1"); got != want {
			t.Errorf("/%d: got %s, want %s", bits, got, want)
		}
	}
}

func TestClient(t *testing.T) {
	a := Addresses{Trusted: prefixes("10.0.0.0/8", "2001:db8:ffff::/48", "192.0.2.7/32")}
	for _, r := range []struct{ list, want string }{
		{"203.0.113.5", "203.0.113.5"},
		{"203.0.113.5, 10.0.0.1", "203.0.113.5"},
		{"198.51.100.1, 203.0.113.5, 10.0.0.1, 10.9.9.9", "203.0.113.5"},
		{"garbage, 203.0.113.5,10.0.0.1", "203.0.113.5"}, // written by the client himself
		{"10.0.0.3, 203.0.113.5", "203.0.113.5"},
		{"10.0.0.3, 10.0.0.2, 10.0.0.1", "10.0.0.3"}, // all are ours: the first of them
		{"10.0.0.3", "10.0.0.3"},
		{"203.0.113.5, ::ffff:10.0.0.1", "203.0.113.5"},
		{"203.0.113.5:4711, [2001:db8:ffff::1]:443, 192.0.2.7", "203.0.113.5"},
		{"2001:db8::5, 2001:db8:ffff:1::9", "2001:db8::5"},
		{"203.0.113.5 ,\t10.0.0.1", "203.0.113.5"},
		{"garbage, 10.0.0.1", ""}, {", 10.0.0.1", ""}, {"10.0.0.1,", ""}, {",", ""}, {"", ""}, {" ", ""},
		{"1.2.3", ""}, {"01.2.3.4", ""}, {"1.2.3.4.5", ""}, {"256.1.1.1", ""}, {"1.2.3.4/32", ""}, {"1.2.3.4%eth0", ""}, {"1.2.3.4:", ""}, {"1.2.3.4:x", ""}, {"1.2.3.4:65536", ""}, {"1.2.3.4:99999999999", ""},
		{"[1.2.3.4]:80", ""}, {"[::1", ""}, {"[::1]80", ""}, {"[::1]:", ""}, {"::1]", ""}, {"[]", ""}, {":", ""}, {"::1%", ""}, {"%eth0", ""}, {"1.2.3.4 5.6.7.8", ""}, {"_hidden", ""},
		{`"1.2.3.4"`, ""}, {"for=1.2.3.4", ""}, {strings.Repeat("1", 300), ""},
	} {
		got, err := a.Client([]byte(r.list))
		if (err == nil) != (r.want != "") || err == nil && got.String() != r.want {
			t.Errorf("%s: got %v, %v, want %s", r.list, got, err, r.want)
		}
	}
}

// A key says which rule and which identity it belongs to.
func TestKeysAreUnique(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	var rules []*Rule
	for i, per := range []string{"user", "api_key", "ip", "global", "[user, api_key]", "[api_key, user]", "[model]", "[user, model]", "[ip, user]"} {
		rules = append(rules, ruleFor(t, "r"+strconv.Itoa(i), per), ruleFor(t, "r."+strconv.Itoa(i), per))
	}
	word := func() []byte {
		b := make([]byte, random.IntN(5))
		for i := range b {
			b[i] = "|:%{}7Cu\xff"[random.IntN(9)]
		}
		return b
	}
	var a Addresses
	owners := map[string]string{}
	for range 30_000 {
		r := rules[random.IntN(len(rules))]
		id := Identity{User: word(), APIKey: word(), IP: []byte(fmt.Sprintf("10.0.0.%d", random.IntN(3))), Attributes: []Attribute{{[]byte("model"), word()}}}
		key, _, err := a.AppendKey(nil, r, &id)
		if err != nil {
			t.Fatal(err)
		}
		owner := r.Name
		for _, scope := range r.Per {
			v := id.value(scope)
			if scope == ScopeIP || len(v) == 0 && scope != ScopeGlobal {
				scope, v = "ip", id.IP
			}
			owner += fmt.Sprintf(" %s=%q", scope, v)
		}
		if other, taken := owners[string(key)]; taken && other != owner {
			t.Fatalf("seed %d: %q belongs to %s and to %s", seed, key, other, owner)
		}
		owners[string(key)] = owner
	}
	keys := map[string]string{}
	for key, owner := range owners {
		if other, taken := keys[owner]; taken {
			t.Fatalf("seed %d: %s has the keys %q and %q", seed, owner, key, other)
		}
		keys[owner] = key
	}
}

// clientTwin is Client in the plainest words.
func clientTwin(list string, trusted []netip.Prefix) (string, bool) {
	parts := strings.Split(list, ",")
	for i := len(parts) - 1; i >= 0; i-- {
		text := strings.Trim(parts[i], " \t")
		if len(text) > addressBytesMax {
			return "", false
		}
		host := text
		if strings.HasPrefix(text, "[") || strings.Count(text, ":") == 1 && strings.Contains(text, ".") {
			if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
				if host = text[1 : len(text)-1]; strings.ContainsAny(host, "[]") {
					return "", false
				}
			} else {
				h, port, err := net.SplitHostPort(text)
				n, portErr := strconv.ParseUint(port, 10, 16)
				if err != nil || portErr != nil || n > 65535 || len(port) > 5 || strings.ContainsAny(port, "+_") {
					return "", false
				}
				host = h
			}
			if strings.HasPrefix(text, "[") && !strings.Contains(host, ":") {
				return "", false
			}
		}
		ip, err := netip.ParseAddr(host)
		if err != nil {
			return "", false
		}
		ip = ip.WithZone("").Unmap()
		ours := false
		for _, network := range trusted {
			ours = ours || network.Contains(ip)
		}
		if !ours || i == 0 {
			return ip.String(), true
		}
	}
	return "", false
}

func FuzzForwardedFor(f *testing.F) {
	for _, list := range []string{
		"203.0.113.5, 10.0.0.1", "::ffff:10.0.0.1", "[2001:db8::1]:80, 10.0.0.1", "fe80::1%eth0", "1.2.3.4:80", "", ",", "garbage, 10.0.0.1", "[::1", "1.2.3.4%x:80",
		"::1.2.3.4%z:1", "[::%a:b]:1", "::1%a.b:7", "[::1]]:80", "[[::1]]:80", "1.2.3.4:08",
	} {
		f.Add(list)
	}
	a := Addresses{Trusted: prefixes("10.0.0.0/8", "2001:db8:ffff::/48")}
	f.Fuzz(func(t *testing.T, list string) {
		got, err := a.Client([]byte(list))
		want, ok := clientTwin(list, a.Trusted)
		if ok != (err == nil) || ok && got.String() != want {
			t.Fatalf("%q: got %v, %v, want %q", list, got, err, want)
		}
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("%q: an error of %d bytes", list, len(err.Error()))
			}
			return
		}
		if got.Zone() != "" || got.Is4In6() {
			t.Fatalf("%q: %s", list, got)
		}
		key := a.AppendAddress(nil, got)
		if i := bytes.IndexByte(key, '/'); i >= 0 {
			key = key[:i]
		}
		if _, err := netip.ParseAddr(string(key)); err != nil {
			t.Fatalf("%q: %s: %v", list, key, err)
		}
	})
}

func TestKeyAllocations(t *testing.T) {
	a := Addresses{Trusted: prefixes("10.0.0.0/8")}
	r := ruleFor(t, "r", "[user, model]")
	id := &Identity{IP: []byte("2001:db8::1%eth0, ::ffff:10.0.0.1"), Attributes: []Attribute{{[]byte("model"), []byte("m|n")}}}
	dst := make([]byte, 0, 128)
	if n := testing.AllocsPerRun(100, func() { dst, _, _ = a.AppendKey(dst[:0], r, id) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

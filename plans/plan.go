package plans

// Plans: several limits under one name, every one of which must pass, and what a
// call costs by the endpoint that it is for.

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"

	"sluice/algorithms"
)

const (
	// LimitsMax is how many limits a plan may have.
	LimitsMax = 64
	// CostsMax is how many endpoints a plan may price.
	CostsMax = 10_000
	// EndpointBytesMax is the longest name of an endpoint.
	EndpointBytesMax = 256
	// OverridesMax is how many keys and patterns a plan may make exceptions for.
	OverridesMax = 100_000
	// overriddenMax is how many limits a plan's overrides may come to.
	overriddenMax = 1_000_000
	// KeyBytesMax is the longest key that an exception may be made for.
	KeyBytesMax = 65_536
)

// Plan is a named set of limits, prices of endpoints and exceptions for single
// keys. It is immutable: whoever reads it may do so from everywhere, and nobody
// may change what it hands out.
type Plan struct {
	Name   string
	Limits []Limit // by name; at least one

	costs     map[string]uint64
	overrides overrides
	version   uint64
	src       *source
}

// Limit is one limit of a plan, as it holds for the key that was asked about.
type Limit struct {
	algorithms.Limit
	Name     string
	Suffix   []byte // "#name": what AppendStateName puts behind the key
	Mode     Mode
	Override string // the key or pattern of the override it comes from; "" if it is the plan's own

	terms terms // what the text gave
	at    place // of the name, in the plan's source
}

// For returns the limits that hold for a key, by name: the plan's own, or those of
// the override for exactly this key, or else of the one with the longest pattern
// that the key begins with. One override applies, they do not add up. The caller
// must not change them.
func (p *Plan) For(key []byte) []Limit {
	if o := p.overrides.find(key); o != nil {
		return o.limits
	}
	return p.Limits
}

// limit returns the plan's own limit of a name, nil if it has none.
func (p *Plan) limit(name string) *Limit {
	for i := range p.Limits {
		if p.Limits[i].Name == name {
			return &p.Limits[i]
		}
	}
	return nil
}

// Cost is what a call costs by its endpoint: 1 where the endpoint has no price.
func (p *Plan) Cost(endpoint []byte) uint64 {
	if cost, ok := p.costs[string(endpoint)]; ok {
		return cost
	}
	return 1
}

// Version is a number made of the plan's name and contents: equal plans have equal
// versions on every machine.
func (p *Plan) Version() uint64 { return p.version }

// AppendJSON writes the plan's canonical form, from which ParsePlan makes an equal
// plan.
func (p *Plan) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"limits":{`...)
	for i := range p.Limits {
		dst = appendName(dst, i, p.Limits[i].Name)
		dst = p.Limits[i].terms.appendJSON(dst)
	}
	dst = append(dst, '}')
	if len(p.costs) > 0 {
		dst = append(dst, `,"costs":{`...)
		for i, endpoint := range sortedNames(p.costs) {
			dst = appendName(dst, i, endpoint)
			dst = strconv.AppendUint(dst, p.costs[endpoint], 10)
		}
		dst = append(dst, '}')
	}
	if all := p.overrides.all; len(all) > 0 {
		dst = append(dst, `,"overrides":{`...)
		for i, o := range all {
			dst = appendName(dst, i, o.pattern)
			dst = append(dst, '{')
			for j := range o.given {
				dst = appendName(dst, j, o.given[j].name)
				dst = o.given[j].terms.appendJSON(dst)
			}
			dst = append(dst, '}')
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// appendName writes the name of an object's field and the comma before it.
func appendName(dst []byte, i int, name string) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	return append(appendString(dst, name), ':')
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// versionOf makes a number of a name and a canonical form.
func versionOf(kind, name string, form []byte) uint64 {
	text := make([]byte, 0, len(kind)+len(name)+len(form)+2)
	text = append(append(text, kind...), 0)
	text = append(append(text, name...), 0)
	sum := sha256.Sum256(append(text, form...))
	return binary.BigEndian.Uint64(sum[:])
}

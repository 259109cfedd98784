package plans

// Cutting block style by the columns of its tokens, as yaml.go says why.

import "github.com/goccy/go-yaml/token"

// cut makes a tree of block style. If it cannot, all that it returns is the token
// that it stumbled over.
func (f *forest) cut(tokens token.Tokens, at place, levels int) (n *node, odd *token.Token, err *Error) {
	first := tokens[0]
	switch {
	case first.Type == token.SequenceEntryType:
		return f.cutList(tokens, levels)
	case isAnchored(tokens) && standsAlone(first, tokens[2:]):
		n, err = f.grow(tokens[2:], at, levels)
		f.anchors[tokens[1].Value] = n
		return n, first, err
	}
	return f.cutMapping(tokens, levels)
}

// flow counts open brackets.
type flow int

// after takes one more token and says whether it is inside brackets. A bracket that
// nothing is around is outside, the one that closes it is too.
func (f *flow) after(t *token.Token) (inside bool) {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		*f++
		return *f > 1
	case token.MappingEndType, token.SequenceEndType:
		*f = max(*f-1, 0)
	}
	return *f > 0
}

// cutMapping cuts a block mapping whose keys are plain or quoted.
func (f *forest) cutMapping(tokens token.Tokens, levels int) (n *node, odd *token.Token, err *Error) {
	column := tokens[0].Position.Column
	var starts []int
	var flow flow
	for i, t := range tokens {
		inside := flow.after(t)
		if t.Position.Column > column || inside {
			continue
		}
		isKey := isPlainKey(t) && i+1 < len(tokens) && tokens[i+1].Type == token.MappingValueType && tokens[i+1].Position.Line == t.Position.Line
		switch {
		case isKey && t.Position.Column == column:
			starts = append(starts, i)
		case t.Type == token.SequenceEntryType && t.Position.Column == column && i > 0:
			// A list may stand in the column of the name that it belongs to.
		default:
			return nil, t, nil
		}
	}
	starts = append(starts, len(tokens))
	for i, start := range starts[:len(starts)-1] {
		if value := tokens[start+2 : starts[i+1]]; !standsAlone(tokens[start+1], value) {
			return nil, value[0], nil
		}
	}
	n = &node{shape: mapping, at: placeOf(tokens[0])}
	for i, start := range starts[:len(starts)-1] {
		key, end := tokens[start], starts[i+1]
		value, err := f.grow(tokens[start+2:end:end], placeOf(tokens[start+1]), levels-1)
		if err != nil {
			return nil, nil, err
		}
		n.pairs = append(n.pairs, pair{name: key.Value, at: placeOf(key), value: value})
	}
	return n, nil, nil
}

// standsAlone says whether a value means the same without the name before it: it
// begins on a line of its own, or it is one scalar, alias or flow collection, with
// or without an anchor.
func standsAlone(colon *token.Token, value token.Tokens) bool {
	if len(value) == 0 || value[0].Position.Line != colon.Position.Line {
		return true
	}
	switch value[0].Type {
	case token.MappingStartType, token.SequenceStartType:
		return true
	case token.LiteralType, token.FoldedType, token.AliasType:
		return len(value) == 2
	case token.AnchorType:
		return isAnchored(value) && standsAlone(colon, value[2:])
	}
	return len(value) == 1 && isPlainKey(value[0])
}

// isAnchored says whether a value with an anchor, but one, begins here.
func isAnchored(tokens token.Tokens) bool {
	return len(tokens) > 2 && tokens[0].Type == token.AnchorType && isPlainKey(tokens[1]) && tokens[2].Type != token.AnchorType
}

// isPlainKey says whether a token can be a name by itself.
func isPlainKey(t *token.Token) bool {
	switch t.Type {
	case token.StringType, token.SingleQuoteType, token.DoubleQuoteType, token.IntegerType, token.FloatType, token.BoolType, token.NullType:
		return true
	}
	return false
}

// cutList cuts a block list.
func (f *forest) cutList(tokens token.Tokens, levels int) (n *node, odd *token.Token, err *Error) {
	column := tokens[0].Position.Column
	var starts []int
	var flow flow
	for i, t := range tokens {
		inside := flow.after(t)
		if t.Position.Column > column || inside {
			continue
		}
		if t.Type != token.SequenceEntryType || t.Position.Column != column {
			return nil, t, nil
		}
		starts = append(starts, i)
	}
	starts = append(starts, len(tokens))
	n = &node{shape: list, at: placeOf(tokens[0])}
	for i, start := range starts[:len(starts)-1] {
		end := starts[i+1]
		item, err := f.grow(tokens[start+1:end:end], placeOf(tokens[start]), levels-1)
		if err != nil {
			return nil, nil, err
		}
		n.items = append(n.items, item)
	}
	return n, nil, nil
}

package plans

// From text to tree. goccy/go-yaml cuts the text into tokens and makes trees of
// them; here its trees become ours.
//
// Its parser copies the rest of the tokens at every level, so the work for a file
// with 10,000 plans would grow with the square of their number. What makes a file
// long are the entries of two levels of block style: the sections, and the plans
// and rules in them. Those levels are cut here, by the columns of the tokens, and
// the parser gets one entry at a time. Where a level is written in any other way
// (flow style, anchors, explicit keys) it goes to the parser as a whole, and comes
// out the same.

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// FileBytesMax is the largest configuration file.
	FileBytesMax = 64 << 20
	// TextBytesMax is the largest text of one plan or one rule.
	TextBytesMax = 1 << 20
	// nestingMax bounds how deep a text may be nested on one line; what is legal
	// is nested less than ten deep.
	nestingMax = 32
	// sectionLevels are the levels of a file that are cut before they are parsed.
	sectionLevels = 2
)

// forest is the reading of one text.
type forest struct {
	src     *source
	anchors map[string]*node
}

// parse makes the tree of a text, of which the given number of levels may be long.
// The text is a single document of at most most bytes.
func parse(file string, text []byte, most, levels int) (n *node, src *source, err *Error) {
	src = &source{file: file, text: strings.TrimPrefix(string(text), "\ufeff")}
	if len(text) > most {
		return nil, src, src.syntaxError(place{}, "the text is too long: at most %d bytes, got %d", most, len(text))
	}
	if !utf8.ValidString(src.text) {
		return nil, src, src.syntaxError(badByte(src.text), "this is not UTF-8")
	}
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, src.syntaxError(place{}, "this cannot be read as YAML or JSON")
		}
	}()
	tokens, err := src.tokens()
	if err != nil {
		return nil, src, err
	}
	f := &forest{src: src, anchors: map[string]*node{}}
	n, err = f.grow(tokens, place{line: 1, column: 1}, levels)
	return n, src, err
}

// badByte is the place of the first byte that is not UTF-8.
func badByte(text string) place {
	at := place{line: 1, column: 1}
	for i, c := range text {
		if c == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				break
			}
		}
		at.column++
		if c == '\n' {
			at.line, at.column = at.line+1, 1
		}
	}
	return at
}

// tokens cuts the text, leaves comments and the marks of a document out and
// refuses what nests too deep.
func (s *source) tokens() (token.Tokens, *Error) {
	all := lexer.Tokenize(s.text)
	kept := all[:0]
	var deep nesting
	ended := false
	for _, t := range all {
		switch t.Type {
		case token.InvalidType:
			return nil, s.syntaxError(placeOf(t), "%s", oneLine(t.Error))
		case token.CommentType:
			continue
		case token.DocumentEndType:
			ended = true
			continue
		case token.DirectiveType:
			return nil, s.syntaxError(placeOf(t), "directives are not supported")
		case token.DocumentHeaderType:
			if len(kept) > 0 {
				ended = true
				break
			}
			continue
		}
		if ended {
			return nil, s.syntaxError(placeOf(t), "a second document begins here: one is all that is read")
		}
		if deep.after(t) > nestingMax {
			return nil, s.syntaxError(placeOf(t), "this is nested too deep")
		}
		kept = append(kept, t)
	}
	return kept, nil
}

// nesting counts what makes the parser call itself: open brackets, and marks that
// follow each other on a line without a value between them (- - -, a: b: c:).
// What is nested by indenting needs a line a level, longer and longer ones.
type nesting struct {
	flow, row, line int
	last            token.Type
}

// after returns how deep the text is nested with one more token.
func (d *nesting) after(t *token.Token) int {
	sameLine, last := t.Position.Line == d.line, d.last
	d.line, d.last = t.Position.Line, t.Type
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		d.flow++
		d.row = 0
	case token.MappingEndType, token.SequenceEndType:
		d.flow--
		d.row = 0
	case token.MappingKeyType, token.AnchorType, token.TagType, token.AliasType:
		d.row++
	case token.SequenceEntryType, token.MappingValueType:
		if !sameLine {
			d.row = 0
		}
		d.row++
	default:
		isKey := t.Next != nil && t.Next.Type == token.MappingValueType
		if isName := last == token.AnchorType || last == token.AliasType; !isKey && !isName {
			d.row = 0
		}
	}
	return max(d.flow, d.row)
}

// placeOf is where a token begins.
func placeOf(t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{}
	}
	p := place{line: int32(t.Position.Line), column: int32(t.Position.Column), offset: int32(t.Position.Offset)}
	switch {
	case t.Type == token.DoubleQuoteType:
		p.first = '"'
	case t.Type == token.SingleQuoteType:
		p.first = '\''
	case t.Type == token.ImplicitNullType || t.Value == "":
	case t.Value[0] < utf8.RuneSelf:
		p.first = t.Value[0]
	}
	return p
}

// grow makes a tree of tokens; at is where it stands if there are none.
func (f *forest) grow(tokens token.Tokens, at place, levels int) (*node, *Error) {
	if len(tokens) == 0 {
		return &node{at: at}, nil
	}
	if levels > 0 {
		if n, err := f.growMapping(tokens, levels); n != nil || err != nil {
			return n, err
		}
		if n, err := f.growList(tokens, levels); n != nil || err != nil {
			return n, err
		}
	}
	tokens[0].Prev, tokens[len(tokens)-1].Next = nil, nil
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, f.parserError(err)
	}
	var found *node
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if found != nil {
			return nil, f.src.syntaxError(placeOf(d.Body.GetToken()), "this does not belong to what stands before it")
		}
		n, err := f.convert(d.Body)
		if err != nil {
			return nil, err
		}
		found = n
	}
	if found == nil {
		found = &node{at: at}
	}
	return found, nil
}

// parserError takes what the parser has to say and leaves its drawing out.
func (f *forest) parserError(err error) *Error {
	var syntax interface {
		error
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &syntax) {
		return f.src.syntaxError(place{}, "this cannot be read as YAML or JSON")
	}
	return f.src.syntaxError(placeOf(syntax.GetToken()), "%s", oneLine(syntax.GetMessage()))
}

// oneLine makes a message printable.
func oneLine(message string) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ReplaceAll(message, "'\t'", "'\\t'"))
}

// growMapping makes a tree of a block mapping whose keys are plain or quoted, nil
// if the tokens are anything else.
func (f *forest) growMapping(tokens token.Tokens, levels int) (*node, *Error) {
	column := tokens[0].Position.Column
	var starts []int
	flow := 0
	for i, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		}
		if t.Position.Column > column || flow > 0 && i > 0 {
			continue
		}
		isKey := isPlainKey(t) && i+1 < len(tokens) && tokens[i+1].Type == token.MappingValueType && tokens[i+1].Position.Line == t.Position.Line
		switch {
		case isKey && t.Position.Column == column:
			starts = append(starts, i)
		case t.Type == token.SequenceEntryType && t.Position.Column == column && i > 0:
			// A list may stand in the column of the name that it belongs to.
		default:
			return nil, nil
		}
	}
	starts = append(starts, len(tokens))
	for i, start := range starts[:len(starts)-1] {
		if !standsAlone(tokens[start+1], tokens[start+2:starts[i+1]]) {
			return nil, nil
		}
	}
	n := &node{shape: mapping, at: placeOf(tokens[0])}
	for i, start := range starts[:len(starts)-1] {
		key, end := tokens[start], starts[i+1]
		value, err := f.grow(tokens[start+2:end:end], placeOf(tokens[start+1]), levels-1)
		if err != nil {
			return nil, err
		}
		n.pairs = append(n.pairs, pair{name: key.Value, at: placeOf(key), value: value})
	}
	return n, nil
}

// standsAlone says whether a value means the same without the name before it: it
// begins on a line of its own, or it is one scalar, alias or flow collection.
func standsAlone(colon *token.Token, value token.Tokens) bool {
	if len(value) == 0 || value[0].Position.Line != colon.Position.Line {
		return true
	}
	switch value[0].Type {
	case token.MappingStartType, token.SequenceStartType:
		return true
	case token.LiteralType, token.FoldedType, token.AliasType:
		return len(value) == 2
	}
	return len(value) == 1 && isPlainKey(value[0])
}

// isPlainKey says whether a token can be a name by itself.
func isPlainKey(t *token.Token) bool {
	switch t.Type {
	case token.StringType, token.SingleQuoteType, token.DoubleQuoteType, token.IntegerType, token.FloatType, token.BoolType, token.NullType:
		return true
	}
	return false
}

// growList makes a tree of a block list, nil if the tokens are anything else.
func (f *forest) growList(tokens token.Tokens, levels int) (*node, *Error) {
	if tokens[0].Type != token.SequenceEntryType {
		return nil, nil
	}
	column := tokens[0].Position.Column
	var starts []int
	flow := 0
	for i, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		}
		if t.Position.Column > column || flow > 0 {
			continue
		}
		if t.Type != token.SequenceEntryType || t.Position.Column != column {
			return nil, nil
		}
		starts = append(starts, i)
	}
	starts = append(starts, len(tokens))
	n := &node{shape: list, at: placeOf(tokens[0])}
	for i, start := range starts[:len(starts)-1] {
		end := starts[i+1]
		item, err := f.grow(tokens[start+1:end:end], placeOf(tokens[start]), levels-1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	return n, nil
}

// convert makes one of our nodes out of one of the parser's.
func (f *forest) convert(from ast.Node) (*node, *Error) {
	at := placeOf(from.GetToken())
	switch from := from.(type) {
	case *ast.NullNode:
		return &node{at: at}, nil
	case *ast.StringNode:
		return &node{shape: scalar, text: from.Value, at: at}, nil
	case *ast.LiteralNode:
		return &node{shape: scalar, text: from.Value.Value, at: at}, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return &node{shape: scalar, text: from.GetToken().Value, at: at}, nil
	case *ast.MappingValueNode:
		return f.convertMapping([]*ast.MappingValueNode{from}, at)
	case *ast.MappingNode:
		return f.convertMapping(from.Values, at)
	case *ast.SequenceNode:
		n := &node{shape: list, at: at}
		for _, v := range from.Values {
			item, err := f.convert(v)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		return n, nil
	case *ast.AnchorNode:
		n, err := f.convert(from.Value)
		if err == nil {
			f.anchors[from.Name.GetToken().Value] = n
		}
		return n, err
	case *ast.AliasNode:
		name := from.Value.GetToken().Value
		n := f.anchors[name]
		if n == nil {
			return nil, f.src.syntaxError(at, "no '&%s' stands before this", show(name))
		}
		return n, nil
	case *ast.TagNode:
		return nil, f.src.syntaxError(at, "tags are not supported: every field knows what it is")
	}
	return nil, f.src.syntaxError(at, "this is not expected here")
}

func (f *forest) convertMapping(values []*ast.MappingValueNode, at place) (*node, *Error) {
	n := &node{shape: mapping, at: at}
	for i, v := range values {
		key := v.Key.GetToken()
		switch v.Key.(type) {
		case *ast.MergeKeyNode:
			return nil, f.src.syntaxError(placeOf(key), "merge keys (<<) are not supported: write the fields out, or give the whole value an &anchor and an *alias")
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		default:
			return nil, f.src.syntaxError(placeOf(key), "a name must be a word or a string")
		}
		value, err := f.convert(v.Value)
		if err != nil {
			return nil, err
		}
		if i == 0 && placeOf(key).before(n.at) {
			n.at = placeOf(key) // the parser says where the first colon is
		}
		n.pairs = append(n.pairs, pair{name: keyText(v.Key), at: placeOf(key), value: value})
	}
	return n, nil
}

// keyText is the text of a name, its quotes off.
func keyText(key ast.MapKeyNode) string {
	if s, ok := key.(*ast.StringNode); ok {
		return s.Value
	}
	return fmt.Sprint(key.GetToken().Value)
}

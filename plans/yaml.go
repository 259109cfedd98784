package plans

// From text to tree. goccy/go-yaml cuts the text into tokens and makes trees of
// them; here its trees become ours.
//
// Its parser copies the rest of the tokens for every entry of a block mapping, so
// the work for 10,000 plans would grow with the square of their number. Therefore
// block mappings and lists are cut here, by the columns of their tokens, and the
// parser gets what is left: single values and flow style. What cannot be cut by
// such simple means goes to the parser as a whole, unless it is too long for that;
// what can be cut comes to the same.

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
	// cutLevels are the levels of block style that are cut before the parser gets
	// the rest; a plan in a file has six.
	cutLevels = 8
	// uncutTokensMax is the longest text in block style that goes to the parser
	// although it could not be cut.
	uncutTokensMax = 50_000
)

// forest is the reading of one text.
type forest struct {
	src     *source
	anchors map[string]*node
}

// parse makes the tree of a text, of which the given number of levels may be long.
// The text is a single document of at most most bytes.
func parse(file string, text []byte, most, levels int) (n *node, src *source, err *Error) {
	src = &source{file: file, text: lineEnds.Replace(strings.TrimPrefix(string(text), "\ufeff"))}
	if len(text) > most {
		return nil, src, src.syntaxError(place{}, "the text is too long: at most %d bytes, got %d", most, len(text))
	}
	if !utf8.ValidString(src.text) {
		return nil, src, src.syntaxError(badByte(src.text), "this is not UTF-8")
	}
	// Tokens and trees are somebody else's: what they may be in the oddest texts we
	// do not know, and a server must not fall over a text.
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, src.syntaxError(place{}, "this cannot be read as YAML or JSON")
		}
	}()
	n, err = src.grow(levels)
	return n, src, err
}

// grow makes the tree of the source. If cutting comes to an error, the parser has
// the last word, since it sees what stands around.
func (s *source) grow(levels int) (*node, *Error) {
	tokens, err := s.tokens()
	if err != nil {
		return nil, err
	}
	if levels > 0 {
		long := len(tokens) > uncutTokensMax
		f := &forest{src: s, anchors: map[string]*node{}}
		n, err := f.grow(tokens, place{line: 1, column: 1}, levels)
		if err == nil || long {
			return n, err
		}
		return s.grow(0)
	}
	f := &forest{src: s, anchors: map[string]*node{}}
	return f.grow(tokens, place{line: 1, column: 1}, levels)
}

// lineEnds makes one of the three ways to end a line of all.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

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
	var names valueless
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
		case token.MappingKeyType:
			return nil, s.syntaxError(placeOf(t), "explicit keys (?) are not supported: write name: value")
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
		if name := names.after(t); name != nil {
			return nil, s.syntaxError(placeOf(name), "'%s' has no value: write name: value", show(name.Value))
		}
		if len(kept) > 0 && isEmptyEntry(kept[len(kept)-1], t) {
			return nil, s.syntaxError(placeOf(kept[len(kept)-1]), "this entry of a list is empty")
		}
		kept = append(kept, t)
	}
	if len(kept) > 0 && isEmptyEntry(kept[len(kept)-1], nil) {
		return nil, s.syntaxError(placeOf(kept[len(kept)-1]), "this entry of a list is empty")
	}
	return kept, nil
}

// isEmptyEntry says whether a token begins an entry of a block list that has nothing
// in it: the next token, nil at the end, stands below it and no further to the right.
// No list of ours has such entries, and the parser takes what follows into them.
func isEmptyEntry(t, next *token.Token) bool {
	return t.Type == token.SequenceEntryType &&
		(next == nil || next.Position.Line > t.Position.Line && next.Position.Column <= t.Position.Column)
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
	if t.Position.Line != d.line {
		d.row = 0
	}
	last := d.last
	d.line, d.last = t.Position.Line, t.Type
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		d.flow++
		d.row = 0
	case token.MappingEndType, token.SequenceEndType:
		d.flow = max(d.flow-1, 0)
		d.row = 0
	case token.AnchorType, token.TagType, token.AliasType, token.SequenceEntryType, token.MappingValueType:
		d.row++
	default:
		isKey := t.Next != nil && t.Next.Type == token.MappingValueType
		if isName := last == token.AnchorType || last == token.AliasType; !isKey && !isName {
			d.row = 0
		}
	}
	return max(d.flow, d.row)
}

// valueless looks for a name without a value in a mapping of flow style: {a, b: 1}.
// YAML has it that a is there and empty, we have no use for it, and for the parser
// many of them are hard work.
type valueless struct {
	inMapping [nestingMax + 1]bool
	depth     int
	last      [2]*token.Token // the two tokens before
}

// after takes one more token and returns the name before it, if that has no value.
func (v *valueless) after(t *token.Token) (name *token.Token) {
	before, last := v.last[0], v.last[1]
	v.last = [2]*token.Token{last, t}
	inside := v.depth > 0 && v.inMapping[v.depth]
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		v.depth++
		v.inMapping[v.depth] = t.Type == token.MappingStartType
		return nil
	case token.MappingEndType, token.SequenceEndType:
		v.depth = max(v.depth-1, 0)
	case token.CollectEntryType:
	default:
		return nil
	}
	if inside && isScalar(last) && (before.Type == token.MappingStartType || before.Type == token.CollectEntryType) {
		return last
	}
	return nil
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
	if t := tokens[0]; len(tokens) == 1 && isScalar(t) {
		return scalarNode(t), nil
	}
	if levels > 0 && !startsFlow(tokens[0]) {
		n, odd, err := f.cut(tokens, at, levels)
		if n != nil || err != nil {
			return n, err
		}
		if len(tokens) > uncutTokensMax {
			return nil, f.src.syntaxError(placeOf(odd), "a name with a ':' is expected here, or a list's '-'")
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

// startsFlow says whether a value in flow style begins with a token.
func startsFlow(t *token.Token) bool {
	return t.Type == token.MappingStartType || t.Type == token.SequenceStartType
}

// isScalar says whether a token is a value by itself.
func isScalar(t *token.Token) bool {
	switch t.Type {
	case token.BinaryIntegerType, token.OctetIntegerType, token.HexIntegerType, token.InfinityType, token.NanType:
		return true
	}
	return isPlainKey(t)
}

// scalarNode makes a node of such a token.
func scalarNode(t *token.Token) *node {
	if t.Type == token.NullType {
		return &node{at: placeOf(t)}
	}
	return &node{shape: scalar, text: t.Value, at: placeOf(t)}
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

// parserMessageMax is how much of a message of the parser is shown: some repeat the
// text.
const parserMessageMax = 120

// oneLine makes a message of the parser printable.
func oneLine(message string) string {
	if strings.HasPrefix(message, "found character '\t'") || strings.HasPrefix(message, "tab character cannot") {
		return "a tab cannot indent: use spaces"
	}
	var b strings.Builder
	for _, c := range strings.ReplaceAll(message, "'\t'", "'\\t'") {
		if b.Len() > parserMessageMax {
			return b.String() + "..."
		}
		if !unicode.IsPrint(c) {
			c = ' '
		}
		b.WriteRune(c)
	}
	return b.String()
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

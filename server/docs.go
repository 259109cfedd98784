package server

// COMMAND DOCS: the table as redis-cli reads it when it starts, to make its hints
// and its help of it. Shapes and field names are those of Redis 7.

import "github.com/tidwall/redcon"

func runCommandDocs(s *session, out []byte, args [][]byte) ([]byte, error) {
	rows := table
	if len(args) > 2 {
		rows = nil
		for _, name := range args[2:] {
			if c := named(name); c != nil {
				rows = append(rows, c)
			}
		}
	}
	return appendDocs(out, s.proto, rows), nil
}

// appendDocs writes a map from names to documentation.
func appendDocs(out []byte, proto int, rows []*Command) []byte {
	out = appendMap(out, proto, len(rows))
	for _, c := range rows {
		out = appendDoc(redcon.AppendBulkString(out, c.lower), proto, c)
	}
	return out
}

func appendDoc(out []byte, proto int, c *Command) []byte {
	fields := 4
	if len(c.Args) > 0 {
		fields++
	}
	if len(c.Sub) > 0 {
		fields++
	}
	out = appendMap(out, proto, fields)
	out = appendField(out, "summary", c.Summary)
	out = appendField(out, "since", c.Since)
	out = appendField(out, "group", c.Group)
	out = appendField(out, "complexity", c.Complexity)
	if len(c.Args) > 0 {
		out = redcon.AppendBulkString(out, "arguments")
		out = appendArgs(out, proto, c.Args)
	}
	if len(c.Sub) > 0 {
		out = redcon.AppendBulkString(out, "subcommands")
		out = appendDocs(out, proto, c.Sub)
	}
	return out
}

func appendArgs(out []byte, proto int, args []Arg) []byte {
	out = redcon.AppendArray(out, len(args))
	for _, a := range args {
		out = appendArg(out, proto, a)
	}
	return out
}

func appendArg(out []byte, proto int, a Arg) []byte {
	kind := a.Type
	if kind == "" {
		kind = "string"
	}
	var flags []string
	if a.Optional {
		flags = append(flags, "optional")
	}
	if a.Multiple {
		flags = append(flags, "multiple")
	}
	fields := 2
	for _, there := range []bool{a.Type == "key", a.Token != "", a.Summary != "", flags != nil, a.Args != nil} {
		if there {
			fields++
		}
	}
	out = appendMap(out, proto, fields)
	out = appendField(out, "name", a.Name)
	out = appendField(out, "type", kind)
	if a.Type == "key" {
		out = appendPair(out, "key_spec_index", 0)
	}
	if a.Token != "" {
		out = appendField(out, "token", a.Token)
	}
	if a.Summary != "" {
		out = appendField(out, "summary", a.Summary)
	}
	if flags != nil {
		out = appendWords(redcon.AppendBulkString(out, "flags"), proto, flags)
	}
	if a.Args != nil {
		out = appendArgs(redcon.AppendBulkString(out, "arguments"), proto, a.Args)
	}
	return out
}

package shard

// Notes: texts that the server keeps beside its keys and has to find again after a
// crash, such as the plans that commands have set. What they say is nobody's business
// here. They are few and change seldom, so all of them are on shard 0, whichever
// keys are there; they go to the journal as states do, each once a flush as it is
// then, and into every snapshot.

import (
	"maps"
	"slices"

	"sluice/persistence"
)

// RecordNote assigns the text of the note that its key names; without one there is
// no such note.
const RecordNote uint8 = 16

// notes are the notes of one core; only that of shard 0 has any.
type notes struct {
	texts map[string][]byte
	bytes int
}

// set assigns a text, which is kept; nil removes the note.
func (t *notes) set(name string, text []byte) {
	if was, ok := t.texts[name]; ok {
		t.bytes -= len(name) + len(was)
		delete(t.texts, name)
	}
	if text == nil {
		return
	}
	if t.texts == nil {
		t.texts = make(map[string][]byte)
	}
	t.texts[name] = text
	t.bytes += len(name) + len(text)
}

// appendNote writes the record of a note as it is now.
func (c *Core) appendNote(dst []byte, name string) []byte {
	return persistence.AppendRecord(dst, RecordNote, []byte(name), c.notes.texts[name])
}

// takeNotes takes the records of the notes that have changed, as TakeRecords does.
func (c *Core) takeNotes(dst []byte, most int) (records []byte, more bool) {
	g := &c.ledger
	for len(g.notes) > 0 {
		if len(dst) >= most {
			return dst, true
		}
		dst = c.appendNote(dst, g.notes[0])
		g.notes = g.notes[1:]
	}
	g.notes = nil
	return dst, false
}

// Note assigns a text, not empty, to a name, or with nil removes it, and returns when
// that is as durable as the journal promises. text is kept. After an error, the
// journal's, the note is as it was before; what of it is on disk will be again, too.
func (set *Set) Note(name string, text []byte) error {
	var was []byte
	assign := func(text []byte) error {
		return set.On(0, func(c *Core, _ uint64) {
			was = c.notes.texts[name]
			c.notes.set(name, text)
			if c.ledger.on && !slices.Contains(c.ledger.notes, name) {
				c.ledger.notes = append(c.ledger.notes, name)
			}
		})
	}
	err := assign(text)
	if err != nil {
		_ = assign(was) // the journal says so in its own time
	}
	return err
}

// Notes returns all notes. The texts must not be changed.
func (set *Set) Notes() (texts map[string][]byte) {
	set.On(0, func(c *Core, _ uint64) { texts = maps.Clone(c.notes.texts) })
	return texts
}

// exportNotes hands the records of all notes to emit, a few at a time.
func (set *Set) exportNotes(emit func(now uint64, records []byte) error) error {
	names := slices.Collect(maps.Keys(set.Notes()))
	var records []byte
	for len(names) > 0 {
		var at uint64
		records = records[:0]
		set.On(0, func(c *Core, now uint64) {
			at = now
			for len(names) > 0 && len(records) < RecordsBytesMax {
				records = c.appendNote(records, names[0])
				names = names[1:]
			}
		})
		if err := emit(at, records); err != nil {
			return err
		}
		yield()
	}
	return nil
}

package shard

// How ids are written to disk. A RecordID has the id as its key and as its value
//
//	┌─────────┬────────┬──────────┬──────┬──────────┬────────┬──────────────────────┐
//	│ outcome │ cancel │ deadline │ key  │ question │ answer │ number of charges,   │
//	│ 1 B     │ 1 B    │ 8 B LE   │ text │ text     │ text   │ and each of them     │
//	└─────────┴────────┴──────────┴──────┴──────────┴────────┴──────────────────────┘
//
// where a text is its uvarint length and its bytes. Of a settled one the reply to the
// settling follows, a text; in files of before there was one, it stands where the answer
// does. A charge is the name of its
// state (text), its limit as in a RecordKey, its units (uvarint), its mark (8 B LE),
// the life of its state (uvarint) and 1 byte whose bits say: 0, under a plan; 1, shadow.

import (
	"encoding/binary"

	"sluice/persistence"
)

// RecordID assigns what an id stands for.
const RecordID uint8 = 3

func appendID(dst []byte, id *ID, scratch *[]byte) []byte {
	v := append((*scratch)[:0], byte(id.Outcome), bit(id.Cancel))
	v = appendRemembered(v, id.Deadline, id.Key, id.Question, id.Answer, len(id.Charged))
	for i := range id.Charged {
		ch := &id.Charged[i]
		v = appendText(v, string(ch.Key))
		v = appendLimit(v, &ch.Limit)
		v = binary.AppendUvarint(v, ch.Units)
		v = binary.LittleEndian.AppendUint64(v, ch.Mark)
		v = binary.AppendUvarint(v, ch.Life)
		v = append(v, bit(ch.Plan)|bit(ch.Shadow)<<1)
	}
	if id.Outcome.settled() {
		v = appendText(v, string(id.Settled))
	}
	*scratch = v
	return persistence.AppendRecord(dst, RecordID, []byte(id.Name), v)
}

// appendRemembered writes what stands between what becomes of an id and its charges.
func appendRemembered(v []byte, deadline uint64, key, question, answer []byte, charges int) []byte {
	v = binary.LittleEndian.AppendUint64(v, deadline)
	for _, text := range [...][]byte{key, question, answer} {
		v = append(binary.AppendUvarint(v, uint64(len(text))), text...)
	}
	return binary.AppendUvarint(v, uint64(charges))
}

// appendAnswered writes the record of an id that only remembers an answer.
func appendAnswered(dst, name []byte, deadline uint64, key, question, answer []byte, scratch *[]byte) []byte {
	*scratch = appendRemembered(append((*scratch)[:0], byte(Answered), 0), deadline, key, question, answer, 0)
	return persistence.AppendRecord(dst, RecordID, name, *scratch)
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// parseID decodes what appendID wrote. The id keeps nothing of value.
func parseID(name, value []byte) (*ID, error) {
	c := cursor{rest: value}
	id := &ID{Name: string(name), Outcome: Outcome(c.byte()), Cancel: c.byte() == 1, Deadline: c.fixed()}
	id.Key = append(id.Key, c.bytes(c.uvarint())...)
	id.Question = append(id.Question, c.bytes(c.uvarint())...)
	id.Answer = append(id.Answer, c.bytes(c.uvarint())...)
	n := c.uvarint()
	if c.bad || id.Outcome > Cancelled || id.Name == "" || len(id.Name) > IDBytesMax || n > uint64(len(c.rest)) {
		return nil, errRecord
	}
	for range n {
		ch := Charged{Key: append([]byte(nil), c.bytes(c.uvarint())...)}
		var err error
		if ch.Limit, err = c.parseLimit(); err != nil {
			return nil, errRecord
		}
		ch.Units, ch.Mark, ch.Life = c.uvarint(), c.fixed(), c.uvarint()
		how := c.byte()
		ch.Plan, ch.Shadow = how&1 != 0, how&2 != 0
		id.Charged = append(id.Charged, ch)
	}
	switch {
	case !id.Outcome.settled():
	case len(c.rest) == 0:
		id.Settled = id.Answer
	default:
		id.Settled = append(id.Settled, c.bytes(c.uvarint())...)
	}
	if c.bad || len(c.rest) > 0 {
		return nil, errRecord
	}
	return id, nil
}

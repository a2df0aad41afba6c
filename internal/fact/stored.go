package fact

import (
	"bytes"
	"encoding/json"
)

// Text is the code of a text that an earlier version stored in place of a fact;
// its parameter "text" is that text, "next" what to do about it.
const Text Code = "text"

// Stored is a fact in a file of which older ones hold a text in its place.
type Stored struct{ Fact }

// UnmarshalJSON reads a fact, or a text.
func (s *Stored) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) {
		return json.Unmarshal(data, &s.Fact)
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	*s = Stored{FromText(text)}
	return nil
}

// FromText is the fact for a text of an earlier version; the zero one for "".
func FromText(text string) Fact {
	if text == "" {
		return Fact{}
	}
	return New(Text, Vendor("text", text))
}

// WithNext adds what to do, where an earlier version stored that beside the text.
// The result is a Text fact, also where s is none.
func (s Stored) WithNext(next string) Fact {
	if next == "" {
		return s.Fact
	}
	return New(Text, Vendor("text", s.Text("text")), Vendor("next", next))
}

// A StoredList is a list of facts in a file of which older ones hold one text.
type StoredList []Fact

// UnmarshalJSON reads a list, or a text.
func (l *StoredList) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(`[`)) {
		return json.Unmarshal(data, (*[]Fact)(l))
	}
	var one Stored
	if err := json.Unmarshal(data, &one); err != nil {
		return err
	}
	*l = nil
	if !one.IsZero() {
		*l = StoredList{one.Fact}
	}
	return nil
}

package ncurep

import (
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// rule decodes a RuleResult. An item of its body holds a message, and the
// speedup and focus metrics that belong to it.
func (r *Reader) rule(b []byte) (RuleResult, bool) {
	var rr RuleResult
	ok := eachField(b, func(f field) {
		switch f.num {
		case 1:
			rr.Identifier = r.intern(f.data)
		case 2:
			rr.DisplayName = r.intern(f.data)
		case 3:
			eachField(f.data, func(f field) {
				if f.num == 1 {
					rr.item(f.data)
				}
			})
		case 4:
			rr.Section = r.intern(f.data)
		}
	})
	return rr, ok
}

// item keeps bodies that hold a message, a speedup or a focus; tables are passed over.
func (rr *RuleResult) item(b []byte) {
	var m RuleMessage
	used := false
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			used = true
			m.message(f.data)
		case 8:
			used = true
			m.Focus = append(m.Focus, decodeFocus(f.data))
		case 10:
			used = true
			m.Speedup = decodeSpeedup(f.data)
		}
	})
	if used {
		rr.Messages = append(rr.Messages, m)
	}
}

func (m *RuleMessage) message(b []byte) {
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			m.Text = string(f.data)
		case 2:
			m.Type = MessageType(min(f.val, 255))
		case 3:
			m.ID = int32(f.val)
		case 4:
			m.Title = string(f.data)
		}
	})
}

func decodeSpeedup(b []byte) *Speedup {
	s := &Speedup{}
	eachField(b, func(f field) {
		switch {
		case f.num == 1:
			s.Type = SpeedupType(min(f.val, 255))
		case f.num == 2 && f.typ == protowire.Fixed64Type:
			s.Value = f.float64()
		}
	})
	return s
}

// decodeFocus leaves NaN where the file gives no number.
func decodeFocus(b []byte) FocusMetric {
	m := FocusMetric{Value: math.NaN()}
	eachField(b, func(f field) {
		switch {
		case f.num == 1:
			m.MessageID = int32(f.val)
		case f.num == 2:
			m.Name = string(f.data)
		case f.num == 3 && f.typ == protowire.Fixed64Type:
			m.Value = f.float64()
		case f.num == 4:
			m.Severity = uint32(f.val)
		case f.num == 5:
			m.Info = string(f.data)
		}
	})
	return m
}

// Plain returns the text with its links written out as ncu does:
// @section:ID:label@ becomes the label, @url:label:address@ "label (address)".
func (m *RuleMessage) Plain() string {
	var b strings.Builder
	rest := m.Text
	for {
		before, link, ok := strings.Cut(rest, "@")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		inside, after, ok := strings.Cut(link, "@")
		kind, target, _ := strings.Cut(inside, ":")
		first, second, two := strings.Cut(target, ":")
		switch {
		case !ok || !two || kind != "section" && kind != "url":
			b.WriteByte('@')
			rest = link
			continue
		case kind == "section":
			b.WriteString(second)
		default:
			b.WriteString(first + " (" + second + ")")
		}
		rest = after
	}
}

package ncurep

import (
	"math"
	"strings"
)

// rule decodes a RuleResult; false for damage, with what could be read.
func (r *Reader) rule(b []byte) (RuleResult, bool) {
	var rr RuleResult
	ok := r.decode(b, places{1: &rr.Identifier, 2: &rr.DisplayName, 3: places{1: rr.item}, 4: &rr.Section})
	return rr, ok
}

// item keeps an item of the body that holds a message, with the speedup and focus
// metrics that belong to it; tables are skipped.
func (rr *RuleResult) item(b []byte) {
	var m RuleMessage
	said := false
	decode(b, places{
		1: func() places {
			said = true
			return places{1: &m.Text, 2: func(v uint64) { m.Type = MessageType(min(v, 255)) }, 4: &m.Title}
		},
		8: list(&m.Focus, func(f *FocusMetric) places {
			f.Value = math.NaN()
			return places{2: &f.Name, 3: &f.Value, 4: &f.Severity, 5: &f.Info}
		}),
		10: func() places {
			s := &Speedup{}
			m.Speedup = s
			return places{1: func(v uint64) { s.Type = SpeedupType(min(v, 255)) }, 2: &s.Value}
		},
	})
	if said || len(m.Focus) > 0 || m.Speedup != nil {
		rr.Messages = append(rr.Messages, m)
	}
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

package export

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/deepprof/deepprof/internal/message"
)

// TestCodesOnly: with every message replaced by its code each table and metric is the same
// to the byte, and each export has as many notes. A trace names tracks and work with words, and
// a profile has comments: everything else in them is the same.
func TestCodesOnly(t *testing.T) {
	of := func() []*Source {
		job, _ := ranks(t)
		return []*Source{counted(t), recorded(t), job}
	}
	words := of()
	before := map[string]export{}
	for _, s := range words {
		exportAll(t, s, before)
	}
	defer message.CodesOnly()()
	after := map[string]export{}
	for _, s := range of() {
		exportAll(t, s, after)
	}
	if len(before) != len(words)*(len(Formats())-2+2*len(TableNames())) {
		t.Errorf("%d exports", len(before))
	}
	for name, want := range before {
		got := after[name]
		if got.notes != want.notes || len(got.data) == 0 != (len(want.data) == 0) {
			t.Errorf("%s: %d bytes and %d notes, with words %d and %d", name, len(got.data), got.notes, len(want.data), want.notes)
		}
		if !bytes.Equal(withoutWords(t, name, got.data), withoutWords(t, name, want.data)) {
			t.Errorf("%s depends on words", name)
		}
	}
}

// withoutWords is what an export holds besides words of deepprof.
func withoutWords(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	switch {
	case strings.HasSuffix(name, " perfetto"):
		return decode(t, "Trace", data).withoutTexts(nil)
	case strings.HasSuffix(name, " pprof"):
		p, err := profile.ParseData(data)
		if err != nil {
			t.Fatal(err)
		}
		p.Comments = nil
		return []byte(p.String())
	}
	return data
}

// withoutTexts writes all numbers of a message, and how many texts it has.
func (m *decoded) withoutTexts(out []byte) []byte {
	for _, field := range slices.Sorted(maps.Keys(m.ints)) {
		out = fmt.Appendln(out, field, m.ints[field])
	}
	for _, field := range slices.Sorted(maps.Keys(m.text)) {
		out = fmt.Appendln(out, field, len(m.text[field]), "texts")
	}
	for _, field := range slices.Sorted(maps.Keys(m.sub)) {
		for _, x := range m.sub[field] {
			out = x.withoutTexts(fmt.Appendln(out, field))
		}
	}
	return out
}

type export struct {
	data  []byte
	notes int
}

// exportAll writes every format and table of a source into all, by names.
func exportAll(t *testing.T, s *Source, all map[string]export) {
	t.Helper()
	for _, f := range Formats() {
		names := []string{""}
		if f.Folder {
			names = TableNames()
		}
		for _, table := range names {
			var b bytes.Buffer
			var notes []string
			var err error
			name := s.Run + " " + f.Name
			if f.Folder {
				name += " " + table
				notes, err = f.WriteTable(context.Background(), s, table, &b)
			} else {
				notes, err = f.Write(context.Background(), s, &b)
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all[name] = export{b.Bytes(), len(notes)}
		}
	}
}

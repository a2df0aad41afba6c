package export

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/message"
)

// TestCodesOnly: with every message replaced by its code each table and metric is the same
// to the byte, and each export has as many notes. A trace names its tracks with words and a
// profile has comments, so that these only have to be written.
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
		if !strings.HasSuffix(name, " perfetto") && !strings.HasSuffix(name, " pprof") && !bytes.Equal(got.data, want.data) {
			t.Errorf("%s depends on words", name)
		}
	}
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

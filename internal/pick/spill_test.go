package pick

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/spill"
)

// The choice does not depend on where the columns of a timeline are.
func TestChooseWithColumnsInAFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, name := range []string{"llm", "multi_node", "graph_node", "server_window"} {
		path := fixture.Unpack(t, filepath.Join("..", "nsys", "testdata", "exports", name+".sqlite.gz"))
		choose := func() string {
			store := spill.New()
			defer store.Close()
			l, err := ReadTrace(context.Background(), path, store)
			if err != nil {
				t.Fatal(err)
			}
			targets, err := Choose(l, Policy{Coverage: 0.99, Slowest: true})
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(targets)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		inMemory := choose()
		files, columns := spill.FileBytes, spill.ColumnBytes
		spill.FileBytes, spill.ColumnBytes = 0, 1
		inFile := choose()
		spill.FileBytes, spill.ColumnBytes = files, columns
		if inFile != inMemory {
			t.Errorf("%s: the choice differs\n%s\n%s", name, inFile, inMemory)
		}
	}
}

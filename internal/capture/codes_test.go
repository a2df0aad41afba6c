package capture

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/deepprof/deepprof/internal/message"
)

// TestCodesOnly: every row of the catalog is judged the same with every message
// replaced by its code.
func TestCodesOnly(t *testing.T) {
	judged := func() []byte {
		all := map[string]Outcome{}
		for _, row := range loadRows(t) {
			for _, source := range row.sources {
				for name, e := range rowEvidence(t, source) {
					all[row.row+" "+name] = judge(e)
				}
			}
		}
		data, err := json.Marshal(all)
		if err != nil || len(all) == 0 {
			t.Fatal(len(all), err)
		}
		return data
	}
	want := judged()
	defer message.CodesOnly()()
	if !bytes.Equal(judged(), want) {
		t.Error("verdicts depend on words")
	}
}

package analysis

import (
	"encoding/json"
	"testing"
)

// TestDroppedCorrelations: the result is the same whether the ids of calls are dropped on
// the way.
func TestDroppedCorrelations(t *testing.T) {
	for _, fixture := range []string{llmTimeline, toyTimeline} {
		path := unpacked(t, fixture)
		result := func() string {
			in, err := fromFiles(path)
			if err != nil {
				t.Fatal(err)
			}
			res, err := Analyze(t0(), in)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		want := result()
		before := manyEvents
		manyEvents = 0
		got := result()
		manyEvents = before
		if got != want {
			t.Errorf("%s: the result differs where ids of calls are dropped", fixture)
		}
	}
}

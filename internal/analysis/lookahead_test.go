package analysis

import (
	"encoding/json"
	"testing"
)

// TestDroppedCalls: the result is the same whether ids of calls, and calls that launched
// nothing, are dropped on the way.
func TestDroppedCalls(t *testing.T) {
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
			t.Errorf("%s: the result differs where calls are dropped", fixture)
		}
	}
}

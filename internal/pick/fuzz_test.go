package pick

import (
	"encoding/json"
	"testing"
)

// FuzzParseTargets: targets that can be read can be written and read again.
func FuzzParseTargets(f *testing.F) {
	f.Add([]byte(`{"schema":1,"targets":[{"kernel":"k"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		targets, err := ParseTargets(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(targets)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseTargets(again); err != nil {
			t.Errorf("written again they cannot be read: %v", err)
		}
	})
}

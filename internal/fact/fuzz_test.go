package fact

import (
	"encoding/json"
	"testing"
)

// FuzzStored: a stored fact that can be read can be written and read again.
func FuzzStored(f *testing.F) {
	f.Add([]byte(`"a sentence of an earlier version"`))
	f.Add([]byte(`[{"code":"x","params":[{"key":"n","value":{"count":3}}]}]`))
	f.Add([]byte(`{"code":"x","params":{"n":3}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var list StoredList
		if json.Unmarshal(data, &list) != nil {
			return
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		var again StoredList
		if err := json.Unmarshal(text, &again); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	})
}

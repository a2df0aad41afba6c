package plan

import "testing"

// FuzzUnmarshal: a stored plan that can be read can be stored and read again.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"schema":1,"plan":{"device":"cuda"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Unmarshal(data)
		if err != nil {
			return
		}
		again, err := Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Unmarshal(again); err != nil {
			t.Errorf("stored again it cannot be read: %v", err)
		}
	})
}

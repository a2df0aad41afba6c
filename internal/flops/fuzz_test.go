package flops

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzRead: counts that can be read can be written and read again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":1,"model":{"parameters":5},"stages":{"prefill":{"flops":3},"decode":{"flops":1}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(bytes.NewReader(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	})
}

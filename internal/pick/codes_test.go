package pick

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/deepprof/deepprof/internal/fixture"
	"github.com/deepprof/deepprof/internal/message"
)

// TestCodesOnly: what is chosen, verified and stored is the same to the byte with
// every message replaced by its code.
func TestCodesOnly(t *testing.T) {
	l, all := load(t, "toy"), counted(t, "toy_full")
	stored := func() []byte {
		targets, err := Choose(l, Policy{Include: []string{"prefill", "nosuch"}, Slowest: true, KernelExclude: []string{"saxpy"}, Alike: 0.97})
		if err != nil {
			t.Fatal(err)
		}
		if targets.Verification, err = Verify(targets, all[:5], l); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(targets)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	want := stored()
	for place, text := range fixture.OwnWords(t, want, fixture.Read(t, "../nsys/testdata/exports/toy.sqlite.gz")) {
		t.Errorf("%s of targets.json holds the text %q", place, text)
	}
	defer message.CodesOnly()()
	if got := stored(); !bytes.Equal(got, want) {
		t.Error("targets.json depends on words")
	}
}

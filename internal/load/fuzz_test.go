package load

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// FuzzParseDist: a distribution that was read gives lengths of at least 1.
func FuzzParseDist(f *testing.F) {
	for _, text := range []string{"128", "1-9", "normal:100:20", "lognormal:64:1.5"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDist(text)
		if err != nil {
			return
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 8 {
			if n := d.draw(r); n < 1 {
				t.Fatalf("%q: length %d", text, n)
			}
		}
		if d.Mean() < 1 {
			t.Errorf("%q: mean %g", text, d.Mean())
		}
	})
}

// FuzzFollow: whatever a server streams, it ends as an answer or as a named error.
func FuzzFollow(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\n\ndata: [DONE]\n\n"))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n"))
	f.Add([]byte("data: {\"error\":{\"message\":\"x\"}}\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		l := &Load{began: time.Now()}
		var r Request
		kind, detail := l.follow(bytes.NewReader(stream), &r)
		if r.Output < 0 || kind == "" && detail != "" {
			t.Errorf("%q %q %+v", kind, detail, r)
		}
	})
}

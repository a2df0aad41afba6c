package compare

import (
	"testing"

	"github.com/klauspost/compress/zstd"
)

// FuzzParseRule: a rule that was read means the same when its text is read again.
func FuzzParseRule(f *testing.F) {
	for _, text := range []string{"stage:decode.time < +3%", "kernel:regex:gemm.*.time < +10%", "total.gpu_time <= 1ms", "mfu:decode >= -2%", "rules: [{rule: x, name: y}]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = ParseRules([]byte(text))
		_, _ = ParseEffect(text)
		r, err := parseRule(text)
		if err != nil {
			return
		}
		again, err := parseRule(r.Text)
		if err != nil || again.limit != r.limit || again.kind != r.kind || again.metric != r.metric || again.name != r.name {
			t.Errorf("%+v read again is %+v, %v", r, again, err)
		}
	})
}

// FuzzDecodeBaseline: whatever a baseline file holds, it is read or refused.
func FuzzDecodeBaseline(f *testing.F) {
	whole, err := encodeBaseline(Baseline{Runs: []Run{{}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, false)
	f.Add([]byte(`{"schema":1,"runs":[{"result":{"schema":2}}]}`), true)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte, plain bool) {
		if plain { // the text inside
			data = z.EncodeAll(data, nil)
		}
		if b, err := DecodeBaseline(data); err == nil {
			if _, err := encodeBaseline(*b); err != nil {
				t.Error(err)
			}
		}
	})
}

package fact

import (
	"encoding/json"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	f := New("launch-bound", Stage("stage", "decode"), NS("gain", int64(207_600_000)), Share("idle", 0.89), Count("n", 3),
		Names("files", KindFile, []string{"a", "b"}), ID("unit", "limiter", "dram"), Stage("whole", ""),
		Because("why", New("few-launches", Count("n", 2))))
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var g Fact
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	if !f.Equal(g) {
		t.Errorf("read back %+v from %s", g, data)
	}
	if f.Equal(New("launch-bound", Stage("stage", "prefill"))) {
		t.Error("facts about different stages are equal")
	}
	for _, bad := range []string{`{}`, `{"ns":1,"share":2}`, `{"ns":true}`, `5`} {
		var v Value
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s was read as %+v", bad, v)
		}
	}
}

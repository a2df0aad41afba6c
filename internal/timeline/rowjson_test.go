package timeline

import (
	"encoding/json"
	"testing"
)

// What a row writes is what encoding/json writes of it.
func TestAppendJSON(t *testing.T) {
	n, u, w := 5, uint32(7), int64(-9)
	for _, text := range []string{"", "plain", "void f<(int)1, T&&>(a*)", "quote \" back \\ line\n tab\t", "naïve \u2028 \xff\x7f"} {
		launches := []LaunchRow{
			{ID: 1, Kernel: text, Short: text, NVTX: text},
			{ID: 1, Grid: [3]int32{1, -2, 3}, NVTXAll: []string{text, "b"}, Thread: &n, LaunchNS: &w, QueueNS: &w, Correlation: &u, GraphNode: 1 << 40, Graph: 256, Registers: 3},
		}
		for i := range launches {
			same(t, &launches[i], launches[i].AppendJSON(nil))
		}
		gaps := []GapRow{
			{Device: 1, Before: text, After: text, NVTX: text},
			{Process: &n, Context: &n, Stream: &n, StartNS: 1, EndNS: 2, DurationNS: 1, Calls: []GapCall{{text, 1, 2}, {"b", 3, 4}}, HostNS: &w},
			{HostNS: &w, Host: text, Python: []HostFrame{{text, "a.py", 3, 4}, {"g", text, 5, 6}}},
		}
		for i := range gaps {
			same(t, &gaps[i], gaps[i].AppendJSON(nil))
		}
	}
}

func same(t *testing.T, row any, got []byte) {
	t.Helper()
	want, err := json.Marshal(row)
	if err != nil || string(got) != string(want) {
		t.Errorf("wrote %s, want %s (%v)", got, want, err)
	}
}

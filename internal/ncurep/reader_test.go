package ncurep

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
)

// The dump of real reports, with rules, sections and a few metrics.
func TestDump(t *testing.T) {
	keep := func(name string) bool {
		switch name {
		case "gpu__time_duration.sum", "launch__registers_per_thread", "device__attribute_display_name",
			"breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed", "launch__func_cache_config", "nvlink__is_nvswitch_connected":
			return true
		}
		return strings.HasPrefix(name, "FBSP.TriageCompute.")
	}
	for _, name := range []string{"toy_nest", "toy_range", "toy_dom", "graph_whole"} {
		t.Run(name, func(t *testing.T) {
			b := fixture(t, name+".ncu-rep")
			full := name == "graph_whole" // the others would be long
			opts := Options{Rules: full, Sections: full, Sources: true, Instances: true, Metrics: keep}
			r, err := NewReader(bytes.NewReader(b), int64(len(b)), opts)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := Dump(&out, r); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".dump", out.Bytes())
		})
	}
}

func TestCounts(t *testing.T) {
	for name, want := range map[string][3]int{ // results, metrics, instances
		"toy_full":    {31, 69716, 426507},
		"graph_node":  {40, 20400, -1},
		"graph_whole": {5, 2455, -1},
		"llm_basic":   {107, -1, -1},
	} {
		rep := readBytes(t, fixture(t, name+".ncu-rep"), Options{Instances: true})
		metrics, instances := 0, 0
		for _, r := range rep.Results {
			metrics += len(r.Metrics)
			for i := range r.Metrics {
				m := &r.Metrics[i]
				if instances += len(m.Instances); len(m.Instances) != m.NumInstances {
					t.Fatalf("%s: %s has %d of %d instances", name, m.Name, len(m.Instances), m.NumInstances)
				}
			}
		}
		got := [3]int{len(rep.Results), metrics, instances}
		for i := range got {
			if want[i] >= 0 && got[i] != want[i] {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
		if rep.Info.Results != len(rep.Results) || len(rep.Warnings) != 0 {
			t.Errorf("%s: %d announced, warnings %v", name, rep.Info.Results, rep.Warnings)
		}
	}
}

func TestOptionsLeaveOut(t *testing.T) {
	b := fixture(t, "toy_nest.ncu-rep")
	all := readBytes(t, b, Options{Instances: true, Rules: true, Sections: true, Sources: true})
	bare := readBytes(t, b, Options{NoMetrics: true})
	r, q := all.Results[0], bare.Results[0]
	if len(r.Metrics) < 500 || len(r.Rules) == 0 || len(r.Sections) == 0 {
		t.Errorf("all: %d metrics, %d rules, %d sections", len(r.Metrics), len(r.Rules), len(r.Sections))
	}
	if len(q.Metrics) != 0 || len(q.Rules) != 0 || len(q.Sections) != 0 {
		t.Errorf("bare: %d metrics, %d rules, %d sections", len(q.Metrics), len(q.Rules), len(q.Sections))
	}
	if q.DemangledName != r.DemangledName || q.MangledName != "_Z9gemm_tileILi32EEviPKfS1_Pf" || q.FunctionName != "gemm_tile" {
		t.Errorf("names %q %q %q", q.DemangledName, q.MangledName, q.FunctionName)
	}
	asked := map[string]int{}
	some := readBytes(t, b, Options{Metrics: func(n string) bool { asked[n]++; return n == "gpu__time_duration.sum" }})
	if len(some.Results[3].Metrics) != 1 || asked["gpu__time_duration.sum"] != 1 {
		t.Errorf("filter: %v, asked %d times", some.Results[3].Metrics, asked["gpu__time_duration.sum"])
	}
	if v, ok := some.Results[0].Value("gpu__time_duration.sum"); !ok || v != 246880 {
		t.Errorf("duration %v %v", v, ok)
	}
}

// Wherever a file is cut, the complete blocks are delivered and the loss is named.
func TestTruncated(t *testing.T) {
	b := fixture(t, "toy_nest.ncu-rep")
	whole := readBytes(t, b, Options{})
	last := len(whole.Results)
	for cut := len(b) - 1; cut > 4; cut -= 997 {
		rep := readBytes(t, b[:cut], Options{Rules: true})
		if len(rep.Results) > last {
			t.Fatalf("cut at %d: %d results after %d", cut, len(rep.Results), last)
		}
		last = len(rep.Results)
		for i, r := range rep.Results {
			if r.Name() != whole.Results[i].Name() || len(r.Metrics) != len(whole.Results[i].Metrics) {
				t.Fatalf("cut at %d: result %d differs", cut, i)
			}
		}
		if len(rep.Warnings) == 0 && !atBlockEnd(b, cut) {
			t.Fatalf("cut at %d of %d: no warning", cut, len(b))
		}
	}
	if last != 0 {
		t.Errorf("%d results at the start of the file", last)
	}
}

func atBlockEnd(b []byte, cut int) bool {
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), Options{})
	if err != nil {
		return false
	}
	for _, bl := range r.blocks {
		if int64(cut) == bl.at+bl.size {
			return true
		}
	}
	return false
}

func TestBadFiles(t *testing.T) {
	good := fixture(t, "toy_range.ncu-rep")
	header := func(n uint32, rest ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte("NVR\x00\x02\x00\x00\x00\x08\x07"), n), rest...)
	}
	for _, tt := range []struct {
		name    string
		data    []byte
		err     error
		warning fact.Code
	}{
		{"empty", nil, errFormat, ""},
		{"other file", []byte("SQLite format 3\x00"), errFormat, ""},
		{"magic only", []byte("NVR\x00"), nil, fileEnds},
		{"absurd header length", header(0xffffffff, 1, 2, 3), nil, partCut},
		{"damaged header", header(3, 0xff, 0xff, 0xff), nil, blockHead},
		{"absurd payload", header(6, 0x28, 0xff, 0xff, 0xff, 0xff, 0x0f), nil, blockCut},
		{"absurd count", header(8, 0x10, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x28, 4, 0, 0, 0, 0), nil, resultEmpty},
		{"newer version", append([]byte("NVR\x00\x02\x00\x00\x00\x08\x63"), good[10:]...), nil, versionNew},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep, err := Read(bytes.NewReader(tt.data), int64(len(tt.data)), Options{})
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if tt.warning == "" {
				return
			}
			if len(rep.Warnings) == 0 || !rep.Warnings[0].What.Is(tt.warning) {
				t.Errorf("warnings %v, want %q", rep.Warnings, tt.warning)
			}
			if tt.name == "newer version" && len(rep.Results) != 4 {
				t.Errorf("%d results of a newer version", len(rep.Results))
			}
		})
	}
}

// Damage inside one result costs that result, not those after it.
func TestDamagedResult(t *testing.T) {
	b := bytes.Clone(fixture(t, "toy_nest.ncu-rep"))
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, bl := range r.blocks {
		if bl.results() == 1 {
			for i := range int64(64) {
				b[bl.at+2000+i] = 0xff
			}
			break
		}
	}
	rep := readBytes(t, b, Options{})
	if len(rep.Results) != 6 || len(rep.Warnings) == 0 || rep.Results[0].LostFields == 0 {
		t.Errorf("%d results, warnings %v, %d fields lost", len(rep.Results), rep.Warnings, rep.Results[0].LostFields)
	}
	if n := len(rep.Results[1].Metrics); n != 563 {
		t.Errorf("the next result has %d metrics", n)
	}
}

// Duplicates of a name: all are kept, and the last is the one that counts.
func TestDuplicates(t *testing.T) {
	rep := readBytes(t, fixture(t, "toy_apprange.ncu-rep"), Options{})
	seen := map[string]int{}
	for i := range rep.Results[0].Metrics {
		seen[rep.Results[0].Metrics[i].Name]++
	}
	repeated := 0
	for name, n := range seen {
		if n > 1 {
			repeated++
			m, ok := rep.Results[0].metric(name)
			if !ok || m.Name != name {
				t.Errorf("%s not found", name)
			}
		}
	}
	if repeated == 0 {
		t.Error("the fixture has no duplicates any more")
	}
	res := Result{Metrics: []Metric{{Name: "a", Section: "first"}, {Name: "a"}}}
	if m, _ := res.metric("a"); m.Section != "" {
		t.Error("the first of two was chosen")
	}
}

// failingReader fails after some bytes, as a file on a lost disk does.
type failingReader struct {
	b    []byte
	fail int64
}

func (f failingReader) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.fail {
		return 0, errors.New("disk on fire")
	}
	return bytes.NewReader(f.b).ReadAt(p, off)
}

func TestReadErrors(t *testing.T) {
	b := fixture(t, "toy_nest.ncu-rep")
	rep, err := Read(failingReader{b, int64(len(b)) / 2}, int64(len(b)), Options{})
	if err == nil && len(rep.Warnings) == 0 {
		t.Error("a read error passed in silence")
	}
}

// Passing over the sections and cubins of a large report must not hold it.
func TestMemory(t *testing.T) {
	b := fixture(t, "toy_full.ncu-rep") // 33 MB
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for {
		if _, err := r.Next(); err == io.EOF {
			break
		}
	}
	runtime.ReadMemStats(&after)
	if total := after.TotalAlloc - before.TotalAlloc; total > 16<<20 {
		t.Errorf("%d MB allocated for 70,000 values", total>>20)
	}
}

func BenchmarkRead(b *testing.B) {
	data := fixture(b, "toy_full.ncu-rep")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		readBytes(b, data, Options{})
	}
}

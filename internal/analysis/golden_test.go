package analysis

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// pinned are the results that are compared as a whole; TestNumbers has the numbers
// of all.
var pinned = []string{"toy", "llm_scope"}

// TestGolden analyses recorded captures. What is bulky is left out of the golden
// files; checkResult looks at it.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name     string
		fixtures []string
		regions  []string
	}{
		{"llm", []string{llmTimeline, llmCounters}, nil},
		{"toy", []string{toyTimeline, toyCounters}, nil},
		{"graph_node", []string{"../nsys/testdata/exports/graph_node.sqlite.gz", "../ncurep/testdata/graph_node.ncu-rep.zst"}, nil},
		{"graph_whole", []string{"../nsys/testdata/exports/graph_whole.sqlite.gz", "../ncurep/testdata/graph_whole.ncu-rep.zst"}, nil},
		{"multi_node", []string{"../nsys/testdata/exports/multi_node.sqlite.gz"}, nil},
		{"nvtx_only", []string{"../nsys/testdata/exports/nvtx_2023.sqlite.gz"}, nil},
		{"toy_counters", []string{toyCounters}, nil},
		{"toy_csv", []string{"../ncurep/testdata/toy_full.2025.3.raw.csv.zst"}, nil},
		{"toy_range", []string{toyTimeline, "../ncurep/testdata/toy_range.ncu-rep.zst"}, nil},
		{"llm_basic", []string{llmTimeline, "../ncurep/testdata/llm_basic.ncu-rep.zst"}, nil},
		{"llm_scope", []string{llmTimeline, llmCounters}, []string{"prefill", "decode"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := scopedTo(t, c.regions, nil, c.fixtures...)
			full, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var back Result
			if err := json.Unmarshal(full, &back); err != nil {
				t.Fatalf("result.json does not read back: %v", err)
			}
			if !slices.Contains(pinned, c.name) {
				return
			}
			got := brief(t, &back)
			path := filepath.Join("testdata", c.name+".golden.json")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs from what was analyzed; run go test ./internal/analysis -update and read the difference:\n%s", path, difference(got, want))
			}
		})
	}
}

func difference(got, want []byte) string {
	g, w := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(g), len(w)) {
		if !bytes.Equal(g[i], w[i]) {
			return "line " + strconv.Itoa(i+1) + "\n got: " + string(g[i]) + "\nwant: " + string(w[i])
		}
	}
	return "one is longer"
}

// brief is a result without its bulk, with numbers rounded so that the last bits
// of a processor do not matter.
func brief(t *testing.T, r *Result) []byte {
	t.Helper()
	for i := range r.Overview.Lanes {
		r.Overview.Lanes[i].Boxes = nil
	}
	r.Overview.Names = nil
	if len(r.Kernels) > 20 {
		r.Kernels = r.Kernels[:20]
	}
	r.Environment.GPUs = append([]GPU{}, r.Environment.GPUs...)
	for i := range r.Kernels {
		k := &r.Kernels[i]
		k.Histogram, k.Mangled = nil, ""
		if len(k.Name) > 80 {
			k.Name = k.Name[:80]
		}
		if k.Counted != nil {
			k.Counted.Metrics = k.Counted.Metrics[:min(3, len(k.Counted.Metrics))]
			k.Counted.Rules = k.Counted.Rules[:min(2, len(k.Counted.Rules))]
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(rounded(tree), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

func rounded(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			x[k] = rounded(x[k])
		}
	case []any:
		for i := range x {
			x[i] = rounded(x[i])
		}
	case json.Number:
		if _, err := x.Int64(); err != nil {
			f, _ := x.Float64()
			return json.Number(strconv.FormatFloat(f, 'g', 9, 64))
		}
	}
	return v
}

// The same files give the same bytes, however many goroutines read them.
func TestDeterministic(t *testing.T) {
	timeline, counters := unpacked(t, llmTimeline), unpacked(t, llmCounters)
	var first []byte
	for i := range 4 {
		in, err := fromFiles(timeline, counters)
		if err != nil {
			t.Fatal(err)
		}
		in.Workers = i + 1
		data, err := json.Marshal(analyzed(t, in))
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		} else if !bytes.Equal(first, data) {
			t.Fatalf("analysis %d differs: %s", i, difference(data, first))
		}
	}
}

func TestInputErrors(t *testing.T) {
	if _, err := Analyze(context.Background(), Input{}); err == nil {
		t.Error("nothing was analyzed without an error")
	}
	if _, err := fromFiles("a.sqlite", "b.sqlite"); err == nil {
		t.Error("two timelines were accepted")
	}
	if _, err := fromFiles("a.txt"); err == nil {
		t.Error("a text file was accepted")
	}
	if _, err := FromRun(filepath.Join(t.TempDir(), "nosuch")); err == nil {
		t.Error("a run that is not there was accepted")
	}
	broken := filepath.Join(t.TempDir(), "x.ncu-rep")
	if err := os.WriteFile(broken, []byte("NVR\x00nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Analyze(context.Background(), Input{Counters: []string{broken}}); err == nil {
		t.Error("a broken report alone was analyzed without an error")
	}
	r := analyzed(t, Input{Timelines: []string{unpacked(t, toyTimeline)}, Counters: []string{broken}})
	if len(r.Warnings) == 0 || len(r.Kernels) != 4 {
		t.Error("beside a timeline, a broken report is no warning")
	}
	r = analyzed(t, Input{Timelines: []string{broken}, Counters: []string{unpacked(t, toyCounters)}})
	if !hasNote(r.Missing, TimelineUnreadable) || len(r.Kernels) != 4 {
		t.Error("beside counters, a broken timeline is not named as missing")
	}
	if _, err := Analyze(context.Background(), Input{Timelines: []string{broken}}); err == nil {
		t.Error("a broken timeline alone was analyzed without an error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Analyze(ctx, Input{Timelines: []string{unpacked(t, toyTimeline)}}); err == nil {
		t.Error("an analysis that was given up ended without an error")
	}
}

// The details page has labels in place of names; the decision is the same.
func TestDetailsPage(t *testing.T) {
	for _, page := range []string{"details.2024.1.csv"} {
		r := analyzed(t, Input{Counters: []string{"../ncurep/testdata/" + page}})
		if len(r.Kernels) == 0 {
			t.Fatalf("%s: no kernel", page)
		}
		for i := range r.Kernels {
			k := &r.Kernels[i]
			if k.Limiter.Kind == "" {
				t.Errorf("%s: %s: %+v", page, k.Short, k.Limiter)
			}
		}
	}
}

// Damaged exports, and times at the ends of the clock, are analyzed as far as
// they go.
func TestDamaged(t *testing.T) {
	for _, fixture := range []string{"fuzz", "nvtx_badname", "nvtx_2022"} {
		analyzeFiles(t, "../nsys/testdata/exports/"+fixture+".sqlite.gz")
	}
	odd := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 1000, math.MaxInt64 - 1, math.MaxInt64}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		at := func() int64 { return odd[rng.IntN(len(odd))] }
		s := scene{end: at()}
		for range 6 {
			s.calls = append(s.calls, sceneCall{at(), at(), "cudaLaunchKernel", 0})
			s.kernels = append(s.kernels, sceneKernel{at(), at(), []string{"gemm", "relu"}[rng.IntN(2)], rng.IntN(len(s.calls)), uint32(rng.IntN(3))})
			s.copies = append(s.copies, sceneKernel{at(), at(), "", -1, 0})
			s.ranges = append(s.ranges, [2]int64{at(), at()})
		}
		tl := s.timeline()
		tl.Session.FirstNS = at()
		if _, err := analyzeTimeline(tl, Thresholds{}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

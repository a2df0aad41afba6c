package analysis

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/load"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// step makes a row as timeline.Steps does, of synthetic numbers.
func step(t *testing.T, name string, ns, busy, gap int64) timeline.StepRow {
	t.Helper()
	rows := timeline.Steps([]timeline.RangeRow{{Name: name, EndNS: ns, RangeNS: ns, BusyNS: busy, InclusiveNS: busy, KernelCalls: 3}})
	if len(rows) != 1 || rows[0].Kind == "" {
		t.Fatalf("%s is no step of an engine", name)
	}
	if gap >= 0 {
		rows[0].GapNS = &gap
	}
	return rows[0]
}

func TestStepClasses(t *testing.T) {
	var steps []timeline.StepRow
	for range 6 {
		steps = append(steps, step(t, "execute_context_0(0)_generation_8(8)", 1000, 700, 100))
	}
	steps = append(steps, step(t, "execute_context_1(512)_generation_0(0)", 3000, 2900, -1),
		step(t, "execute_context_1(512)_generation_7(7)", 3500, 3000, 200),
		step(t, "execute_context_0(0)_generation_12(12)", 1100, 800, 100), step(t, "execute_context_0(0)_generation_16(16)", 1300, 900, 100))
	got := classSteps(steps)
	if len(got) != 4 || got[0].Kind != engine.Decode || got[0].BatchMin != 8 || got[0].Steps != 6 || got[0].Time.P50 != 1000 || got[0].Gap.P50 != 100 || got[0].Launches != 3 {
		t.Fatalf("got %+v", got)
	}
	share := 0.0
	for _, c := range got {
		share += c.Share
		if c.BatchMin == 9 && (c.BatchMax != 16 || c.Steps != 2 || *c.GenerationTokens != 14) {
			t.Errorf("got %+v", c)
		}
	}
	if math.Abs(share-1) > 1e-9 {
		t.Errorf("shares add up to %v", share)
	}
	n := nextToken(steps)
	// 8 decode steps and a mixed one; the parts add up to the period.
	if n.Steps != 9 || math.Abs(n.BusyNS*9-(6*700+800+900)) > 1e-6 || math.Abs(n.GapNS*9-1000) > 1e-6 || math.Abs(n.PromptNS*9-3000) > 1e-6 {
		t.Errorf("got %+v", n)
	}
	if sum := n.BusyNS + n.IdleNS + n.MixedNS + n.PromptNS + n.GapNS + n.OtherNS; math.Abs(sum-n.PeriodNS) > 1e-6 {
		t.Errorf("parts add up to %v of %v", sum, n.PeriodNS)
	}
	if nextToken(steps[6:7]) != nil {
		t.Error("without a step that decodes there is no next token")
	}
}

// TestServing reads windows of two starts.
func TestServing(t *testing.T) {
	dir := t.TempDir()
	window := func(kind load.WindowKind, tokens int, itl float64) load.Window {
		return load.Window{Name: string(kind), Kind: kind, Stats: &load.Stats{Seconds: 2, Tokens: tokens, TokensPerSecond: float64(tokens) / 2, ITL: load.Summary{N: 3, P50: itl}}}
	}
	write := func(step, text string) string {
		t.Helper()
		path := filepath.Join(dir, step, runs.WindowsName)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := &Serving{Windows: []ServingWindow{
		{Window: window(load.Unprofiled, 1000, 10)}, {Window: window(load.Idle, 990, 10)}, {Window: window(load.Idle, 970, 12)}, {Window: window(load.Profiled, 882, 22)},
	}}
	if c := s.cost(load.Unprofiled, load.Idle); math.Abs(*c.Throughput-0.02) > 1e-9 || math.Abs(*c.PerToken-0.1) > 1e-9 || c.TTFT != nil {
		t.Errorf("got %+v", c)
	}
	if c := s.cost(load.Idle, load.Profiled); math.Abs(*c.Throughput-0.1) > 1e-9 || math.Abs(*c.PerToken-1) > 1e-9 {
		t.Errorf("got %+v", c)
	}
	s.Windows = append(s.Windows, ServingWindow{Window: window(load.Idle, 300, 10)})
	if c := s.cost(load.Idle, load.Profiled); c.Throughput != nil {
		t.Errorf("uneven windows have a cost of %v", *c.Throughput)
	}
	if s.cost(load.Idle, load.Startup) != nil {
		t.Error("a window that is not there has no cost")
	}
	in := Input{Windows: []string{
		write("nsys", `{"schema":1,"engine":"vllm","load":"client","steady":true,"windows":[{"name":"idle-1","kind":"idle","stats":{"seconds":1,"tokens":5}}]}`),
		write("unprofiled", `{"schema":1,"engine":"vllm","load":"client","windows":[{"name":"unprofiled","kind":"unprofiled","stats":{"seconds":1,"tokens":9}}]}`),
		write("ncu", `{"schema":99}`),
	}}
	r, err := Analyze(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if r.Serving == nil || len(r.Serving.Windows) != 2 || r.Serving.Windows[0].Start != "unprofiled" || !r.Serving.Steady || r.Serving.Engine != "vllm" {
		t.Errorf("got %+v", r.Serving)
	}
	if !hasNote(r.Warnings, fileUnreadable) {
		t.Error("a file of a newer schema is passed over without a word")
	}
}

package export

import (
	"bytes"
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// TestPprofEqualsKernels holds the GPU time and launches of each kernel in the
// profile, as a reader of pprof sums them, against the rows of show kernels.
func TestPprofEqualsKernels(t *testing.T) {
	for _, name := range exports {
		t.Run(name, func(t *testing.T) {
			s := source(name)
			p, err := profile.ParseData(exported(t, "pprof", s))
			if err != nil {
				t.Fatal(err)
			}
			type sum struct{ ns, launches int64 }
			got := map[string]sum{}
			for _, x := range p.Sample {
				leaf := x.Location[0].Line[0].Function.SystemName
				got[leaf] = sum{got[leaf].ns + x.Value[0], got[leaf].launches + x.Value[1]}
			}
			rows := readTimeline(t, s).KernelRows(timeline.Query{}).Rows
			for _, r := range rows {
				if want := (sum{r.TotalNS, r.Calls}); got[clean(r.Name)] != want {
					t.Errorf("%s: %v, want %v", r.Name, got[clean(r.Name)], want)
				}
			}
			if len(got) != len(rows) {
				t.Errorf("%d kernels, want %d", len(got), len(rows))
			}
		})
	}
}

// TestGoToolPprof reads the profile with the tool that it is for: -top has the
// kernels of show kernels, with their times.
func TestGoToolPprof(t *testing.T) {
	s := source("llm")
	path := filepath.Join(t.TempDir(), "gpu.pb.gz")
	if err := os.WriteFile(path, exported(t, "pprof", s), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "pprof", "-top", "-unit=ns", "-nodefraction=0", "-nodecount=1000", path)
	cmd.Env = append(os.Environ(), "PPROF_NO_BROWSER=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := map[string]int64{}
	line := regexp.MustCompile(`(?m)^\s*(\d+)ns\s+[\d.]+%\s+[\d.]+%\s+\d+ns\s+[\d.]+%\s+(.+)$`)
	for _, m := range line.FindAllStringSubmatch(string(out), -1) {
		ns, _ := strconv.ParseInt(m[1], 10, 64)
		if ns > 0 {
			got[strings.TrimSpace(m[2])] = ns
		}
	}
	rows := readTimeline(t, s).KernelRows(timeline.Query{}).Rows
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].Name
	}
	for i, short := range cxx.Distinguish(names) {
		if got[short] != rows[i].TotalNS {
			t.Errorf("go tool pprof -top has %d ns of %s, want %d", got[short], short, rows[i].TotalNS)
		}
	}
	if len(got) != len(rows) {
		t.Errorf("%d kernels, want %d:\n%s", len(got), len(rows), out)
	}
}

// TestPprofStacks finds the regions around launches, also those in which a graph
// was captured.
func TestPprofStacks(t *testing.T) {
	for name, want := range map[string]string{"llm": "decode/step", "graph_node": "decode/step/capture"} {
		p, err := profile.ParseData(exported(t, "pprof", source(name)))
		if err != nil {
			t.Fatal(err)
		}
		var stacks []string
		for _, x := range p.Sample {
			var frames []string
			for i := len(x.Location) - 1; i > 0; i-- {
				frames = append(frames, x.Location[i].Line[0].Function.Name)
			}
			stacks = append(stacks, strings.Join(frames, "/"))
			for _, l := range []string{"device", "stream", "process"} {
				if len(x.Label[l]) != 1 {
					t.Errorf("%s: a sample has the labels %v", name, x.Label)
				}
			}
		}
		if !strings.Contains(strings.Join(stacks, "\n"), want) {
			t.Errorf("%s: no stack has %s: %q", name, want, stacks)
		}
		if p.DefaultSampleType != "gpu_time" || p.SampleType[0].Unit != "nanoseconds" {
			t.Errorf("%s: the default is %s in %s", name, p.DefaultSampleType, p.SampleType[0].Unit)
		}
	}
}

// TestPprofCounted scales the work of the counted launch by the launches.
func TestPprofCounted(t *testing.T) {
	s := counted(t)
	p, err := profile.ParseData(exported(t, "pprof", s))
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Result(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.SampleType) != 4 || p.SampleType[2].Type != "dram_bytes" || p.SampleType[3].Type != "flops" {
		t.Fatalf("sample types %v", p.SampleType)
	}
	var got, want [2]float64
	for _, x := range p.Sample {
		got[0] += float64(x.Value[2])
		got[1] += float64(x.Value[3])
	}
	for _, k := range result.Kernels {
		if k.Counted == nil || k.Counted.Work == nil {
			continue
		}
		if b := k.Counted.Work.Bytes; b != nil {
			want[0] += *b * float64(k.Calls)
		}
		for _, n := range k.Counted.Work.FLOPs {
			want[1] += n * float64(k.Calls)
		}
	}
	for i := range got {
		if want[i] == 0 || math.Abs(got[i]-want[i]) > 1e-6*want[i]+float64(len(p.Sample)) {
			t.Errorf("%s: %g, want %g", p.SampleType[2+i].Type, got[i], want[i])
		}
	}
}

func TestUnknownRegionIsRefused(t *testing.T) {
	s := source("llm")
	s.Region = "decoed/"
	for _, f := range []string{"pprof", "perfetto"} {
		var b bytes.Buffer
		if _, err := formatNamed(t, f).Write(context.Background(), s, &b); err == nil || !strings.Contains(err.Error(), "decode") {
			t.Errorf("%s: %v, want the nearest region", f, err)
		}
	}
}

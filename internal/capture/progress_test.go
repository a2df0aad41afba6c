package capture

import (
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/tool"
)

func TestProgressNcu(t *testing.T) {
	var got []Progress
	k := newTracker(Ncu, false, 4, func(p Progress) { got = append(got, p) })
	at := func(s int) time.Duration { return time.Duration(s) * time.Second }
	k.tick(tool.Tick{Elapsed: at(1), Target: true})
	k.line(tool.Line{At: at(2), Text: `==PROF== Connected to process 805 (/usr/bin/python3.12)`})
	k.line(tool.Line{At: at(3), Text: `==PROF== Profiling "reduce_kernel" - 0 (1/1): 0%....50%....100% - 10 passes`})
	k.line(tool.Line{At: at(3), Text: `tokens: ==PROF== is the workload's word here`})
	k.line(tool.Line{At: at(5), Text: `==PROF== Profiling "gemm" - 1 (1/1): 0%....50%....100% - 10 passes`})
	k.tick(tool.Tick{Elapsed: at(7), Target: true, Processes: 3})
	last := got[len(got)-1]
	if last.Stage != Profiling || last.Done != 2 || last.Expected != 4 || last.Message != "gemm" || last.ETA != 4*time.Second {
		t.Errorf("%+v", last)
	}
	if s := last.String(); s != "7s profiling 2/4, about 4s left: gemm" {
		t.Errorf("%q", s)
	}
	k.line(tool.Line{At: at(8), Text: `==PROF== Profiling "range" - 0: Application replay pass 3`})
	k.line(tool.Line{At: at(9), Text: `==PROF== Report: /tmp/r.ncu-rep`})
	if last := got[len(got)-1]; last.Stage != Finished || last.Pass != 3 {
		t.Errorf("%+v", last)
	}
}

func TestProgressNcuTotal(t *testing.T) {
	k := newTracker(Ncu, false, 0, nil)
	k.line(tool.Line{Text: `==PROF== Profiling "a" - 6 (7/107): 0%`})
	if k.now.Expected != 107 {
		t.Errorf("expected %d", k.now.Expected)
	}
	k.line(tool.Line{Text: `==PROF== Profiling "b" - 7 (1/1): 0%`})
	if k.now.Expected != 0 {
		t.Errorf("a count per filter was taken for the total: %d", k.now.Expected)
	}
}

func TestProgressNsys(t *testing.T) {
	var stages []string
	k := newTracker(Nsys, true, 0, func(p Progress) { stages = append(stages, string(p.Stage)) })
	k.tick(tool.Tick{Elapsed: 2 * time.Second, Target: true})
	for _, text := range []string{
		"Capture range started in the application.", "prog: working", "Capture range ended in the application.",
		"Generating '/tmp/x.qdstrm'", "[1/1] [0%                          ] r.nsys-rep", "[1/1] [============55%             ] r.nsys-rep",
	} {
		k.line(tool.Line{At: 3 * time.Second, Text: text})
	}
	if k.now.Done != 55 || k.now.Expected != 100 || k.now.Message != "Generating '/tmp/x.qdstrm'" {
		t.Errorf("%+v", k.now)
	}
	k.done()
	if got := strings.Join(stages, ", "); got != "waiting for the gate, collecting, writing the report, finished" {
		t.Errorf("%s", got)
	}
}

func TestReadDiagnostics(t *testing.T) {
	text := "Type: 27\nNvtxEvent_ {\n  Text: \"Level: Error Text: fake\"\n}\n\nType: 49\nDiagnosticEvent_ {\n  Timestamp {\n    Time: 0\n    Type: TargetTimestamp\n  }\n" +
		"  Source: Analysis\n  Level: Warning\n  Text: \"No CUDA events collected.\\tDoes the \\\"process\\\" use CUDA?\"\n  GlobalProcess: 1\n}\n" +
		"DiagnosticEvent_ {\n  Source: Daemon\n  Level: Info\n  Text: \"\"\n}\n" + strings.Repeat("x", 200000) + "\nDiagnosticEvent_ {\n  Level: Error\n"
	list, err := readDiagnostics(strings.NewReader(text))
	if err != nil || len(list) != 2 {
		t.Fatalf("%v %+v", err, list)
	}
	if d := list[0]; d.Level != "Warning" || d.Text != `No CUDA events collected. Does the "process" use CUDA?` {
		t.Errorf("%+v", d)
	}
}

func TestRecordingRoundTrip(t *testing.T) {
	r := Recording{
		Tool: Ncu, Note: "a note", Args: []string{"--set=full", "-o", "{output}"}, Exit: 9, OnInterrupt: 130, Hang: true,
		Events: []RecordedLine{{0, false, "first"}, {1500 * time.Millisecond, true, "  -- not a part"}, {2 * time.Second, false, ""}},
		Files:  []RecordedFile{{"{output}.ncu-rep", 100, []byte(format.NcuMagic)}},
	}
	back, err := parseRecording(r.String())
	if err != nil {
		t.Fatal(err)
	}
	if back.String() != r.String() || len(back.Events) != 3 || back.Events[1].At != 1500*time.Millisecond || string(back.Files[0].Head) != format.NcuMagic {
		t.Errorf("%s", back)
	}
	for _, bad := range []string{
		"", "note: x\n", "tool: ncu\nwhat\n", "tool: ncu\nnew: x\n", "tool: ncu\nexit: x\n", "tool: ncu\n-- events --\nx out y\n",
		"tool: ncu\n-- events --\n1 both y\n", "tool: ncu\n-- file a --\nsize: 99999999999999\n", "tool: ncu\n-- file a --\nsize: 1\nhead: 0000\n",
		"tool: ncu\n-- other --\n", "tool: ncu\n-- file a --\nhead: xyz\n",
	} {
		if _, err := parseRecording(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func FuzzParseRecording(f *testing.F) {
	f.Add("tool: ncu\nexit: 1\n-- events --\n0.5 out x\n-- file {output}.ncu-rep --\nsize: 4\nhead: 4e565200\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRecording(text)
		if err != nil {
			return
		}
		for _, file := range r.Files {
			if file.Size > maxPlayed || file.Size < int64(len(file.Head)) {
				t.Errorf("file %+v", file)
			}
		}
	})
}

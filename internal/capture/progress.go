package capture

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/tool"
)

// A Stage is where a capture stands, as far as the profiler tells.
type Stage string

const (
	Starting   Stage = "starting"
	Waiting    Stage = "waiting for the gate"
	Collecting Stage = "collecting"
	Profiling  Stage = "profiling"
	Reporting  Stage = "writing the report"
	Stopping   Stage = "stopping"
	Finished   Stage = "finished"
)

// Progress is what a progress line shows.
type Progress struct {
	Stage   Stage
	Elapsed time.Duration
	Message string // the last words of nsys or ncu, without the workload's

	// Done and Expected count profiled launches for ncu, per cent of the report
	// for nsys. Expected is 0 where it is not known; ETA is 0 where it cannot be
	// told.
	Done, Expected int
	Pass           int // of application replay
	ETA            time.Duration
}

// String is the progress as one line.
func (p Progress) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", p.Elapsed.Round(time.Second), p.Stage)
	switch {
	case p.Stage == Reporting && p.Expected == 100:
		fmt.Fprintf(&b, " %d%%", p.Done)
	case p.Done > 0 && p.Expected > 0:
		fmt.Fprintf(&b, " %d/%d", p.Done, p.Expected)
	case p.Done > 0:
		fmt.Fprintf(&b, " %d", p.Done)
	}
	if p.Pass > 0 {
		fmt.Fprintf(&b, ", pass %d", p.Pass)
	}
	if p.ETA > 0 {
		fmt.Fprintf(&b, ", about %s left", p.ETA.Round(time.Second))
	}
	if p.Message != "" {
		fmt.Fprintf(&b, ": %s", p.Message)
	}
	return b.String()
}

// A tracker turns lines of output into progress. It is used from one goroutine.
type tracker struct {
	tool  Tool
	gated bool
	tell  func(Progress)
	now   Progress

	counted func(kernel string) // nil for nobody

	stageAt  time.Duration // when the stage began
	told     time.Duration
	expected int
}

// newTracker expects so many launches, 0 where that is not known; tell may be nil.
func newTracker(t Tool, gated bool, expected int, tell func(Progress)) *tracker {
	return &tracker{tool: t, gated: gated, expected: expected, tell: tell, now: Progress{Stage: Starting}}
}

var (
	nsysBar = regexp.MustCompile(`^\[\d+/\d+\] \[[ =]*(\d+)%`)
	// With --filter-mode per-launch-config ncu 2025.3 gives launches no number.
	ncuLaunch   = regexp.MustCompile(`^==PROF== Profiling "([^"]+)"(?: - (\d+)(?: \((\d+)/(\d+)\))?)?:`)
	ncuPass     = regexp.MustCompile(`Application replay pass (\d+)`)
	ncuMessage  = regexp.MustCompile(`^==(?:PROF|WARNING|ERROR)== (.*)`)
	nsysPhrases = []string{
		"Capture range ", "Generating '", "Collecting data", "Processing events", "Importer error", "WARNING:",
		"FATAL ERROR", "Failed to ", "The target application terminated", "Waiting for termination", "Connection to ",
	}
)

// line is called for every line of both streams, in the order in which they were read.
func (k *tracker) line(l tool.Line) {
	k.now.Elapsed = l.At
	before := k.now.Stage
	if k.tool == Ncu {
		k.ncu(l.Text)
	} else {
		k.nsys(l.Text)
	}
	if k.now.Stage != before {
		k.stageAt = l.At
		k.emit()
	}
}

// nsys prints no event for the start of the workload: tick sees that.
func (k *tracker) nsys(text string) {
	if m := nsysBar.FindStringSubmatch(text); m != nil {
		k.now.Stage = Reporting
		k.now.Done, _ = strconv.Atoi(m[1])
		k.now.Expected = 100
		return
	}
	for _, phrase := range nsysPhrases {
		if strings.HasPrefix(text, phrase) {
			k.now.Message = tool.Quote(text)
		}
	}
	switch {
	case strings.HasPrefix(text, "Capture range started"):
		k.now.Stage, k.now.Done, k.now.Expected = Collecting, 0, 0
	case strings.HasPrefix(text, "Capture range ended"), strings.HasPrefix(text, "Generating '"):
		k.now.Stage = Reporting
	}
}

// ncu speaks of each launch; what the workload prints has another beginning.
func (k *tracker) ncu(text string) {
	m := ncuMessage.FindStringSubmatch(text)
	if m == nil {
		return
	}
	k.now.Message = tool.Quote(m[1])
	if p := ncuPass.FindStringSubmatch(text); p != nil {
		k.now.Pass, _ = strconv.Atoi(p[1])
	}
	if p := ncuLaunch.FindStringSubmatch(text); p != nil {
		k.now.Stage = Profiling
		k.now.Message = tool.Quote(p[1])
		if k.counted != nil {
			k.counted(p[1])
		}
		n := k.now.Done
		if p[2] != "" {
			n, _ = strconv.Atoi(p[2])
		}
		k.now.Done, k.now.Expected = n+1, k.expected
		// ncu counts per filter: its total is one of all launches only while its
		// count and the running number agree.
		if p[3] == strconv.Itoa(n+1) && k.expected == 0 {
			k.now.Expected, _ = strconv.Atoi(p[4])
		}
	}
	switch {
	case strings.HasPrefix(m[1], "Connected to process"):
		k.now.Stage = Collecting
	case strings.HasPrefix(m[1], "Report: "):
		k.now.Stage = Finished
	}
}

// tick is called about four times a second; it emits about once a second.
func (k *tracker) tick(t tool.Tick) {
	k.now.Elapsed = t.Elapsed
	switch {
	case t.Stopping && k.now.Stage != Reporting && k.now.Stage != Finished:
		k.now.Stage = Stopping
	case k.now.Stage == Starting && t.Target && k.gated:
		k.now.Stage = Waiting
	case k.now.Stage == Starting && t.Target:
		k.now.Stage = Collecting
	}
	if t.Elapsed-k.told >= time.Second {
		k.emit()
	}
}

// done emits the last state; nothing is emitted after it.
func (k *tracker) done() {
	k.now.Stage = Finished
	k.emit()
}

// emit hands on a copy; a tracker without a listener emits nothing.
func (k *tracker) emit() {
	k.told = k.now.Elapsed
	if k.tell == nil {
		return
	}
	p := k.now
	if spent := p.Elapsed - k.stageAt; p.Done > 0 && p.Expected > p.Done && spent > 0 {
		p.ETA = spent / time.Duration(p.Done) * time.Duration(p.Expected-p.Done)
	}
	k.tell(p)
}

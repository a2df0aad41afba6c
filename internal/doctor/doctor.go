// Package doctor examines the machine before a capture: every check that a run
// depends on, one row each, with the evidence and the fix. It decides nothing:
// the caller exits or goes on.
package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/deepprof/deepprof/internal/tool"
)

// A Status is the outcome of one check.
type Status string

const (
	OK            Status = "ok"
	Warning       Status = "warning"        // a run works, its numbers or its convenience may suffer
	Blocker       Status = "blocker"        // what is wanted cannot work
	Unknown       Status = "could-not-tell" // the evidence could not be had
	NotApplicable Status = "not-applicable" // nothing that is wanted depends on it
)

// A Row is one check. The fields are stable: scripts read them.
type Row struct {
	Check    string `json:"check"`         // stable identifier
	Name     string `json:"name"`          // what was looked at, for people
	Status   Status `json:"status"`        //
	Evidence string `json:"evidence"`      // what was seen, one line
	Fix      string `json:"fix,omitempty"` // what to do; "" where nothing need be done
}

// Lines are the check as a run tells of it: what was seen, and the fix in a line
// of its own.
func (r Row) Lines() []string {
	lines := []string{fmt.Sprintf("%s: %s: %s", r.Status, r.Name, oneLine(r.Evidence))}
	if r.Fix != "" {
		lines = append(lines, "  fix: "+oneLine(r.Fix))
	}
	return lines
}

// schema is the version of the JSON form of a Report.
const schema = 1

// A Report is the outcome of all checks, in a fixed order.
type Report struct {
	Schema  int   `json:"schema"`
	Blocked bool  `json:"blocked"`
	Rows    []Row `json:"rows"`
}

// HasBlocker reports whether something that is wanted cannot work.
func (r Report) HasBlocker() bool {
	for _, row := range r.Rows {
		if row.Status == Blocker {
			return true
		}
	}
	return false
}

// Count returns the number of rows of a status.
func (r Report) Count(s Status) int {
	n := 0
	for _, row := range r.Rows {
		if row.Status == s {
			n++
		}
	}
	return n
}

// leastText is the width below which evidence and fix go under the name of the
// check, not beside it.
const leastText = 40

// WriteText writes one line for each check and one more for its fix. On a
// terminal of that width both are wrapped under their column; 0 is no terminal,
// and no line is wrapped.
func (r Report) WriteText(w io.Writer, width int) error {
	var status, name int
	for _, row := range r.Rows {
		status = max(status, len(row.Status)+2)
		name = max(name, utf8.RuneCountInString(row.Name)+2)
	}
	room, indent := 0, status+name
	if width > 0 {
		if room = width - indent; room < leastText {
			indent = status
			room = max(width-indent, 1)
		}
	}
	var b strings.Builder
	for _, row := range r.Rows {
		lines := wrap(oneLine(row.Evidence), room)
		if row.Fix != "" {
			lines = append(lines, wrap("fix: "+oneLine(row.Fix), room)...)
		}
		head := fmt.Sprintf("%-*s%-*s", status, row.Status, name, row.Name)
		if indent == status { // under the name
			fmt.Fprintln(&b, strings.TrimRight(head, " "))
			head = strings.Repeat(" ", indent)
		}
		for _, line := range lines {
			fmt.Fprintln(&b, strings.TrimRight(head+line, " "))
			head = strings.Repeat(" ", indent)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap breaks a text at blanks into lines of that width. Words are never cut:
// they may be paths and commands that are there to be copied.
func wrap(text string, width int) []string {
	if width <= 0 {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Options say what a run will do; blockers follow from it.
type Options struct {
	Timeline bool // nsys will capture
	Counters bool // ncu will count
	Sampled  bool // nsys samples counters where it may
	CUDA     bool // the workload uses a GPU
	Torch    bool // the workload is a Python program with PyTorch

	Packages  []string // that the workload's Python needs beside torch
	PythonEnv []string // of the workload's Python; nil is that of the host
	Device    string   // cuda:N that the workload is given; anything else is not checked

	Sample string // nsys's CPU sampling: none, process-tree, system-wide; "" is none

	// Paths that the configuration names; "" looks around.
	NsysPath, NcuPath, SMIPath, PythonPath string

	RunDir  string // where runs are kept; "" is the working directory
	TempDir string // "" is TMPDIR, or /tmp
}

// A check fills in the row that bears its name.
type check struct {
	id, name string
	look     func(ctx context.Context, e *exam) finding
}

// checks are in the order of the rows. None starts a program that gather could
// have started before.
var checks = []check{
	{"nsys", "Nsight Systems", checkNsys},
	{"nsys-importer", "Nsight Systems report importer", checkImporter},
	{"ncu", "Nsight Compute", checkNcu},
	{"exchange", "tools read each other's files", checkExchange},
	{"nvidia-smi", "nvidia-smi", checkSMI},
	{"gpu", "GPU present", checkGPU},
	{"driver", "driver, CUDA and tools match", checkDriver},
	{"gpus", "number of GPUs", checkGPUs},
	{"mig", "MIG mode", checkMIG},
	{"gpu-use", "GPU free for profiling", checkUse},
	{"clocks", "clocks and throttling", checkClocks},
	{"container", "container", checkContainer},
	{"counters", "permission to read GPU counters", checkCounters},
	{"perf-events", "CPU sampling permission", checkPerf},
	{"profilers", "other profilers and DCGM", checkProfilers},
	{"injection", "environment free of other injections", checkInjection},
	{"ncu-lock", "ncu's lock file", checkLock},
	{"run-store", "run store writable, with room", checkRunStore},
	{"temp", "temporary folder writable, with room", checkTemp},
	{"shm", "shared memory", checkShm},
	{"home", "home folder writable", checkHome},
	{"python", "Python", checkPython},
	{"torch", "PyTorch in the workload's Python", checkTorch},
	{"packages", "other packages in the workload's Python", checkPackages},
	{"nvtx", "NVTX in the workload's Python", checkNVTX},
}

// Check examines the machine. The zero Host is this machine.
func Check(ctx context.Context, o Options, h Host) Report {
	e := newExam(o, h)
	e.gather(ctx)
	r := Report{Schema: schema}
	for _, c := range checks {
		f := c.look(ctx, e)
		r.Rows = append(r.Rows, Row{Check: c.id, Name: c.name, Status: f.status, Evidence: f.evidence, Fix: f.fix})
	}
	r.Blocked = r.HasBlocker()
	return r
}

// A finding is a row without its name.
type finding struct {
	status   Status
	evidence string
	fix      string
}

func ok(format string, args ...any) finding { return finding{OK, fmt.Sprintf(format, args...), ""} }

func notApplicable(why string) finding { return finding{NotApplicable, why, ""} }

func warning(fix, format string, args ...any) finding {
	return finding{Warning, fmt.Sprintf(format, args...), fix}
}

func unknown(fix, format string, args ...any) finding {
	return finding{Unknown, fmt.Sprintf(format, args...), fix}
}

// problem is a blocker where the thing is wanted and a warning where not.
func problem(wanted bool, fix, format string, args ...any) finding {
	if !wanted {
		return warning(fix, format, args...)
	}
	return finding{Blocker, fmt.Sprintf(format, args...), fix}
}

// An exam holds what the checks share.
type exam struct {
	Options
	Host
	nsys, ncu, smi, python located
	importer               importer
	gpus                   []gpu
	gpusErr                error
	apps                   string // processes on the GPU, a line each
	appsErr                error
	cudaOfDriver           string // "13.0", "" where not told
	driver                 tool.Version
	modules                *modules // nil where nobody asks or there is no Python
	caps                   capabilities
	contained              string // the kind of container, "" outside
}

// located is a program, zero where it was not found, and why.
type located struct {
	tool.Tool
	err error
}

// gather asks the programs of the machine all that the checks want to know,
// side by side: each answer takes some tens of milliseconds.
func (e *exam) gather(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() {
		e.nsys = e.find(ctx, tool.Nsys, e.NsysPath)
		e.importer = e.askImporter(ctx)
	})
	all.Go(func() { e.ncu = e.find(ctx, tool.Ncu, e.NcuPath) })
	all.Go(func() {
		e.smi = e.findSMI(ctx)
		e.askSMI(ctx)
	})
	all.Go(func() {
		e.python = e.find(ctx, tool.Python, e.PythonPath)
		e.modules = e.askModules(ctx)
	})
	all.Wait()
}

func newExam(o Options, h Host) *exam {
	h = h.withDefaults()
	if o.TempDir == "" {
		o.TempDir = h.getenv("TMPDIR")
	}
	if o.TempDir == "" {
		o.TempDir = "/tmp"
	}
	if o.RunDir == "" {
		o.RunDir = "."
	}
	e := &exam{Options: o, Host: h}
	e.caps = e.readCapabilities()
	e.contained = e.containerKind()
	return e
}

func (e *exam) wantsGPU() bool { return e.CUDA || e.Counters }

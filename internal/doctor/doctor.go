// Package doctor examines the machine before a capture: every check that a run
// depends on, one row each, with the evidence as a fact. It decides nothing:
// the caller exits or goes on.
//
// Each check has some 40 lines: how it asks, and what each answer of a machine means for a run.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Status is the outcome of one check.
type Status string

const (
	OK Status = "ok"
	// a run works, its numbers or its convenience may suffer
	Warning       Status = "warning"
	Blocker       Status = "blocker"        // what is wanted cannot work
	Unknown       Status = "could-not-tell" // the evidence could not be had
	NotApplicable Status = "not-applicable" // nothing that is wanted depends on it
)

// A Row is one check.
// Seen is never zero: every status has its evidence.
type Row struct {
	Check  string // stable identifier; message.Label("check", Check) is its name
	Status Status
	Seen   fact.Fact // the evidence; the words of its code name the fix
}

// A Report is the outcome of all checks, in a fixed order. The zero one blocks
// nothing.
// Rows has one entry for each of checks; callers append rows of their own.
type Report struct {
	Rows []Row
	GPUs int // of the machine; 0 where that could not be told
}

// HasBlocker reports whether something that is wanted cannot work.
func (r Report) HasBlocker() bool { return r.Count(Blocker) > 0 }

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

// Options say what a run will do; blockers follow from it.
// The zero value wants nothing, so that no check of a tool or a GPU can block.
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
	NsysPath, NcuPath, PythonPath string

	RunDir  string // where runs are kept; "" is the working directory
	TempDir string // "" is TMPDIR, or /tmp
}

// A check fills in the row of its identifier.
// look must not change the machine, and must give a finding even when ctx has ended.
type check struct {
	id   string
	look func(ctx context.Context, e *exam) finding
}

// checks are in the order of the rows. None starts a program that gather could
// have started before.
var checks = []check{
	{"nsys", checkNsys},
	{"nsys-importer", checkImporter},
	{"ncu", checkNcu},
	{"exchange", checkExchange},
	{"nvidia-smi", checkSMI},
	{"gpu", checkGPU},
	{"driver", checkDriver},
	{"gpus", ofGPU(checkGPUs)},
	{"mig", ofGPU(checkMIG)},
	{"gpu-use", ofGPU(checkUse)},
	{"clocks", ofGPU(checkClocks)},
	{"container", checkContainer},
	{"counters", checkCounters},
	{"perf-events", checkPerf},
	{"profilers", checkProfilers},
	{"injection", checkInjection},
	{"ncu-lock", checkLock},
	{"run-store", checkRunStore},
	{"temp", checkTemp},
	{"shm", checkShm},
	{"home", checkHome},
	{"python", checkPython},
	{"torch", checkTorch},
	{"packages", checkPackages},
	{"nvtx", checkNVTX},
}

// Check examines the machine. The zero Host is this machine.
// It writes nothing but probes that it removes, starts programs only to ask them, and
// always gives a row for every check. The end of ctx makes answers unknown.
// Checks read what gather found; only checkPerf starts a program itself.
func Check(ctx context.Context, o Options, h Host) Report {
	e := newExam(o, h)
	e.gather(ctx)
	r := Report{GPUs: len(e.gpus)}
	for _, c := range checks {
		f := c.look(ctx, e)
		r.Rows = append(r.Rows, Row{Check: c.id, Status: f.status, Seen: f.seen})
	}
	return r
}

// A finding is a row without its identifier.
// The zero finding has no status and is never returned by a check.
type finding struct {
	status Status
	seen   fact.Fact
}

// ok, warning, unknown and notApplicable make a finding of that status.
func ok(code fact.Code, params ...fact.Param) finding {
	return finding{OK, fact.New(code, params...)}
}

// unwanted and absent are why a check does not apply; what is an ID of the domain
// "check-of".
func unwanted(what string) finding {
	return notApplicable(notWanted, fact.ID("what", "check-of", what))
}

// absent is for a check of something whose program or device is not there; another
// row says so, so that this one blocks nothing.
func absent(what string) finding {
	return notApplicable(notThere, fact.ID("what", "check-of", what))
}

// notApplicable is never a problem, whatever the run wants.
func notApplicable(code fact.Code, params ...fact.Param) finding {
	return finding{NotApplicable, fact.New(code, params...)}
}

// warning lets the run go on: its numbers, or its convenience, may suffer.
func warning(code fact.Code, params ...fact.Param) finding {
	return finding{Warning, fact.New(code, params...)}
}

// unknown is for evidence that could not be had. It blocks nothing: "could not tell"
// is not "no".
func unknown(code fact.Code, params ...fact.Param) finding {
	return finding{Unknown, fact.New(code, params...)}
}

// problem is a blocker where the thing is wanted and a warning where not.
func problem(wanted bool, code fact.Code, params ...fact.Param) finding {
	if !wanted {
		return warning(code, params...)
	}
	return finding{Blocker, fact.New(code, params...)}
}

// An exam holds what the checks share.
// gather fills it before the checks, which run one after the other and may note what
// later ones need, such as the driver.
// The lists of GPUs and programs are those of nvidia-smi, in its order. gpusErr and appsErr are
// nil where nvidia-smi was not found: smi.err has the reason then.
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
// err is nil where the program can be used.
type located struct {
	tool.Tool
	err error
}

// gather asks the programs of the machine all that the checks want to know,
// side by side: each answer takes some tens of milliseconds.
// Each goroutine writes fields of its own, so that no lock is needed. The importer is asked after
// nsys and the modules after Python, since each needs the path that was found.
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

// newExam asks no program.
// It fills in the defaults of o and h, and reads what files of the system tell.
func newExam(o Options, h Host) *exam {
	h = h.withDefaults()
	o.TempDir, o.RunDir = cmp.Or(o.TempDir, h.getenv("TMPDIR"), "/tmp"), cmp.Or(o.RunDir, ".")
	e := &exam{Options: o, Host: h}
	e.caps = e.readCapabilities()
	e.contained = e.containerKind()
	return e
}

// wantsGPU: counting needs a GPU whatever the workload says.
func (e *exam) wantsGPU() bool { return e.CUDA || e.Counters }

// A BlockedError says why the run was not started.
// Its report has at least one blocker.
type BlockedError struct{ Report Report }

// Error leaves the rows to the caller, which prints them with their fixes.
func (e *BlockedError) Error() string {
	return "the machine cannot do what the configuration asks for"
}

// A MissingError says that a run cannot start without a program, whatever is to
// be ignored.
// Err is why the program was not found or does not work.
type MissingError struct {
	Name    string // of the program
	Instead string // what to do
	Told    bool   // what was looked for is among the blockers that were told
	Err     error
}

// Error does not repeat what was looked for where the checks have told it already.
func (e *MissingError) Error() string {
	if e.Told {
		return fmt.Sprintf("the run cannot do without a working %s, also with --ignore-blockers; fix it, or %s", e.Name, e.Instead)
	}
	return fmt.Sprintf("%v; or %s", e.Err, e.Instead)
}

// Unwrap leads to what was looked for.
func (e *MissingError) Unwrap() error { return e.Err }

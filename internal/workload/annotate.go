package workload

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/workloads"
)

// An Annotation puts ranges into Python programs that import torch, without a
// change of the program: a module on PYTHONPATH that workloads/annotate holds.
type Annotation struct {
	Mode  string // auto, stages or modules
	Depth int    // of modules; 0 is no limit
	Limit int    // ranges of a pass; 0 takes the module's own
	Code  string // folder for the module
	Out   string // folder for the side files
}

// AnnotationOf is what a step puts into the workload; nil for none. The sessions that
// ship with deepprof have stages of their own, so that modules are put into these.
// Code and out are its folders.
func AnnotationOf(p *plan.Plan, step, code, out string) *Annotation {
	if step == plan.StepNcu && Serves(p) {
		return nil // its launches are told apart by their configuration, and ranges slow them
	}
	a := Annotation{Mode: p.Pipeline.Annotate, Depth: p.Pipeline.AnnotateDepth, Limit: p.Pipeline.AnnotateLimit, Code: code, Out: out}
	if a.Mode == "auto" && Shipped(p) {
		a.Mode = "modules"
	}
	if a.Mode == "" || a.Mode == "none" || a.Mode == "stages" && Shipped(p) {
		return nil
	}
	return &a
}

// GateOf is what opens a gate in a server that ncu counts; nil where it is not to be
// annotated. Ranges slow what ncu counts, so it has the outermost modules alone.
func GateOf(p *plan.Plan, code, out string) *Annotation {
	a := AnnotationOf(p, plan.StepNsys, code, out)
	if a != nil {
		a.Depth = 1
	}
	return a
}

// Variables are what annotation adds to an environment; none without one.
// The last PYTHONPATH of env stays, behind ours.
func (a *Annotation) Variables(env []string) []string {
	if a == nil {
		return nil
	}
	path := a.Code
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PYTHONPATH="); ok {
			path = a.Code
			if value != "" {
				path += string(filepath.ListSeparator) + value
			}
		}
	}
	set := []string{"PYTHONPATH=" + path, "DEEPPROF_ANNOTATE=" + a.Mode, "DEEPPROF_ANNOTATE_OUT=" + a.Out}
	if a.Depth > 0 {
		set = append(set, "DEEPPROF_ANNOTATE_DEPTH="+strconv.Itoa(a.Depth))
	}
	if a.Limit > 0 {
		set = append(set, "DEEPPROF_ANNOTATE_LIMIT="+strconv.Itoa(a.Limit))
	}
	return set
}

// GatesVariable names the file of gates to a program that is annotated.
const GatesVariable = "DEEPPROF_ANNOTATE_GATES"

// Install writes the module and makes the folder of the side files.
// It may be called again: files that are there are replaced.
func (a Annotation) Install() error {
	tree, err := fs.Sub(workloads.FS, "annotate")
	if err != nil {
		return err
	}
	if err := Unpack(tree, a.Code); err != nil {
		return err
	}
	return os.MkdirAll(a.Out, 0o755)
}

// Annotated is what the side files tell: which ranges deepprof opened, and the
// shape of each step.
type Annotated struct {
	Processes []AnnotatedProcess `json:"processes"`
}

// An AnnotatedProcess is one that imported torch.
type AnnotatedProcess struct {
	PID   int             `json:"pid"`
	Mode  string          `json:"mode,omitempty"`
	Off   string          `json:"off,omitempty"` // why nothing was annotated: no-nvtx, error
	Error string          `json:"error,omitempty"`
	Paths []AnnotatedPath `json:"paths,omitempty"` // of the ranges that deepprof opened
	// the last sums of each place, in the order in which places were first met
	Work []ModuleWork `json:"work,omitempty"`
	// Compiled are paths of modules that torch.compile made one range of.
	Compiled []AnnotatedPath `json:"compiled,omitempty"`
	Steps    []AnnotatedStep `json:"steps,omitempty"` // in the order in which they began
	// at which modules were cut off, because a pass had too many ranges; 0 where they were not
	Depth  int  `json:"depth,omitempty"`
	Ended  bool `json:"ended"` // it came to its end; a killed one did not
	Broken int  `json:"broken,omitempty"`

	nodes map[int]int // number of a place in the side file -> index of Work
}

// An AnnotatedStep is the outermost call of a model. Sizes are 0 where the call
// did not show them.
type AnnotatedStep struct {
	Number int    `json:"step"`
	Stage  string `json:"stage"` // prefill or decode
	Batch  int64  `json:"batch"`
	Tokens int64  `json:"tokens"` // of each sequence, in this call
	Cached int64  `json:"cached"` // tokens before it
}

// annotateLine is one line of a side file.
type annotateLine struct {
	On      *string  `json:"on"`
	Off     string   `json:"off"`
	Error   string   `json:"error"`
	Warning string   `json:"warning"`
	Range   []string `json:"range"`
	Own     []int    `json:"own"`
	Work    []string `json:"work"`
	Node    int      `json:"node"`
	FLOPs   float64  `json:"flops"`
	Calls   int64    `json:"calls"`
	DType   string   `json:"dtype"`
	// Captured has pairs: FLOPs of a captured call, and how many such came in a row.
	Captured [][2]float64 `json:"captured"`
	Compiled []string     `json:"compiled"`
	Step     *int         `json:"step"`
	Stage    string       `json:"stage"`
	Batch    int64        `json:"batch"`
	Tokens   int64        `json:"tokens"`
	Cached   int64        `json:"cached"`
	Limited  int64        `json:"limited"`
	Depth    int          `json:"depth"`
	Ended    bool         `json:"ended"`
}

// ReadAnnotated reads the side files in a folder. A folder without any, or none at
// all, tells that annotation did not get into the program.
// Processes are sorted by pid. A side file that cannot be read is an error; other files are
// ignored.
func ReadAnnotated(dir string) (Annotated, error) {
	var all Annotated
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return all, fmt.Errorf("read annotation: %w", err)
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		pid, err := strconv.Atoi(strings.TrimSuffix(e.Name(), ext))
		if err != nil || sideFiles[ext] == nil {
			continue
		}
		p, err := sideFiles[ext](filepath.Join(dir, e.Name()), pid)
		if err != nil {
			return all, err
		}
		all.Processes = append(all.Processes, p)
	}
	slices.SortFunc(all.Processes, func(a, b AnnotatedProcess) int { return a.PID - b.PID })
	return all, nil
}

// sideFiles are the files that a process can leave, by extension: what was
// annotated, or why the module could not start.
var sideFiles = map[string]func(path string, pid int) (AnnotatedProcess, error){".jsonl": readAnnotatedProcess, ".error": readAnnotationError}

// maxAnnotationError bounds the text of an error that is taken over, in bytes.
const maxAnnotationError = 1000

// readAnnotationError reads what a process left that could not annotate itself.
func readAnnotationError(path string, pid int) (AnnotatedProcess, error) {
	f, err := format.Open(path)
	if err != nil {
		return AnnotatedProcess{}, fmt.Errorf("read annotation: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxAnnotationError))
	if err != nil {
		return AnnotatedProcess{}, fmt.Errorf("read annotation %s: %w", path, err)
	}
	return AnnotatedProcess{PID: pid, Off: "error", Error: strings.TrimSpace(string(text))}, nil
}

// readAnnotatedProcess reads one side file. Lines that a kill cut are counted.
// A line of more than 1 MiB is an error.
func readAnnotatedProcess(path string, pid int) (AnnotatedProcess, error) {
	p := AnnotatedProcess{PID: pid}
	f, err := format.Open(path)
	if err != nil {
		return p, fmt.Errorf("read annotation: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l annotateLine
		if json.Unmarshal(lines.Bytes(), &l) != nil { // the process was killed while it wrote
			p.Broken++
			continue
		}
		p.take(&l)
	}
	if err := lines.Err(); err != nil {
		return p, fmt.Errorf("read annotation %s: %w", path, err)
	}
	return p, nil
}

// take enters a line; kinds of lines that are not known are left out, so that a newer
// module can say more.
func (p *AnnotatedProcess) take(l *annotateLine) {
	switch {
	case l.On != nil:
		p.Mode = *l.On
	case l.Off != "":
		p.Off, p.Error = l.Off, l.Error
	case l.Warning != "":
		p.Error = l.Warning
	case l.Range != nil:
		p.Paths = append(p.Paths, AnnotatedPath{l.Range, l.Own})
	case l.Work != nil:
		p.takeWork(l)
	case l.Compiled != nil:
		p.Compiled = append(p.Compiled, AnnotatedPath{l.Compiled, l.Own})
	case l.Step != nil:
		p.Steps = append(p.Steps, AnnotatedStep{*l.Step, l.Stage, l.Batch, l.Tokens, l.Cached})
	case l.Limited > 0:
		p.Depth = l.Depth
	case l.Ended:
		p.Ended = true
	}
}

// maxCaptures bounds how many captured calls of one place are kept; a damaged file may
// tell of more than fit into memory.
const maxCaptures = 1 << 16

// takeWork takes the sums of a place so far, which replace earlier ones.
func (p *AnnotatedProcess) takeWork(l *annotateLine) {
	w := ModuleWork{Path: AnnotatedPath{l.Work, l.Own}, FLOPs: l.FLOPs, Calls: l.Calls, DType: l.DType}
	for _, run := range l.Captured {
		for range min(int(run[1]), maxCaptures-len(w.Captured)) {
			w.Captured = append(w.Captured, run[0])
		}
	}
	if i, ok := p.nodes[l.Node]; ok {
		p.Work[i] = w
		return
	}
	if p.nodes == nil {
		p.nodes = map[int]int{}
	}
	p.nodes[l.Node] = len(p.Work)
	p.Work = append(p.Work, w)
}

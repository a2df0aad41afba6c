package analysis

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/flops"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/pick"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
)

// An Input names what to analyze. Everything is optional, but there must be a
// timeline, counters, or what the workload measured of itself.
type Input struct {
	Version  string // of this program
	Run      string // run directory; "" for files on their own
	Recorded bool   // a recording; runs that were played say so themselves
	Status   string // of the run, where the manifest does not tell yet

	// Preliminary tells that counters are still to come: the result says so first.
	Preliminary bool

	// Timelines are SQLite exports or reports of Nsight Systems. Where there are
	// several, Analyze puts them in order; the details of the result are about the
	// first, and Result.Timelines has a row for each.
	Timelines []string
	Counters  []string // .ncu-rep, or CSV of ncu
	// Identities tell timelines and reports of counters apart, by path, as far as
	// whoever made them recorded it. The files tell the rest.
	Identities map[string]timeline.Identity
	// Metrics are the metrics.json of the workload by pipeline step: unprofiled,
	// direct_inference, nsys, ncu.
	Metrics   map[string]string
	Operators string   // operators.json of the torch profiler
	Flops     string   // flops.json
	Targets   string   // targets.json
	Windows   []string // windows.json of each start of a server
	Model     string   // config.json of the model; CountModel counts its work

	// Include and Exclude are NVTX filters: the analysis is about the launches
	// that they select. Without an Include it is about the whole timeline, or with
	// DefaultScope about its main regions (timeline.MainRegions); where there are no
	// ranges at all, what repeats is detected then.
	Include, Exclude []string
	DefaultScope     bool
	// Asked tells that a person asked for the Include just now: where it selects
	// nothing, the analysis is refused with a ScopeError and not widened.
	Asked bool

	Categories *Categories // nil takes the shipped rules
	Work       []StageWork // the analytic side of MFU and MBU
	Thresholds Thresholds  // zero fields take the defaults

	counted *flops.Report // of Model
	regions ModelRegions  // that hold its work
	capture plan.Nsys     // as configured; zero where that is not known
	unread  error         // why the plan of the run, or its configuration, cannot be read; nil where it can, or there is none

	kind string         // of a session that ships with deepprof
	lost []lostTimeline // timelines of which nothing can be used
	// notChosen are the ranks that began and were not chosen to be captured.
	notChosen map[int]bool

	Workers int // goroutines that read; 0 takes one per core
	// Events asks for Overview.Detail, which a page needs and nothing else.
	Events bool
}

// StageWork is what one pass of a stage has to do by the model's arithmetic.
type StageWork struct {
	Stage string  `json:"stage"`
	FLOPs float64 `json:"flops"`           // a multiplication and an addition are two
	Bytes float64 `json:"bytes,omitempty"` // that must come from memory at least
	DType string  `json:"dtype"`           // of the matrix products: bf16, fp16, tf32, fp32, fp64, fp8, int8
}

// A lostTimeline is a timeline of which nothing can be used, and why.
type lostTimeline struct {
	path string
	err  error
}

// timeline is the one that the details are about; "" without any.
func (in *Input) timeline() string { return firstOf(in.Timelines) }

// onlyCounters tells that reports of counters are all there is.
func (in *Input) onlyCounters() bool {
	return len(in.Timelines) == 0 && len(in.Metrics) == 0 && in.Operators == ""
}

// Empty tells that there is nothing to analyze.
func (in *Input) Empty() bool {
	return len(in.Timelines) == 0 && len(in.Counters) == 0 && len(in.Metrics) == 0 && in.Operators == "" && len(in.Windows) == 0
}

// FromRun finds the inputs in a run directory. What a run does not have stays
// empty.
func FromRun(dir string) (Input, error) {
	if _, err := os.Stat(dir); err != nil {
		return Input{}, fmt.Errorf("analyze run: %w", err)
	}
	in := Input{Run: dir, Metrics: map[string]string{}}
	in.Identities = runs.Identities(dir)
	// An export goes before its report, since it needs no vendor tool.
	in.Timelines = withoutExported(filled(runs.Files(dir, runs.TimelineFile)), filled(runs.Files(dir, runs.TimelineReportFile)))
	in.findRanks()
	in.Counters = runs.Files(dir, runs.CountersFile)
	if len(in.Counters) == 0 {
		in.Counters = runs.Files(dir, runs.CountersCSVFile)
	}
	slices.Sort(in.Counters)
	for _, path := range runs.Files(dir, runs.MetricsFile) {
		in.Metrics[runs.StepName(filepath.Base(filepath.Dir(path)))] = path
	}
	in.Operators = firstOf(runs.Files(dir, runs.OperatorsFile))
	in.Flops = firstOf(runs.Files(dir, runs.FlopsFile))
	in.Targets = firstOf(runs.Files(dir, runs.TargetsFile))
	in.Windows = runs.Files(dir, runs.WindowsFile)
	in.configured()
	return in, nil
}

// findRanks reads which ranks of the job began and were not chosen to be captured: their
// timelines are not missing.
func (in *Input) findRanks() {
	in.notChosen = map[int]bool{}
	for _, path := range runs.Files(in.Run, runs.RankFile) {
		var r struct {
			Rank   int
			Chosen string
		}
		if data, err := readFile(path); err == nil && json.Unmarshal(data, &r) == nil && r.Chosen == "no" {
			in.notChosen[r.Rank] = true
		}
	}
}

// filled are the files that hold anything: an import or export that was killed leaves an empty one.
func filled(paths []string) []string {
	return slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || info.Size() == 0
	})
}

// withoutExported are all exports, and the reports that were not exported.
func withoutExported(exports, reports []string) []string {
	return append(exports, slices.DeleteFunc(reports, func(report string) bool {
		return slices.ContainsFunc(exports, func(e string) bool { return format.BaseName(e) == format.BaseName(report) })
	})...)
}

// firstOf is "" for an empty list.
func firstOf(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return paths[0]
}

// configured takes from the plan of a run what the analysis is about: the regions that it
// names, the limit of the overhead, what nsys was asked for. An older run stores no plan: it is
// made from the configuration, and without one the choice of launches names the regions.
func (in *Input) configured() {
	p, err := runs.PlanOf(in.Run)
	if p == nil && err == nil {
		if p, _, err = plan.OfFile(in.Run, runs.ConfigName); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	if in.unread = err; p != nil {
		in.Include, in.Exclude, in.kind = p.Pipeline.Ncu.CLI.NVTXInclude, p.Pipeline.Ncu.CLI.NVTXExclude, p.Pipeline.Workload.Kind
		in.Thresholds.Overhead, in.capture = p.Pipeline.Unprofiled.OverheadLimit, p.Pipeline.Nsys
		return
	}
	if in.Targets == "" {
		return
	}
	if data, err := readFile(in.Targets); err == nil {
		if t, err := pick.ParseTargets(data); err == nil {
			in.Include, in.Exclude = t.Include, t.Exclude
		}
	}
}

// Add takes a file by what it holds. A table of CSV is taken for one of ncu; its
// reader says so where it is not.
func (in *Input) Add(path string) error {
	f, err := format.Recognize(path)
	if err != nil {
		return fmt.Errorf("analyze: %w", err)
	}
	switch known := f.Kind != format.Empty && f.Kind != format.Unknown; {
	case f.Holds == format.Timeline, !known && IsRankFile(path):
		if slices.Contains(in.Timelines, path) {
			return fmt.Errorf("analyze: %s is named twice", path)
		}
		in.Timelines = append(in.Timelines, path)
	case f.Holds == format.Counters, f.Holds == format.Table, format.Named(path) == format.NcuReport:
		in.Counters = append(in.Counters, path)
	case f.Kind == format.Operators:
		in.Operators = path
	case f.Kind == format.Metrics:
		return in.addMetrics(path)
	case f.Kind == format.Flops && in.Model != "":
		return fmt.Errorf("analyze: %s and %s both give the work of the model; name one", in.Model, path)
	case f.Kind == format.Flops:
		in.Flops = path
	case f.Kind == format.ModelConfig:
		return in.addModel(path)
	case f.Kind == format.Targets:
		in.Targets = path
	default:
		return fmt.Errorf("analyze: %s is %s, and none of a run, .sqlite, .nsys-rep, .ncu-rep, CSV of ncu, result.json, metrics.json, operators.json, flops.json, targets.json, config.json of a model", path, f.Description)
	}
	return nil
}

// addMetrics takes the metrics of a workload by the pipeline step whose folder they lie
// in; elsewhere they are those of an unprofiled run.
func (in *Input) addMetrics(path string) error {
	step := plan.StepUnprofiled
	if abs, err := filepath.Abs(path); err == nil {
		switch dir := runs.StepName(filepath.Base(filepath.Dir(abs))); dir {
		case plan.StepDirectInference, plan.StepNsys, plan.StepNcu:
			step = dir
		}
	}
	if in.Metrics == nil {
		in.Metrics = map[string]string{}
	}
	if have := in.Metrics[step]; have != "" {
		return fmt.Errorf("analyze %s: %s are the metrics of the pipeline step %s already; give one file for each step", path, have, step)
	}
	in.Metrics[step] = path
	return nil
}

// maxRead bounds the files of a run that are read as a whole.
const maxRead = 2 << 30

// readFile reads a file of a run, also a compressed one.
func readFile(path string) ([]byte, error) { return format.ReadFile(path, maxRead) }

// rel names a file relative to the run, or by its base name.
func (in *Input) rel(path string) string {
	if in.Run != "" {
		if r, err := filepath.Rel(in.Run, path); err == nil && !strings.HasPrefix(r, "..") {
			return filepath.ToSlash(r)
		}
	}
	return filepath.Base(path)
}

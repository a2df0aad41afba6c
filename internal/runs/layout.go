package runs

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/timeline"
)

// FileKind says what a file of a run is.
type FileKind string

const (
	TimelineFile       FileKind = "timeline"        // SQLite export, the one that is read
	TimelineReportFile FileKind = "timeline report" // the vendor's own file
	SummaryFile        FileKind = "summary"         // a table of the timeline as CSV
	CountersFile       FileKind = "counters"
	CountersCSVFile    FileKind = "counters as CSV"
	MetricsFile        FileKind = "metrics"   // of one step, in its folder
	OperatorsFile      FileKind = "operators" // of the torch profiler
	FlopsFile          FileKind = "flops"
	TargetsFile        FileKind = "targets"
	SpecFile           FileKind = "spec" // what a shipped program was told
	CommandFile        FileKind = "command"
	LogFile            FileKind = "log"
	RankFile           FileKind = "rank" // that a rank began, and where
	// what a process tells of the ranges that were opened in it
	AnnotationFile FileKind = "annotation"
	ResultFile     FileKind = "result"
	PageFile       FileKind = "page" // made from the result
	ProvenanceFile FileKind = "provenance"
	// a timeline of the start of a server, in which CUDA graphs are captured
	StartupFile       FileKind = "startup"
	WindowsFile       FileKind = "windows"    // of a server: what its clients saw in each
	RequestsFile      FileKind = "requests"   // of a server, one a line
	NotesFile         FileKind = "notes"      // what people wrote about the run
	ConditionsFile    FileKind = "conditions" // clocks, power and throttling while steps ran
	StartupReportFile FileKind = "startup report"
)

// Files of the run itself.
const (
	ManifestName = format.RunManifest
	EnvName      = "env.json"
	ConfigName   = "config.yaml"
	PlanName     = "plan.json" // the typed plan, as package plan stores it
	InputsName   = "inputs.yaml"
	// PrivateName is the exact plan, which resume needs, if PlanName does not
	// show all of it. Only its owner can read it; no pack, recording, report or
	// manifest has it.
	PrivateName    = "private.json"
	TargetsName    = string(format.Targets) // the launches that are counted, and why
	ConditionsName = "conditions.csv"       // clocks, power and throttle reasons while steps ran
	ResultName     = string(format.Result)  // an analysis.Result
	PageName       = "report.html"
	tagsName       = "tags.json" // what people wrote about the run
)

// Folders of a run. The folder of a profiler has the name of its step.
const (
	// WorkloadFolder holds what the workload printed and wrote without a profiler: a
	// command of the user's in itself, shipped sessions in a folder for each step.
	WorkloadFolder = "workload"
	serverFolder   = "server"
	// AnnotateFolder holds the module that annotates programs, and below it a folder
	// of side files for each step.
	AnnotateFolder = "annotate"
	ProgramFolder  = WorkloadFolder + "/program" // the shipped programs
	// in the folder of a profiler: a file for each rank that began
	RanksFolder = "ranks"
)

// SessionFolder is that of a shipped session, ServerOf that of a server, AnnotationOf
// that of the side files of annotation, all as a step starts them.
func SessionFolder(step string) string { return WorkloadFolder + "/" + step }
func ServerOf(step string) string      { return serverFolder + "/" + step }
func AnnotationOf(step string) string  { return AnnotateFolder + "/" + step }

// Files with a place of their own.
const (
	// what the steps change of the configuration
	DeviationsFile  = WorkloadFolder + "/deviations.json"
	FlopsReport     = WorkloadFolder + "/" + FlopsName     // a flops.Report
	FlopsComparison = WorkloadFolder + "/flops_check.json" // a flops.Comparison
	// AnnotateOff is there once annotation made the workload fail, SamplesOff once
	// sampling of counters made nsys fail: later captures go without it.
	AnnotateOff = AnnotateFolder + "/off.txt"
	SamplesOff  = plan.StepNsys + "/no-samples.txt"
	// GateFile lets the gate of an annotated server open by being there.
	GateFile     = plan.StepNcu + "/gate.open"
	SectionsFile = plan.StepNcu + "/sections.txt" // what the ncu of the run could have counted
)

// NsysOutput is the report of nsys without its extension, NcuOutput that of ncu's
// process of a name; "" is the first, and mostly the only one.
const NsysOutput = plan.StepNsys + "/run"

// NumberedLog is StdoutName or StderrName of the n-th start in a folder: stdout.2.log.
func NumberedLog(name string, n int) string {
	return fmt.Sprintf("%s.%d.log", strings.TrimSuffix(name, ".log"), n)
}

// NcuOutput gives each process a folder of its own: its logs lie beside the report.
func NcuOutput(process string) string { return path.Join(plan.StepNcu, process, "run") }

// SummaryCSV and CountersCSV are tables that users ask for: of the timeline, by the
// name of the table, and of the n-th report of counters, from 1.
func SummaryCSV(table string) string { return plan.StepNsys + "/summary_" + table + ".csv" }

// CountersCSV numbers from the second on, so that a run with one report has raw.csv.
func CountersCSV(n int) string {
	if n == 1 {
		return plan.StepNcu + "/raw.csv"
	}
	return fmt.Sprintf("%s/raw-%d.csv", plan.StepNcu, n)
}

// Files in the folder of a step, or of a start of the workload within it.
const (
	CommandName = format.CommandLine
	StdoutName  = "stdout.log"
	StderrName  = "stderr.log"
	GatesName   = "gates.json" // of annotation, while ncu runs
	ShimName    = "rank.sh"    // the script that a launcher starts in each rank
	StopName    = "stop"       // in RanksFolder: the ranks are asked to finish

	// Files of a shipped session.
	SpecName        = "spec.json" // what it is told
	MetricsName     = string(format.Metrics)
	OperatorsName   = string(format.Operators)
	FlopsName       = string(format.Flops)
	ErrorName       = "error.json"
	PredictionsName = "predictions.jsonl"
	TraceName       = "trace.json.gz"

	// Files of a server.
	WindowsName  = "windows.json"   // a load.Record
	RequestsName = "requests.jsonl" // a load.Request a line
	SessionLog   = "session.log"    // commands of nsys around it
	LoadStdout   = "load.stdout.log"
	LoadStderr   = "load.stderr.log"
)

// layoutRow places the files of a kind in a run. Folder and Name are patterns of
// path.Match, and are matched against names inside the run only: no pattern is
// ever made from the path of a run. Earlier rows are preferred if one file of
// a kind is wanted.
type layoutRow struct {
	Kind   FileKind
	Folder string // "" is the run itself
	Name   string
	Step   string // that writes it; "" for several
}

// layout: the first row that matches decides the kind of a file.
var layout = []layoutRow{
	{ProvenanceFile, "", EnvName, plan.StepProvenance},
	{ProvenanceFile, "", ConfigName, plan.StepProvenance},
	{ProvenanceFile, "", PlanName, plan.StepProvenance},
	{ProvenanceFile, "", InputsName, plan.StepProvenance},
	{TimelineFile, plan.StepNsys, "run.sqlite", plan.StepNsys},
	{StartupFile, plan.StepNsys, "startup.sqlite", plan.StepNsys},
	{TimelineFile, plan.StepNsys, "*.sqlite", plan.StepNsys},
	{SummaryFile, plan.StepNsys, "summary_*.csv", plan.StepNsys},
	{TimelineReportFile, plan.StepNsys, "run.nsys-rep", plan.StepNsys},
	{StartupReportFile, plan.StepNsys, "startup.nsys-rep", plan.StepNsys},
	{TimelineReportFile, plan.StepNsys, "*.nsys-rep", plan.StepNsys},
	{RankFile, plan.StepNsys + "/" + RanksFolder, "*.json", plan.StepNsys},
	{RankFile, plan.StepNcu + "/" + RanksFolder, "*.json", plan.StepNcu},
	{CommandFile, "*", ShimName, ""},
	{CountersFile, plan.StepNcu, "*.ncu-rep", plan.StepNcu},
	{CountersFile, plan.StepNcu + "/*", "*.ncu-rep", plan.StepNcu},
	{CountersCSVFile, plan.StepNcu, "*.csv", plan.StepNcu},
	{LogFile, plan.StepNcu, "sections.txt", plan.StepNcu},
	{MetricsFile, WorkloadFolder + "/*", MetricsName, ""},
	{OperatorsFile, SessionFolder(plan.StepTorchProfiler), OperatorsName, plan.StepTorchProfiler},
	{OperatorsFile, WorkloadFolder + "/*", OperatorsName, plan.StepTorchProfiler},
	{FlopsFile, WorkloadFolder, FlopsName, plan.StepStaticAnalysis},
	{FlopsFile, SessionFolder(plan.StepTorchFlops), FlopsName, plan.StepTorchFlops},
	{FlopsFile, WorkloadFolder + "/flops", FlopsName, plan.StepTorchFlops}, // before schema 2
	{TargetsFile, "", TargetsName, plan.StepNcu},
	{CommandFile, plan.StepNcu, GatesName, plan.StepNcu},
	{CommandFile, plan.StepNcu + "/*", GatesName, plan.StepNcu},
	{WindowsFile, serverFolder + "/*", WindowsName, ""},
	{RequestsFile, serverFolder + "/*", RequestsName, ""},
	{SpecFile, WorkloadFolder + "/*", SpecName, ""},
	{CommandFile, "*", CommandName, ""},
	{CommandFile, "*/*", CommandName, ""},
	{AnnotationFile, AnnotateFolder + "/*", "*.jsonl", ""},
	{LogFile, "*", "*.log", ""},
	{LogFile, "*/*", "*.log", ""},
	{ConditionsFile, "", ConditionsName, ""},
	{NotesFile, "", tagsName, ""},
	{ResultFile, "", ResultName, plan.StepReport},
	{PageFile, "", "*.md", plan.StepReport},
	{PageFile, "", PageName, plan.StepReport},
	{PageFile, "", "roofline.*", plan.StepReport},
}

// row is the place of a name in the layout, or -1. Files that a later attempt
// replaced have none.
func row(rel string) int {
	if setAside(rel) {
		return -1
	}
	folder, name := path.Split(rel)
	folder = strings.TrimSuffix(folder, "/")
	return slices.IndexFunc(layout, func(r layoutRow) bool {
		in, _ := path.Match(r.Folder, folder)
		is, _ := path.Match(r.Name, name)
		return in && is
	})
}

// KindOf tells what a file is by its name inside a run; "" if the layout does
// not know it.
func KindOf(rel string) FileKind {
	if i := row(rel); i >= 0 {
		return layout[i].Kind
	}
	return ""
}

// Files lists the files of a kind in a run, with their paths: those that the
// manifest has and that are still there, preferred ones first, then by name. For
// a run whose manifest has none of the kind (an older one, one that was killed, a
// folder without a manifest), it lists what lies where the layout puts them.
// Empty files are listed. Of what is no plain file only counters are: their
// reader refuses it by name.
// Paths are joined to dir as it was given; the list is nil if there are none.
func Files(dir string, kind FileKind) []string {
	var rels []string
	if m, err := ReadManifest(dir); err == nil {
		for i := range m.Steps {
			for _, f := range m.Steps[i].Files() {
				if f.Omitted.IsZero() && KindOf(f.Path) == kind && listed(dir, f.Path, kind) {
					rels = append(rels, f.Path)
				}
			}
		}
	}
	if len(rels) == 0 {
		rels = lying(dir, kind)
	}
	slices.SortFunc(rels, func(a, b string) int { return cmp.Or(row(a)-row(b), strings.Compare(a, b)) })
	rels = slices.Compact(rels)
	for i, rel := range rels {
		rels[i] = filepath.Join(dir, filepath.FromSlash(rel))
	}
	return rels
}

// Identities are those that the manifest records of the files of a run, by their
// paths.
// It is nil if the manifest cannot be read, and empty for a run with one timeline.
func Identities(dir string) map[string]timeline.Identity {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil
	}
	all := map[string]timeline.Identity{}
	for i := range m.Steps {
		for _, f := range m.Steps[i].Files() {
			if f.Of != nil {
				all[filepath.Join(dir, filepath.FromSlash(f.Path))] = *f.Of
			}
		}
	}
	return all
}

// lying lists the files of a kind by looking into the folders of the layout.
// It looks two folders deep, which is as deep as the layout goes.
func lying(dir string, kind FileKind) []string {
	var rels []string
	var look func(folder string, depth int)
	look = func(folder string, depth int) {
		entries, _ := os.ReadDir(filepath.Join(dir, filepath.FromSlash(folder)))
		for _, e := range entries {
			rel := path.Join(folder, e.Name())
			switch {
			case e.IsDir() && depth < 2:
				look(rel, depth+1)
			case !e.IsDir() && KindOf(rel) == kind && listed(dir, rel, kind):
				rels = append(rels, rel)
			}
		}
	}
	look("", 0)
	return rels
}

// listed follows links: a run may hold large files elsewhere.
func listed(dir, rel string, kind FileKind) bool {
	info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(rel)))
	return err == nil && (info.Mode().IsRegular() || kind == CountersFile && !info.IsDir())
}

// Timeline is the export of the timeline that a run holds, of several ranks that
// of the lowest; "" if there is none, or if there are several ranges and
// nothing says which is meant.
func (r *Run) Timeline() string {
	if of := r.RankTimeline(); of != nil {
		return of.Path
	}
	if all := r.timelines(); len(all) == 1 {
		return all[0].Path
	}
	return ""
}

// timelines are the exports that the step of nsys left.
func (r *Run) timelines() []File {
	m := r.Manifest()
	s := m.Step(plan.StepNsys)
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(s.Files(), func(f File) bool { return format.Named(f.Path) != format.SQLite })
}

// RankTimeline is the timeline of the lowest rank; nil if there are no ranks.
func (r *Run) RankTimeline() *File {
	ranks := slices.DeleteFunc(r.timelines(), func(f File) bool { return f.Of == nil || f.Of.Rank == nil })
	if len(ranks) == 0 {
		return nil
	}
	return new(slices.MinFunc(ranks, func(a, b File) int { return a.Of.Compare(*b.Of) }))
}

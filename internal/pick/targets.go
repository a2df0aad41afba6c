package pick

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/ncu"
)

// Schema is the version of targets.json.
const Schema = 1

// Targets is the choice: what will be counted, why, how, and at what price. It
// is stored as targets.json.
type Targets struct {
	Schema   int    `json:"schema"`
	Timeline string `json:"timeline"`
	Limits   Limits `json:"limits"`

	// Include and Exclude are the NVTX filters in ncu's own spelling.
	Include   []string    `json:"nvtx_include,omitempty"`
	Exclude   []string    `json:"nvtx_exclude,omitempty"`
	Unmatched []Unmatched `json:"unmatched,omitempty"`
	// Steps are what ncu is given in the place of Include: the steps that the client
	// makes a server compute.
	Steps []string `json:"nvtx_steps,omitempty"`
	// MainRegions says that without filters only launches in the main regions of the
	// program were chosen from.
	MainRegions bool `json:"main_regions,omitempty"`

	Totals Totals `json:"totals"`
	// chosen ones in their order of rank, then those that are counted along
	Groups    []Group    `json:"groups"`
	LeftOut   []LeftOut  `json:"left_out,omitempty"` // what is not counted, by reason
	Runs      []Run      `json:"runs"`
	Predicted Prediction `json:"predicted"`
	// Serving is what a server is made to compute; nil for other programs.
	Serving *Serving `json:"serving,omitempty"`
	// Trade says what other ways to count were weighed and why this one won.
	Trade    fact.StoredList `json:"trade"`
	Warnings []Reason        `json:"warnings,omitempty"`

	// Regions says what reports of regions show, so that they can be made again
	// without the configuration; nil where nobody said.
	Regions *RegionOptions `json:"regions,omitempty"`
	// Ladder is how the replay mode was found, where it was left open.
	Ladder []Step `json:"ladder,omitempty"`
	// Verification is set once ncu has run.
	Verification *Verification `json:"verification,omitempty"`
}

// Limits are the bounds of the choice, and which of them ended it.
type Limits struct {
	TopN        int     `json:"top_n,omitempty"`
	Coverage    float64 `json:"coverage,omitempty"`
	BudgetS     float64 `json:"budget_s,omitempty"`
	Alike       float64 `json:"alike,omitempty"`
	Slowest     bool    `json:"slowest"`
	Collectives bool    `json:"collectives"`
	Collect     Collect `json:"collect"`
	// top_n, coverage, budget_s, or all where every group was chosen
	Reached string `json:"reached"`
}

// An Unmatched is a name or pattern of the configuration that selects nothing.
type Unmatched struct {
	// the setting: nvtx_include, nvtx_exclude, or one that chooses kernels
	Key  string   `json:"key"`
	Expr string   `json:"expr"`
	Why  Reason   `json:"why"`
	Near []string `json:"near,omitempty"`
}

// Totals are GPU times of the timeline in nanoseconds.
type Totals struct {
	Launches int   `json:"launches"`
	KernelNS int64 `json:"kernel_ns"`
	// CUDA graphs traced as a whole, whose kernels are not known
	GraphNS        int64 `json:"graph_ns,omitempty"`
	RegionLaunches int   `json:"region_launches"`
	RegionNS       int64 `json:"region_ns"` // kernels in the chosen regions
	RegionGraphNS  int64 `json:"region_graph_ns,omitempty"`
	// of them, what patterns and the rule on collectives leave
	EligibleNS     int64 `json:"eligible_ns"`
	EligibleGroups int   `json:"eligible_groups"`
}

// A Group is the launches of one kernel with one grid and block (on one model
// of GPU) within the chosen regions.
type Group struct {
	ID        string   `json:"id"` // made of kernel, grid, block and GPU: the same in every run
	Rank      int      `json:"rank"`
	Kernel    string   `json:"kernel"` // short, for people
	Function  string   `json:"function"`
	Mangled   string   `json:"mangled,omitempty"`
	Demangled string   `json:"demangled"`
	Grid      [3]int32 `json:"grid"`
	Block     [3]int32 `json:"block"`
	GPU       string   `json:"gpu,omitempty"` // where the timeline has several models

	Launches  int     `json:"launches"`
	TotalNS   int64   `json:"total_ns"`
	MedianNS  int64   `json:"median_ns"` // of the typical launch: the lower of two middles
	MinNS     int64   `json:"min_ns"`
	MaxNS     int64   `json:"max_ns"`
	Share     float64 `json:"share"`     // of the GPU time in the regions
	ShareAll  float64 `json:"share_all"` // of all GPU time
	Processes []int   `json:"processes"`
	Devices   []int   `json:"devices"`
	InGraphs  int     `json:"in_graphs,omitempty"` // launches by nodes of CUDA graphs

	Regions []RegionShare `json:"regions"`

	Chosen bool   `json:"chosen"`
	Reason Reason `json:"reason"`
	// which of its launches is counted, where it was chosen
	Counts *Reason `json:"counts,omitempty"`

	Typical Launch  `json:"typical"`
	Slowest *Launch `json:"slowest,omitempty"` // where it was asked for
}

// Fits tells whether the launches that were chosen are those of this timeline.
func (t *Targets) Fits(l *Launches) bool {
	same := func(launch *Launch) bool {
		if launch == nil {
			return true
		}
		at := l.find(launch.ID - 1)
		return at >= 0 && l.ns(at) == launch.DurationNS
	}
	return !slices.ContainsFunc(t.Groups, func(g Group) bool { return g.Chosen && !(same(&g.Typical) && same(g.Slowest)) })
}

// A RegionShare is how much of a group lies in a region, by its innermost path.
type RegionShare struct {
	Path     string `json:"path"` // "" outside every range
	Launches int    `json:"launches"`
	NS       int64  `json:"ns"`
}

// A Launch is one launch of the timeline.
type Launch struct {
	ID         int    `json:"id"` // place in the timeline, from 1, as deepprof show launches counts
	DurationNS int64  `json:"duration_ns"`
	Region     string `json:"region"`
	Process    int    `json:"process"`
	Device     int    `json:"device"`
	Context    int    `json:"context"`
	Stream     int    `json:"stream"`
	// Number counts the launches of its function in its process that pass the
	// NVTX filter, from 1, as --kernel-id does by function names; 0 where it
	// cannot be told.
	Number int `json:"number,omitempty"`
	// MangledNumber is the same by mangled names, as --kernel-name-base says.
	MangledNumber int   `json:"mangled_number,omitempty"`
	Graph         int64 `json:"graph,omitempty"`
}

// LeftOut sums the launches that are not counted for one reason.
type LeftOut struct {
	Reason Reason `json:"reason"`
	Cut    bool   `json:"cut,omitempty"` // by top_n, coverage or budget_s, not for what it is
	// Collective says that these kernels wait for a peer.
	Collective bool  `json:"collective,omitempty"`
	Groups     int   `json:"groups,omitempty"`
	Launches   int   `json:"launches"`
	NS         int64 `json:"ns"`
	// of the GPU time in the regions; of all GPU time for what lies outside
	Share   float64   `json:"share"`
	Kernels []LeftRow `json:"kernels,omitempty"`
	More    int       `json:"more,omitempty"` // kernels that are not listed
}

// names lists the kernels with their shares, the longest first.
func (l *LeftOut) names(most int, share func(float64) string) string {
	var list []string
	for _, k := range l.Kernels[:min(len(l.Kernels), most)] {
		list = append(list, fmt.Sprintf("%s (%s)", k.Kernel, share(k.Share)))
	}
	if more := len(l.Kernels) - len(list) + l.More; more > 0 && len(list) > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// A LeftRow is one kernel of LeftOut.
type LeftRow struct {
	Kernel   string  `json:"kernel"`
	Launches int     `json:"launches"`
	NS       int64   `json:"ns"`
	Share    float64 `json:"share"`
}

// The ways to tell ncu what to count.
const (
	WayPerConfig = "per-launch-config" // some launches of each configuration
	WayNumbers   = "kernel-id"         // launches by their number
	WayGates     = "gates"             // some launches of each configuration, while a gate is open
	WayFirst     = "first-launches"    // from the first launch on
)

// A Run is one process of ncu.
type Run struct {
	Way string `json:"way"`

	KernelName     string `json:"kernel_name,omitempty"`
	KernelNameBase string `json:"kernel_name_base,omitempty"`
	KernelID       string `json:"kernel_id,omitempty"`
	FilterMode     string `json:"filter_mode,omitempty"`
	LaunchSkip     int    `json:"launch_skip,omitempty"`
	LaunchCount    int    `json:"launch_count,omitempty"`
	// in the order of the timeline; the gate is closed at first
	Gates []Gate `json:"gates,omitempty"`

	// launches that ncu will count, in the order of the timeline
	Planned []Planned       `json:"planned"`
	Seconds float64         `json:"seconds"`           // predicted
	Retry   bool            `json:"retry,omitempty"`   // takes up what earlier runs missed
	Report  string          `json:"report,omitempty"`  // that came of it, within the run directory
	Skipped *Reason         `json:"skipped,omitempty"` // why it was not needed
	Note    fact.StoredList `json:"note,omitempty"`
}

// needed tells whether a run still has something to count after what earlier
// ones brought, which may be more than was planned.
func (r *Run) needed(v *Verification) bool {
	got, typical, met := v.counted(), v.typical(), map[int]bool{}
	for _, m := range v.Matches {
		if m.usable() && m.Launch > 0 {
			met[m.Launch] = true
		}
	}
	return slices.ContainsFunc(r.Planned, func(p Planned) bool {
		switch p.Role {
		case RoleUnasked:
			return false
		case RoleSlowest, RoleOther:
			return !met[p.ID]
		case RoleTypical:
			return !typical[p.Group]
		}
		return !got[p.Group]
	})
}

// options adds the run's choice of launches to the options of ncu.
func (r *Run) options(o ncu.Options, t *Targets) ncu.Options {
	o.NVTXInclude, o.NVTXExclude = t.Include, t.Exclude
	if len(t.Steps) > 0 {
		o.NVTXInclude = t.Steps
	}
	o.KernelName, o.KernelNameBase, o.KernelID = r.KernelName, r.KernelNameBase, r.KernelID
	o.FilterMode, o.LaunchSkip, o.LaunchCount = r.FilterMode, r.LaunchSkip, r.LaunchCount
	o.ProfileFromStart = o.ProfileFromStart && len(r.Gates) == 0
	return o
}

// kernels are the launches that a run counts, by the name that ncu prints: all, or
// without those that nobody asked for.
func (r *Run) kernels(t *Targets, along bool) map[string]int {
	out := map[string]int{}
	for _, p := range r.Planned {
		if g := t.group(p.Group); g != nil && (along || p.Role != RoleUnasked) {
			out[(&names{mangled: g.Mangled, demangled: g.Demangled, function: g.Function}).in(r.KernelNameBase)]++
		}
	}
	return out
}

// The roles of a planned launch.
const (
	RoleTypical = "typical"            // at the median duration, or within a tenth or 200 ns of it
	RoleSame    = "same-configuration" // of the group, but not typical
	RoleSlowest = "slowest"
	RoleOther   = "other-duration" // for launches that no typical one is like
	RoleUnasked = "along"          // not asked for: the filter lets it through
)

// A Planned is a launch that ncu will count.
type Planned struct {
	Group string `json:"group"`
	Role  string `json:"role"`
	Launch
}

// Prediction is the price and the yield of the runs.
type Prediction struct {
	Processes        int     `json:"processes"`
	Launches         int     `json:"launches"`
	PassesPerLaunch  int     `json:"passes_per_launch"`
	SecondsPerLaunch float64 `json:"seconds_per_launch"`
	ProgramSeconds   float64 `json:"program_seconds"`
	// unprofiled-run, server-start, timeline-length or timeline-events
	ProgramSource string          `json:"program_source"`
	Seconds       float64         `json:"seconds"`
	Basis         fact.StoredList `json:"basis"` // what the passes are taken from
	// EverySeconds is what counting every launch of the regions would take.
	EverySeconds    float64 `json:"every_launch_seconds"`
	CoverageRegions float64 `json:"coverage_regions"` // share of the GPU time in the regions
	CoverageAll     float64 `json:"coverage_all"`     // share of all GPU time
	// CoverageByRegion has a row for each include expression and each outermost
	// region.
	CoverageByRegion []RegionCoverage `json:"coverage_by_region,omitempty"`
	// share of the GPU time in the regions that a launch away from the median stands for
	OffTypical float64 `json:"off_typical"`
}

// ParseTargets reads targets.json.
func ParseTargets(text []byte) (*Targets, error) {
	t := &Targets{}
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("read targets: %w", err)
	}
	if t.Schema != Schema {
		return nil, fmt.Errorf("read targets: schema %d; this version reads schema %d", t.Schema, Schema)
	}
	for i := range t.Runs {
		run := &t.Runs[i]
		run.Way = hyphened(run.Way)
		for j := range run.Planned {
			run.Planned[j].Role = hyphened(run.Planned[j].Role)
		}
	}
	return t, nil
}

// hyphened is a way or a role as it is written now: earlier versions wrote spaces.
func hyphened(id string) string { return strings.ReplaceAll(id, " ", "-") }

// group finds a group by its id.
func (t *Targets) group(id string) *Group {
	for i := range t.Groups {
		if t.Groups[i].ID == id {
			return &t.Groups[i]
		}
	}
	return nil
}

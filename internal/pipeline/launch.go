package pipeline

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/ncu"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/timeline"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// launch is the launcher of the workload, behind which profilers are put. A
// workload without one, or whose program cannot be told, is captured as a tree of
// processes.
func (j *job) launch(target []string) (workload.Launch, bool) {
	if workload.Shipped(j.plan) || workload.Serves(j.plan) {
		return workload.Launch{}, false
	}
	return workload.FindLaunch(target)
}

// behind puts a profiler behind a launcher: the launcher starts a script in each
// rank, and that the profiler. The command of the profiler has the program at its
// end; ranks says which ranks get it. All of them write their own report, unless
// there is one rank only.
func (j *job) behind(l workload.Launch, profiler tool.Command, outputOption, step, ranks string) (tool.Command, error) {
	s := workload.Shim{Ranks: ranks, Folder: j.place(step), Profiler: []string{profiler.Path}, Single: step == plan.StepNcu}
	if step == plan.StepNcu && j.plan.Pipeline.Ncu.Pick.Collectives {
		s.Peers = ncu.PeersOption(j.lists)
	}
	for _, arg := range profiler.Args[:len(profiler.Args)-len(l.Program)] {
		if path, ok := strings.CutPrefix(arg, outputOption+"="); ok {
			s.Output = outputOption + "=" + shellescape.Quote(path)
			continue
		}
		s.Profiler = append(s.Profiler, arg)
	}
	for _, kv := range profiler.Env { // launchers do not always hand the environment on
		if !slices.Contains(j.env, kv) {
			s.Env = append(s.Env, kv)
		}
	}
	script := j.place(path.Join(step, workload.ShimName))
	if j.store != nil {
		if err := os.Remove(j.stopFile(step)); err != nil && !os.IsNotExist(err) {
			return tool.Command{}, fmt.Errorf("prepare the ranks: %w", err)
		}
		if err := j.store.WriteFile(path.Join(step, workload.ShimName), []byte(s.Script())); err != nil {
			return tool.Command{}, err
		}
		if err := os.Chmod(script, 0o755); err != nil {
			return tool.Command{}, fmt.Errorf("make the script of ranks: %w", err)
		}
	}
	words := slices.Concat(l.Head, []string{script}, l.Program)
	return tool.Command{Path: words[0], Args: words[1:], Dir: profiler.Dir, Env: l.Patient(profiler.Env)}, nil
}

// stopFile asks the ranks of a step to finish by being there.
func (j *job) stopFile(step string) string {
	return j.place(path.Join(step, workload.RanksFolder, workload.StopName))
}

// setBehind tells a capture that its command is a launcher, and how to stop what
// that starts.
func (j *job) setBehind(c *capture.Capture, step string, target []string) {
	if _, c.Behind = j.launch(target); !c.Behind {
		return
	}
	c.Stop = func() {
		if err := os.WriteFile(j.stopFile(step), nil, 0o666); err != nil {
			j.tell(ranksUnasked, fact.Error("error", err))
		}
	}
}

// A begun rank is what the script of ranks wrote when a rank began.
type begun struct {
	Rank, Local, World, Process int
	Host, Chosen                string
}

// begunRanks reads the ranks of a step that began.
func begunRanks(store *runs.Run, step string) map[int]begun {
	all := map[int]begun{}
	for _, file := range tool.Match(store.Path(path.Join(step, workload.RanksFolder)), "*.json") {
		var b begun
		if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &b) == nil {
			all[b.Rank] = b
		}
	}
	return all
}

// identify tells of files of a capture behind a launcher which rank they are of.
func identify(store *runs.Run, step string, files []runs.File) {
	ranks := begunRanks(store, step)
	if len(ranks) == 0 {
		return
	}
	counted := -1 // of counters there is one report
	for r, b := range ranks {
		if b.Chosen == "yes" {
			counted = r
		}
	}
	for i := range files {
		var rank int
		switch id := timeline.IdentityOfName(format.BaseName(files[i].Path)); runs.KindOf(files[i].Path) {
		case runs.TimelineFile, runs.TimelineReportFile:
			if id.Rank == nil {
				continue
			}
			rank = *id.Rank
		case runs.CountersFile:
			rank = counted
		default:
			continue
		}
		if b, ok := ranks[rank]; ok {
			files[i].Of = &timeline.Identity{Rank: &b.Rank, Local: &b.Local, World: b.World, Host: b.Host}
		}
	}
}

// countedRank is the rank that counters are taken of: the lowest with a timeline,
// else the first that the plan chooses.
func (j *job) countedRank() string {
	if j.store != nil {
		m := j.store.Manifest()
		if of := rankTimeline(m); of != nil && of.Of.Rank != nil {
			return strconv.Itoa(*of.Of.Rank)
		}
	}
	if list := j.plan.Pipeline.Ranks; len(list) > 0 {
		if _, err := strconv.Atoi(list[0]); err == nil {
			return list[0]
		}
	}
	return "0"
}

// rankTimeline is the timeline of the lowest rank; nil where there are no ranks.
func rankTimeline(m runs.Manifest) *runs.File {
	s := m.Step(plan.StepNsys)
	if s == nil {
		return nil
	}
	var found *runs.File
	for _, f := range s.Files() {
		if f.Of == nil || f.Of.Rank == nil || filepath.Ext(f.Path) != ".sqlite" {
			continue
		}
		if found == nil || f.Of.Compare(*found.Of) < 0 {
			found = &f
		}
	}
	return found
}

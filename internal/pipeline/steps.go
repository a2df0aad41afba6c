package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
	"github.com/deepprof/deepprof/internal/workload"
)

// A step is a row of the table: one thing that a run does.
type step struct {
	name    string
	enabled func(*plan.Plan) bool
	session bool   // only a workload that ships with deepprof has it
	proves  bool   // that the workload runs at all: where it fails, no later step runs
	quick   bool   // it starts no workload: the first interrupt ends it
	quiet   bool   // nobody is told where it goes well
	extra   bool   // off unless asked for: nobody is told that it was skipped
	tells   string // what will be known when it is done, for the live line; labeled in internal/message

	needs []string // steps whose files it reads, or whose success it stands on
	makes artifacts
	cost  cost

	// prepare finds what the step starts, and has its arguments checked, before
	// the first step; nil where there is nothing to check. Command is what it
	// starts, for a dry run; nil where it starts nothing.
	prepare func(context.Context, *job) error
	command func(*job) ([]tool.Command, error) // none where another step's process does it
	run     func(context.Context, *job) (made, error)
}

// made is what a step made, beside its files.
type made struct {
	capture.Outcome
	result *analysis.Result // of the report
}

// artifacts are what a step writes, by names within the run.
type artifacts struct {
	ofCommand, ofSession, ofServer []string // folders, by the kind of the workload
	files                          []string
}

// cost is how often a step runs the workload, and how, in words; nil for a step
// that does not, or of which that is not known before.
type cost struct {
	runs func(*plan.Plan) int
	how  string // an ID of the domain "runs-how"
}

func always(*plan.Plan) bool { return true }
func once(*plan.Plan) int    { return 1 }

// folders are where a step leaves its files.
func (s *step) folders(p *plan.Plan) []string {
	switch {
	case workload.Shipped(p):
		return s.makes.ofSession
	case workload.Serves(p):
		return s.makes.ofServer
	}
	return s.makes.ofCommand
}

// lone are the commands of a step that starts one at most.
func lone(build func(*job) (tool.Command, error)) func(*job) ([]tool.Command, error) {
	return func(j *job) ([]tool.Command, error) {
		c, err := build(j)
		if err != nil || c.Path == "" {
			return nil, err
		}
		return []tool.Command{c}, nil
	}
}

// stepsOf are the rows that a plan has, enabled or not: a command of the user's
// has fewer than a program of our own.
func stepsOf(p *plan.Plan) []step {
	return slices.DeleteFunc(slices.Clone(table), func(s step) bool { return s.session && !workload.Shipped(p) && !s.enabled(p) })
}

// planned are rows as the manifest begins with them.
func planned(list []step) []runs.Step {
	var out []runs.Step
	for _, s := range list {
		out = append(out, runs.Step{Name: s.name, Needs: s.needs})
	}
	return out
}

// runsOfWorkload says how often the workload runs before ncu: what a run costs
// at least.
func runsOfWorkload(list []step, p *plan.Plan) fact.Fact {
	var parts []fact.Fact
	for _, s := range list {
		if s.cost.runs != nil && s.enabled(p) && s.cost.runs(p) > 0 {
			parts = append(parts, fact.New(runsOfStep, fact.Count("n", s.cost.runs(p)), fact.ID("how", "runs-how", s.cost.how)))
		}
	}
	if len(parts) == 0 {
		return fact.New(runsNone)
	}
	return fact.New(runsAhead, fact.Because("runs", parts...))
}

// A display shows where the run stands: the place of the step among those that
// run, what it is doing, and how long it will take where that can be told.
type display struct {
	show     func(line string)
	now, of  int
	expected time.Duration // 0 where it is not known
	tells    string        // of the step
}

// start moves on to a step of the list. A step that runs the workload once takes
// about as long as the unprofiled run did; 0 is not known.
func (d *display) start(s step, list []step, p *plan.Plan, unprofiled time.Duration) {
	d.now, d.of, d.expected, d.tells = 0, 0, 0, s.tells
	for _, other := range list {
		if !other.enabled(p) || other.quiet {
			continue
		}
		d.of++
		if other.name == s.name {
			d.now = d.of
		}
	}
	if s.cost.runs != nil && s.name != plan.StepUnprofiled {
		d.expected = unprofiled
	}
}

func (d *display) line(text string) {
	if d.expected > 0 {
		text += message.Phrase("of-about", d.expected.Round(time.Second))
	}
	if d.tells != "" {
		text += message.Phrase("next-tells", message.Label("tells", d.tells))
	}
	d.show(fmt.Sprintf("[%d/%d] %s", d.now, d.of, text))
}

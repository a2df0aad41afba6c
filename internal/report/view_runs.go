package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/runs"
)

// RunView is the runs of a store. Sizes are bytes of the files that are there; the key stages
// is that of an older name of pipeline steps.
var RunView = View[runs.Summary]{
	Name: "runs", Order: Order{Key: "created", Descending: true, Words: "their start, newest first"}, Everything: "--json",
	Columns: []Column[runs.Summary]{
		{Key: "id", Format: ID, Value: func(r *runs.Summary) any { return r.ID }},
		{Key: "status", Value: func(r *runs.Summary) any { return runStatus(r) }},
		{Key: "created", Priority: 1, Value: func(r *runs.Summary) any { return r.Created.Local().Format(time.DateTime) }},
		{Key: "seconds", Title: "time", Help: "From its start to its end", Priority: 2, Format: Number, Value: func(r *runs.Summary) any { return r.Seconds }, Show: showRunTime},
		{Key: "bytes", Priority: 4, Title: "size", Help: "Of its files", Format: Number, Value: func(r *runs.Summary) any { return r.Bytes }, Show: func(r *runs.Summary) any { return amount(Bytes, r.Bytes) }},
		{Key: "label", Format: Name, Value: func(r *runs.Summary) any { return r.Label }},
		{Key: "gpu", Title: "GPU", Priority: 3, Value: func(r *runs.Summary) any { return r.GPU }},
		{Key: "stages", Title: "pipeline steps", Help: "Those that were skipped are left out", Priority: 5, Value: func(r *runs.Summary) any { return steps(r.Steps) }, Show: func(r *runs.Summary) any { return ranSteps(r.Steps) }},
		{Key: "tags", Priority: 4, Value: func(r *runs.Summary) any { return orNil(strings.Join(r.Tags, ", ")) }},
		{Key: "path", Detail: true, Value: func(r *runs.Summary) any { return r.Path }},
		{Key: "note", Detail: true, Value: func(r *runs.Summary) any { return r.Note }},
	},
}

// runStatus marks a recording that was played: its time is that of playing it.
func runStatus(r *runs.Summary) string {
	if r.Recorded != nil {
		return commas(string(r.Status), message.Phrase("recorded"))
	}
	return string(r.Status)
}

// showRunTime is nil while a run goes on.
func showRunTime(r *runs.Summary) any {
	if r.Seconds == nil {
		return nil
	}
	return RunTime(*r.Seconds)
}

// RunTime writes seconds of a run or of a step: "46.0 s", "3 min 20 s", "2 h 5 min".
func RunTime(seconds float64) string {
	if seconds < 100 {
		return amount(Seconds, seconds).(string)
	}
	return message.Duration(seconds * 1e9)
}

// ranSteps names the steps that ran, and how those ended that did not succeed.
func ranSteps(list []runs.StepState) string {
	var parts []string
	for _, s := range list {
		switch s.State {
		case runs.StateSkipped:
		case runs.StateDone:
			parts = append(parts, s.Name)
		default:
			parts = append(parts, fmt.Sprintf("%s %s", s.Name, s.State))
		}
	}
	return strings.Join(parts, ", ")
}

// steps names all steps with their states, for CSV.
func steps(list []runs.StepState) string {
	return strings.Join(each(list, func(s *runs.StepState) string { return s.Name + " " + string(s.State) }), ", ")
}

// StepStatsView is how often the pipeline steps of runs succeed and how long they take.
var StepStatsView = View[runs.StepStats]{
	Name: "run_stats", Order: Order{Words: "the pipeline"}, Everything: "--json",
	Columns: []Column[runs.StepStats]{
		{Key: "name", Title: "pipeline step", Value: func(r *runs.StepStats) any { return r.Name }},
		{Key: "ended", Priority: 4, Unit: Count, Value: func(r *runs.StepStats) any { return r.Ended }},
		{Key: "done", Unit: Count, Value: func(r *runs.StepStats) any { return r.Done }},
		{Key: "failed", Unit: Count, Value: func(r *runs.StepStats) any { return r.Failed }},
		{Key: "interrupted", Priority: 7, Unit: Count, Value: func(r *runs.StepStats) any { return r.Interrupted }},
		{Key: "skipped", Priority: 8, Unit: Count, Value: func(r *runs.StepStats) any { return r.Skipped }},
		{Key: "success_rate", Title: "success", Help: "Of the steps that were done or failed", Unit: Percent, Value: func(r *runs.StepStats) any { return scaled(r.SuccessRate, 100) }},
		{Key: "retried", Priority: 9, Unit: Count, Value: func(r *runs.StepStats) any { return r.Retried }},
		{Key: "median_seconds", Title: "median", Unit: Seconds, Group: "time", Value: secondsOf(func(s *runs.Spread) float64 { return s.Median })},
		{Key: "p90_seconds", Priority: 6, Title: "p90", Unit: Seconds, Group: "time", Value: secondsOf(func(s *runs.Spread) float64 { return s.P90 })},
		{Key: "max_seconds", Priority: 5, Title: "max", Unit: Seconds, Group: "time", Value: secondsOf(func(s *runs.Spread) float64 { return s.Max })},
	},
}

// secondsOf is one number of how long a step took; nil where it was never timed.
func secondsOf(get func(*runs.Spread) float64) func(*runs.StepStats) any {
	return func(r *runs.StepStats) any {
		if r.Seconds == nil {
			return nil
		}
		return get(r.Seconds)
	}
}

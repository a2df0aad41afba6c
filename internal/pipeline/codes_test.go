package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/runs"
)

// TestCodesOnly: what is examined, done, stored and told is the same with every
// message replaced by its code, for a run that works and for one that fails.
func TestCodesOnly(t *testing.T) {
	for _, fails := range []string{"", "exception"} {
		t.Run("fails "+fails, func(t *testing.T) {
			t.Setenv("FAKE_FAILS", fails)
			words := shapeOfRun(t)
			defer message.CodesOnly()()
			if codes := shapeOfRun(t); codes != words {
				t.Errorf("with codes\n%s\nwith words\n%s", codes, words)
			}
		})
	}
}

// shapeOfRun is what a run leaves besides words, times and paths: the checks, the
// steps, their outcomes and those that the manifest keeps, and how many lines were
// told.
func shapeOfRun(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	o := sessions(t, withoutProfilers...)
	told := 0
	o.Say = func(string) { told++ }
	report, err := Examine(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range report.Rows {
		fmt.Fprintln(&b, row.Check, row.Status, row.Seen.Code)
	}
	s, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range s.Steps {
		fmt.Fprintln(&b, st.Name, st.State, st.Reason.Code, st.Outcome.Kind, st.Outcome.What.Code, st.Outcome.Evidence.Code, st.Outcome.Cause.Code, len(st.Outcome.Warnings))
	}
	store, err := runs.Open(context.Background(), s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range store.Manifest().Steps {
		fmt.Fprintln(&b, st.Name, st.State, st.Reason.Code, len(st.Attempts))
		for _, a := range st.Attempts {
			if a.Outcome != nil {
				fmt.Fprintln(&b, a.Outcome.Kind, a.Outcome.Usable, a.Outcome.Text.Code, a.Outcome.Evidence.Code, a.Outcome.Cause.Code)
			}
		}
	}
	var result struct {
		Warnings, Missing, Findings []fact.Fact
	}
	if s.Result != nil {
		readJSON(t, filepath.Join(s.Dir, "result.json"), &result)
	}
	fmt.Fprintln(&b, s.Status, codesOf(result.Warnings), codesOf(result.Missing), codesOf(result.Findings), told)
	return b.String()
}

func codesOf(facts []fact.Fact) (codes []fact.Code) {
	for _, f := range facts {
		codes = append(codes, f.Code)
	}
	return codes
}

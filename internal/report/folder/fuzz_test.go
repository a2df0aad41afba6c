package folder

import (
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

// FuzzRead: a result.json that can be read can be written again, and every page
// can be made from it.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"toy.golden.json", "llm_scope.golden.json"} {
		data, err := os.ReadFile("../../analysis/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parse(runs.ResultName, data)
		if err != nil {
			return
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("write it again: %v", err)
		}
		for _, write := range []func(io.Writer, *analysis.Result) error{
			report.WriteReport, report.WriteStakeholder, report.WriteKernels, report.WriteOperators, report.WriteRegions, report.RooflineSVG,
		} {
			_ = write(io.Discard, r) // an error is an answer
		}
		_ = report.Summary(io.Discard, r, report.SummaryOptions{})
	})
}

package show

import (
	"context"
	"errors"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
)

// A RunDetail is what 'runs show' tells of a run.
type RunDetail struct {
	*report.RunDetail
	// Verified says what was compared; "" if nobody asked, or if a file differs.
	Verified string
	Differs  bool // a file is not as it was recorded: Warnings name it
}

// DescribeRun describes a run of a store, or one that ref gives as a path. With verify
// every file is read and compared with its recorded hash. A run that cannot be found is a
// UsageError.
func DescribeRun(ctx context.Context, store, ref string, verify bool) (d *RunDetail, err error) {
	r, err := runs.Find(ctx, store, ref)
	if err != nil {
		return nil, usage(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	found := runs.Show(r)
	var doubts []string
	if found.Annotation, err = analysis.AnnotationFacts(r.Dir()); err != nil { // a damaged side file hides nothing else
		doubts = append(doubts, err.Error())
	}
	d = &RunDetail{}
	if verify {
		bad, err := runs.Verify(ctx, r)
		if err != nil {
			return nil, err
		}
		doubts = append(doubts, report.WordWarnings(bad)...)
		if d.Differs = len(bad) > 0; !d.Differs {
			d.Verified = report.Verified(&found)
		}
	}
	d.RunDetail = report.Run(&found, doubts...)
	return d, nil
}

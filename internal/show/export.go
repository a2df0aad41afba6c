package show

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/export"
)

// OpenExport opens what the arguments name.
// Region is an NVTX expression; "" takes everything. The analysis is made at most once, when a format asks for it. The caller calls done.
// done is nil only together with an error. Without a region the whole input is exported, with
// loading and warm-up, unlike in reports.
func OpenExport(ctx context.Context, name, version string, args []string, region string, categories func() (*analysis.Categories, error)) (*export.Source, func(), error) {
	in, err := OpenInput(ctx, "export "+name, version, args)
	if err != nil {
		return nil, nil, err
	}
	var regions []string
	if region != "" {
		regions = []string{region}
	}
	if in.Drawn == "" || region != "" { // a result is taken as it is
		if err := in.Scope(regions, region == ""); err != nil && (len(in.In.Timelines) > 0 || region != "") {
			in.Done()
			return nil, nil, err
		}
	}
	src := &export.Source{
		Run: filepath.Base(cmp.Or(in.In.Run, args[0])), Dir: in.In.Run, Timelines: in.In.Timelines, Counters: in.In.Counters, Region: region, Version: version,
	}
	var result *analysis.Result
	src.Result = func(ctx context.Context) (*analysis.Result, error) {
		if result == nil {
			result, err = in.Result(ctx, categories)
		}
		return result, err
	}
	return src, in.Done, nil
}

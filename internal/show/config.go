package show

import (
	"context"
	"io/fs"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/config"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/suggest"
)

// Origins lists the values of a configuration with the places they were written in.
// A list and an empty mapping are one row each. Rows are in the order of the tree.
func Origins(root *config.Node) []report.Value {
	var rows []report.Value
	root.Walk(func(path string, n *config.Node) bool {
		if n.Len() == 0 || n.Kind() == config.List {
			rows = append(rows, report.Value{Key: path, Value: n.JSON(false), Origin: n.Origin().String()})
			return false
		}
		return true
	})
	return rows
}

// ConfigGroups lists the groups of a configuration with their options, or one group of
// them. An unknown group and a folder that is not there are UsageErrors.
func ConfigGroups(c *plan.Composer, group ...string) ([]report.Option, error) {
	sources := c.Sources()
	for _, src := range sources {
		if _, err := fs.Stat(src.FS, "."); err != nil {
			return nil, usagef("config folder %s: %w", src.Path, err)
		}
	}
	var rows []report.Option
	var names []string
	for _, g := range config.Groups(sources) {
		names = append(names, g.Name)
		if len(group) > 0 && group[0] != g.Name {
			continue
		}
		for _, o := range g.Options {
			rows = append(rows, report.Option{Group: g.Name, Option: o.Name, Comment: o.Comment, File: o.File})
		}
	}
	if len(rows) == 0 && len(group) > 0 {
		return nil, usagef("config groups: no group %q%s", group[0], suggest.DidYouMean(group[0], names))
	}
	return rows, nil
}

// Categories loads the rules that sort kernels from every folder of a configuration.
// Rules of the folders come before the shipped ones, in the order of the search path.
// Errors are UsageErrors.
func Categories(c *plan.Composer) (*analysis.Categories, error) {
	var overlays []fs.FS
	for _, source := range c.Sources() {
		if source.Path != plan.ShippedTree {
			overlays = append(overlays, source.FS)
		}
	}
	list, err := analysis.LoadCategories(overlays...)
	if err != nil {
		return nil, usage(err)
	}
	return list, nil
}

// AnalyzeFiles gives the Analyzer that views, comparisons and the server share; version
// is that of this program. Kernels are sorted by the rules of ./conf and the shipped ones.
// Everything that was opened or unpacked is closed when it returns.
func AnalyzeFiles(version string) Analyzer {
	return func(ctx context.Context, command string, paths []string) (*analysis.Result, error) {
		in, err := OpenInput(ctx, command, version, paths)
		if err != nil {
			return nil, err
		}
		defer in.Done()
		return in.Result(ctx, func() (*analysis.Categories, error) { return Categories(&plan.Composer{}) })
	}
}

package report

import "github.com/deepprof/deepprof/internal/analysis"

// ResultKernelView is the kernels of a result, told apart by name, grid and block.
// The summary, the Markdown pages and the page walk it; its keys are those of
// result.json.
var ResultKernelView = View[analysis.Kernel]{
	Name: "result_kernels", Order: Order{Key: "total_ns", Descending: true},
	Columns: []Column[analysis.Kernel]{
		{Key: "short", Title: "kernel", Format: Name, Value: func(k *analysis.Kernel) any { return k.Short }},
		{Key: "category", Priority: 4, Value: func(k *analysis.Kernel) any { return k.Category }},
		{Key: "grid", Priority: 6, Value: func(k *analysis.Kernel) any { return dims(k.Grid) }},
		{Key: "block", Priority: 7, Value: func(k *analysis.Kernel) any { return dims(k.Block) }},
		{Key: "calls", Title: "launches", Unit: Count, Priority: 3, Value: func(k *analysis.Kernel) any { return timedValue(k, k.Calls) }},
		{Key: "total_ns", Title: "GPU time", Unit: Nanoseconds, Value: func(k *analysis.Kernel) any { return timedValue(k, k.TotalNS) }},
		{Key: "mean_ns", Help: "Mean time of a launch", Unit: Nanoseconds, Priority: 5, Value: func(k *analysis.Kernel) any { return timedValue(k, k.MeanNS) }},
		{Key: "share", Help: "Share of the GPU time", Unit: Share, Value: func(k *analysis.Kernel) any { return timedValue(k, k.Share) }},
		{Key: "ncu_ns", Title: "under ncu", Help: "One launch alone, as ncu replays it: not the time it takes in the program", Unit: Nanoseconds, Value: ncuTime},
		{Key: "limiter", Format: Words, Value: func(k *analysis.Kernel) any { return orNil(limiter(&k.Limiter)) }},
		{Key: "level", Title: "of limit", Help: "How much of its limit is in use", Unit: Share, Priority: 2, Value: func(k *analysis.Kernel) any { return k.Limiter.Level }},
	},
}

// timedValue is a value of the timeline; nil where it holds no launch of the
// kernel.
func timedValue[T any](k *analysis.Kernel, x T) any {
	if untimed(k) {
		return nil
	}
	return x
}

// ncuTime is the time of one launch under ncu, where there is no other.
func ncuTime(k *analysis.Kernel) any {
	if !untimed(k) || k.Counted == nil || k.Counted.DurationNS <= 0 {
		return nil
	}
	return k.Counted.DurationNS
}

// CategoryView is the GPU time by category.
var CategoryView = View[analysis.CategoryTime]{
	Name: "categories", Order: Order{Key: "ns", Descending: true},
	Columns: []Column[analysis.CategoryTime]{
		{Key: "label", Title: "category", Value: func(c *analysis.CategoryTime) any { return c.Label }},
		{Key: "calls", Title: "launches", Unit: Count, Value: func(c *analysis.CategoryTime) any { return c.Calls }},
		{Key: "ns", Title: "GPU time", Unit: Nanoseconds, Value: func(c *analysis.CategoryTime) any { return c.NS }},
		{Key: "share", Unit: Share, Value: func(c *analysis.CategoryTime) any { return c.Share }},
	},
}

// PageViews are the declarations of the tables on the page.
func PageViews() map[string]ViewInfo {
	return map[string]ViewInfo{
		"kernels": ResultKernelView.Info(), "operators": OperatorView.Info(), "roofline": RooflineView.Info(),
	}
}

package report

import "github.com/deepprof/deepprof/internal/flops"

// FLOPsView is the work of a model by stage and component.
var FLOPsView = View[flops.Row]{
	Name: "flops", Order: Order{Words: "the model"},
	Columns: []Column[flops.Row]{
		{Key: "stage", Value: func(r *flops.Row) any { return r.Stage }},
		{Key: "component", Value: func(r *flops.Row) any { return r.Component }},
		{Key: "flops", Title: "work", Unit: FLOP, Group: "work", Value: func(r *flops.Row) any { return r.FLOPs }},
		{Key: "share", Unit: Share, Value: func(r *flops.Row) any { return r.Share }},
		{Key: "flops_torch", Title: "as torch counts", Unit: FLOP, Group: "work", Priority: 1, Value: func(r *flops.Row) any { return r.Torch }},
		{Key: "weights_bytes", Priority: 3, Unit: Bytes, Group: "bytes", Value: func(r *flops.Row) any { return orNil(r.Weights) }},
		{Key: "cache_bytes", Priority: 4, Title: "KV cache", Unit: Bytes, Group: "bytes", Value: func(r *flops.Row) any { return orNil(r.Cache) }},
		{Key: "activation_bytes", Priority: 5, Title: "activations", Unit: Bytes, Group: "bytes", Value: func(r *flops.Row) any { return orNil(r.Activations) }},
		{Key: "flops_per_byte", Priority: 2, Title: "FLOP/B", Unit: Count, Value: func(r *flops.Row) any { return orNil(r.PerByte) }},
	},
}

// FLOPs shows the work of a model by stage and component.
func FLOPs(r *flops.Report) Printable {
	return FLOPsView.table(Slice(r.Rows()), func() []string { return r.Warnings })
}

// orNil is nil for a value that stands for none.
func orNil[T comparable](x T) any {
	var none T
	if x == none {
		return nil
	}
	return x
}

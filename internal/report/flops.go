package report

import "github.com/deepprof/deepprof/internal/flops"

// FLOPs shows the work of a model by stage and component.
func FLOPs(r *flops.Report) Printable {
	type row = flops.Row
	count := func(n int64) any {
		if n == 0 {
			return nil
		}
		return n
	}
	return &Table[row]{
		Schema: "flops", Version: 1, Rows: Slice(r.Rows()), Notes: func() []string { return r.Warnings },
		Columns: []Column[row]{
			{Name: "stage", Get: func(r *row) any { return r.Stage }},
			{Name: "component", Get: func(r *row) any { return r.Component }},
			{Name: "flops", Title: "FLOPs", Kind: Count, Get: func(r *row) any { return r.FLOPs }},
			{Name: "share", Title: "share %", Kind: Percent, Get: func(r *row) any { return r.Share }, Show: func(r *row) any { return 100 * r.Share }},
			{Name: "flops_torch", Title: "as torch counts", Kind: Count, Get: func(r *row) any { return r.Torch }},
			{Name: "weights_bytes", Title: "weights (B)", Kind: Count, Get: func(r *row) any { return count(r.Weights) }},
			{Name: "cache_bytes", Title: "KV cache (B)", Kind: Count, Get: func(r *row) any { return count(r.Cache) }},
			{Name: "activation_bytes", Title: "activations (B)", Kind: Count, Get: func(r *row) any { return count(r.Activations) }},
			{Name: "flops_per_byte", Title: "FLOP/B", Kind: Count, Get: func(r *row) any {
				if r.PerByte == 0 {
					return nil
				}
				return r.PerByte
			}},
		},
	}
}

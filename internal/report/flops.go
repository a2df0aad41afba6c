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
			{Name: "flops", Title: "work", Kind: Operations, Group: "work", Get: func(r *row) any { return r.FLOPs }},
			{Name: "share", Title: "share %", Kind: Percent, Get: func(r *row) any { return r.Share }, Show: func(r *row) any { return 100 * r.Share }},
			{Name: "flops_torch", Title: "as torch counts", Kind: Operations, Group: "work", Minor: 1, Get: func(r *row) any { return r.Torch }},
			{Name: "weights_bytes", Minor: 3, Title: "weights", Kind: Bytes, Group: "bytes", Get: func(r *row) any { return count(r.Weights) }},
			{Name: "cache_bytes", Minor: 4, Title: "KV cache", Kind: Bytes, Group: "bytes", Get: func(r *row) any { return count(r.Cache) }},
			{Name: "activation_bytes", Minor: 5, Title: "activations", Kind: Bytes, Group: "bytes", Get: func(r *row) any { return count(r.Activations) }},
			{Name: "flops_per_byte", Minor: 2, Title: "FLOP/B", Kind: Count, Get: func(r *row) any {
				if r.PerByte == 0 {
					return nil
				}
				return r.PerByte
			}},
		},
	}
}

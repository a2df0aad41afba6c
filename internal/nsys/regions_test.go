package nsys

import (
	"context"
	"strconv"
	"testing"

	"github.com/deepprof/deepprof/internal/timeline"
)

// TestRegionsReproduceStats holds the region rows against the three NVTX
// reports of nsys: summed over the paths that end in a name they must agree.
func TestRegionsReproduceStats(t *testing.T) {
	type sums struct{ instances, rangeNS, projected, kernelNS int64 }
	for _, name := range []string{"toy", "graph_node", "graph_whole", "multi_node", "multi_graph", "llm"} {
		t.Run(name, func(t *testing.T) {
			rows, err := openExport(t, name).RegionRows(context.Background(), timeline.Query{})
			if err != nil {
				t.Fatal(err)
			}
			ours := map[string]sums{}
			for _, r := range rows.Rows {
				key := r.Name + " " + r.Style
				if r.Domain != "" {
					key = r.Domain + ":" + key
				}
				s := ours[key]
				s.instances += r.Instances
				s.rangeNS += r.RangeNS
				projected, kernelNS := r.ProjectedNS, r.InclusiveNS
				if r.SameThread != nil {
					projected, kernelNS = r.SameThread.ProjectedNS, r.SameThread.KernelNS
				}
				s.projected += projected
				s.kernelNS += kernelNS
				ours[key] = s
			}
			reports := recorded(t, "testdata/stats/"+name+".2023.4.txtar.gz")
			vendor := map[string]sums{}
			for _, r := range reports["nvtx_sum"].Rows {
				vendor[r[9]+" "+r[8]] = sums{instances: number(t, r[2]), rangeNS: number(t, r[1])}
			}
			for _, r := range reports["nvtx_gpu_proj_sum"].Rows {
				s := vendor[r[0]+" "+r[1]]
				s.projected = number(t, r[2])
				vendor[r[0]+" "+r[1]] = s
			}
			for _, r := range reports["nvtx_kern_sum"].Rows {
				if r[1] == "" {
					continue // outside every range
				}
				s := vendor[r[0]+" "+r[1]]
				s.kernelNS += number(t, r[6])
				vendor[r[0]+" "+r[1]] = s
			}
			if len(vendor) == 0 || len(ours) != len(vendor) {
				t.Errorf("%d regions, nsys has %d", len(ours), len(vendor))
			}
			for key, want := range vendor {
				if got := ours[key]; got != want {
					t.Errorf("%s: got %+v, nsys has %+v", key, got, want)
				}
			}
		})
	}
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

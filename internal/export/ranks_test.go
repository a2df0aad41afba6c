package export

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestTablesCarryRanks holds that each row of a job says which rank on which host
// it is of.
func TestTablesCarryRanks(t *testing.T) {
	s, _ := ranks(t)
	count := map[string]int{}
	for _, table := range []string{"launches", "kernels"} {
		for _, r := range csvRows(t, s, table) {
			count[table+" "+r["rank"]+" "+r["host"]]++
		}
	}
	for _, want := range []string{"launches 0 n1", "launches 1 n1", "launches 2 n2", "launches 3 n2", "kernels 0 n1", "kernels 3 n2"} {
		if count[want] == 0 {
			t.Errorf("no row of %s in %v", want, count)
		}
	}
	if len(count) != 8 {
		t.Errorf("rows of %v", count)
	}
	if rank, host := rankOf("nsys/toy.sqlite"); rank != nil || host != "" {
		t.Errorf("a timeline without a rank has rank %v on %q", rank, host)
	}
}

// TestTextsCarryRanks holds that the exports of numbers have those of each rank,
// and say which rank the others are of.
func TestTextsCarryRanks(t *testing.T) {
	s, _ := ranks(t)
	for name, c := range map[string]struct {
		write func(io.Writer) error
		want  []string
	}{
		"openmetrics": {func(w io.Writer) error { _, err := writeOpenMetrics(t.Context(), s, w); return err }, []string{
			`rank="0",host="n1"} 1` + "\n", // deepprof_run_info
			`deepprof_rank_wall_seconds{run="ranks",rank="3",host="n2"} 0.067`,
			`deepprof_rank_late_collectives{run="ranks",rank="2",host="n2"} 20` + "\n",
			`deepprof_rank_stage_seconds{run="ranks",stage="step",rank="1",host="n1"} 0.0033`,
		}},
		"bench": {func(w io.Writer) error { _, err := writeBench(t.Context(), s, w); return err }, []string{
			"\nBenchmarkRank/rank=2/host=n2 1 ", "\nBenchmarkRank/rank=3/host=n2/stage=step 20 ",
		}},
	} {
		var b bytes.Buffer
		if err := c.write(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s has no %q:\n%s", name, want, b.String())
			}
		}
	}
}

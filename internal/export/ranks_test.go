package export

import "testing"

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

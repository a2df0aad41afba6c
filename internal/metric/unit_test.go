package metric

import (
	"bufio"
	"compress/gzip"
	"os"
	"strings"
	"testing"
)

// testdata/units.tsv.gz holds what ncu prints for every counter that it knows
// of GH100, GA100, AD102, GB100, GB202 and TU102, with several suffixes: the
// name, the unit in 2025.3, and that in 2024.1 on GH100 or "?".
func TestUnitsOfAllCounters(t *testing.T) {
	f, err := os.Open("testdata/units.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{ // two counters that share no rule with their kind
		"TPC.TriageCompute.tpc__l1tex_mem_shared_data_compute_lines_allocated_realtime.avg.per_second":               true,
		"TPC.TriageCompute.tpc__l1tex_sram_lines_mem_untagged_data_shared_allocated_compute_realtime.avg.per_second": true,
	}
	n, wrong := 0, 0
	check := func(name string, r Release, want string) {
		n++
		if got := unitIn(name, r); got != want && !known[name] {
			if wrong++; wrong <= 20 {
				t.Errorf("%s in release %d: %q, ncu %q", name, r, got, want)
			}
		}
	}
	for in := bufio.NewScanner(z); in.Scan(); {
		cells := strings.Split(in.Text(), "\t")
		check(cells[0], R2025, cells[1])
		if cells[2] != "?" {
			check(cells[0], R2024, cells[2])
		}
	}
	if n < 25_000 {
		t.Errorf("only %d units compared", n)
	}
	if wrong > 0 {
		t.Errorf("%d of %d units are wrong", wrong, n)
	}
}

func TestUnitsOfOwnMetrics(t *testing.T) {
	for _, tt := range []struct{ name, r2024, r2025 string }{
		{"gpu__time_duration.sum", "nsecond", "ns"},
		{"sm__cycles_elapsed.avg.per_second", "cycle/second", "hz"},
		{"launch__registers_per_thread", "register/thread", "register/thread"},
		{"launch__block_size", "", ""},
		{"launch__persisting_l2_cache_size", "", "byte"},
		{"launch__occupancy_limit_barriers", "", "block"},
		{"device__attribute_total_memory", "", ""},
		{"derived__pct_occupancy_per_block_size", "%/", "%"},
		{"derived__memory_l2_theoretical_sectors_global_excessive", "byte", "sector"},
		{"smsp__pcsamp_warps_issue_stalled_branch_resolving", "warp", "branches"},
		{"smsp__pcsamp_warps_issue_stalled_no_instructions", "inst", "inst"},
		{"profiler__replayer_passes", "pass", "pass"},
		{"sm__ops_path_tensor_src_fp64.sum.per_second", "/second", ""},
		{"foo__bytes_per_sector", "byte/sector", "byte/sector"},
		{"user_defined", "", ""},
		{"", "", ""},
	} {
		if got := unitIn(tt.name, R2024); got != tt.r2024 {
			t.Errorf("%s in 2024: %q, want %q", tt.name, got, tt.r2024)
		}
		if got := Unit(tt.name); got != tt.r2025 {
			t.Errorf("%s in 2025: %q, want %q", tt.name, got, tt.r2025)
		}
	}
}

func TestGuessed(t *testing.T) {
	for name, want := range map[string]bool{
		"dram__bytes.sum": false, "gcc__cache_requests.sum": true, "TPC.TriageCompute.sm__cycles_active.avg": true, "launch__sm_count": false,
	} {
		if got := Guessed(name, R2024); got != want {
			t.Errorf("%s in 2024: %v", name, got)
		}
		if Guessed(name, R2025) {
			t.Errorf("%s in 2025 is guessed", name)
		}
	}
}

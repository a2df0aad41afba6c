package metric

import (
	"maps"
	"slices"
	"testing"
)

// What ncu 2024.1 prints for made-up reports: its guesses depend on the names
// that sort before.
func TestUnitsOfMadeUpReports(t *testing.T) {
	for _, tt := range []map[string]string{
		{"x_inst_mem": "byte"},
		{"a_inst": "inst", "x_inst_mem": "inst"},
		{"x_inst_mem": "byte", "z_inst": "inst"},
		{"a_inst": "inst", "b_mem": "byte", "x_inst_mem": "byte"},
		{"a_byte": "byte", "c_inst": "inst", "e_mem_inst": "inst"},
		{"a_byte": "byte", "b_mem": "byte", "c_inst": "inst", "d_byte_inst": "inst", "e_mem_inst": "byte"},
		{"a_byte_mem": "byte", "b_byte_warp": "byte", "c_mem_warp": "warp"},
		{"a_thread": "thread", "x_thread_inst": "thread"},
		{"a_warp": "warp", "b_thread": "thread", "c_warp_thread": "thread"},
		{"a_inst": "inst", "b_pct_inst": "inst", "c_pct": "%", "d_pct_inst": "%"},
		{"a_warp": "warp", "z_warp_pct": "%"},
		{"a_duration": "nsecond", "b_second": "second", "c_duration_mem": "byte", "e_secondduration": "second"},
		{"a_cta": "block", "zz_block_warp": "block"},
		{"a_inst_per_thread": "inst/thread", "x_thread_block": "block"},
		{"sm__inst_executed.sum": "inst", "t_inst_mem": "inst"},
		{"sm__inst_executed.sum.per_second": "inst/second", "t_inst_mem": "byte"},
		{"dram__bytes.sum": "byte", "x_mem_warp": "warp", "y_byte_warp": "byte"},
		{"launch__shared_mem_config_size": "byte", "x_mem_warp": "byte", "y_byte_warp": "warp"},
		{"launch__occupancy_limit_blocks": "block", "zz_block_warp": "warp"},
		{"sm__throughput.avg.pct_of_peak_sustained_elapsed": "%", "x_pct_warp": "warp", "y_percent_warp": "%"},
		{"smsp__pcsamp_warps_issue_stalled_no_instructions": "warp"},
		{"smsp__inst_executed.sum": "inst", "smsp__pcsamp_warps_issue_stalled_no_instructions": "inst"},
		{"thread_inst_executed": "inst", "zz_inst_mem": "byte"},
	} {
		names := slices.Collect(maps.Keys(tt))
		if got := Units(names, R2024); !maps.Equal(got, tt) {
			t.Errorf("got %v, want %v", got, tt)
		}
	}
}

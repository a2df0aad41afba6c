package metric

import "strings"

// ownUnit knows the metrics that ncu adds to the chip's counters.
func ownUnit(name string, r Release) (string, bool) {
	switch {
	case strings.HasPrefix(name, "device__attribute_"), strings.HasPrefix(name, "nvlink__"), strings.HasPrefix(name, "numa__") && r > R2022,
		strings.HasPrefix(name, "c2clink__"), strings.HasPrefix(name, "#"), strings.HasPrefix(name, "pmsampling:") && strings.HasSuffix(name, "pass_groups"):
		return "", true
	case strings.HasPrefix(name, "launch__"):
		return launchUnit(name, r)
	case strings.HasPrefix(name, "sass__inst_executed_") && !strings.Contains(name, "_per_opcode"),
		strings.HasPrefix(name, "smsp__inst_executed_memdesc_"),
		strings.HasPrefix(name, "smsp__sass_inst_executed_memdesc_") && !strings.HasSuffix(name, "_type") && !strings.Contains(name, "."):
		return "inst", true
	case strings.HasPrefix(name, "smsp__pcsamp_warps_issue_stalled_"):
		return stallUnit(name, r), true
	case strings.HasPrefix(name, "memory_"):
		return memoryUnit(name)
	case strings.HasPrefix(name, "derived__"):
		return derivedUnit(name, r)
	}
	u, ok := own[name]
	if name == "smsp__branch_targets_threads_divergent" && r < R2025 {
		u = ""
	}
	return u, ok
}

// own lists single metrics whose names mislead a guess, or from which ncu
// learns no word.
var own = map[string]string{
	"profiler__pmsampler_interval_time":                    "ns",
	"inst_executed":                                        "inst",
	"thread_inst_executed":                                 "inst",
	"thread_inst_executed_true":                            "inst",
	"smsp__branch_targets_threads_divergent":               "branches",
	"sm__maximum_warps_avg_per_active_cycle":               "warp",
	"smsp__maximum_warps_avg_per_active_cycle":             "warp",
	"smsp__sass_inst_executed_memdesc_explicit_evict_type": "",
}

// launchUnit and the functions below report false for names that ncu guesses at.
func launchUnit(name string, r Release) (string, bool) {
	switch rest := strings.TrimPrefix(name, "launch__"); {
	case strings.HasPrefix(rest, "block_dim_"), rest == "cluster_max_potential_size":
		return "block", true
	case rest == "cluster_max_active":
		return "cluster", true
	case rest == "occupancy_limit_barriers" && r < R2025:
		return "", true
	case strings.HasPrefix(rest, "occupancy_limit_"):
		return "block", true
	case strings.HasPrefix(rest, "occupancy_cluster_"):
		return "%", true
	case rest == "persisting_l2_cache_size":
		return pick(r, "", "byte"), true
	case strings.HasPrefix(rest, "registers_per_thread"):
		return "register/thread", true
	case strings.HasPrefix(rest, "shared_mem_per_block"):
		return "byte/block", true
	case rest == "shared_mem_config_size":
		return "byte", true
	case rest == "sm_count":
		if r == R2022 {
			return "", true
		}
		return "SM", true
	case rest == "thread_count":
		return "thread", true
	case rest == "block_size", strings.HasPrefix(rest, "occupancy_per_"):
		return "", true
	}
	return "", false
}

// stallUnit is for samples of warps by the reason of their stall, which ncu guesses.
func stallUnit(name string, r Release) string {
	switch {
	case strings.Contains(name, "no_instruction"):
		return "inst"
	case strings.Contains(name, "branch_resolving") && r >= R2025:
		return "branches"
	}
	return "warp"
}

// memoryUnit is for columns of the source view, which are no counters of the chip.
func memoryUnit(name string) (string, bool) {
	switch name {
	case "memory_access_size_type", "memory_access_type", "memory_type":
		return "", true
	}
	return "sectors", true
}

// derivedUnit is for what ncu computes of several counters.
func derivedUnit(name string, r Release) (string, bool) {
	switch {
	case strings.HasPrefix(name, "derived__sm__sass_thread_inst_executed_op_"),
		strings.HasPrefix(name, "derived__smsp__sass_thread_inst_executed_op_"):
		return "thread", true
	case strings.HasPrefix(name, "derived__l1tex__lsu_writeback_bytes_mem_lgds"):
		return pick(r, "byte", ""), true
	case strings.HasPrefix(name, "derived__memory_l1_"):
		return pick(r, "byte", ""), true
	case strings.HasPrefix(name, "derived__memory_l2_theoretical_sectors"):
		return pick(r, "byte", "sector"), true
	case name == "derived__pct_occupancy_per_block_size":
		return pick(r, "%/", "%"), true
	case name == "derived__pct_occupancy_per_barrier_count":
		return "", true
	}
	return "", false
}

// pick is the unit that a release writes; 2025 changed several.
func pick(r Release, before, since string) string {
	if r < R2025 {
		return before
	}
	return since
}

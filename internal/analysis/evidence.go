package analysis

// The counters that decide what limits a kernel: percentages of peak over the
// whole duration, unless they say otherwise. Where a release of ncu has another
// name for a value, the first that is there counts.
var (
	counterDRAM = []string{"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
		"dram__cycles_active.avg.pct_of_peak_sustained_elapsed"}
	counterL2 = []string{"lts__throughput.avg.pct_of_peak_sustained_elapsed", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed"}
	counterL1 = []string{"l1tex__throughput.avg.pct_of_peak_sustained_elapsed"}
	// Of active cycles, not of all: it can exceed 100 % of what is possible over
	// the duration and decides nothing by itself.
	counterL1Active = "l1tex__throughput.avg.pct_of_peak_sustained_active"
	// The busiest part of the memory system, in reports of --set basic.
	counterMemory = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"

	counterSM          = []string{"sm__throughput.avg.pct_of_peak_sustained_elapsed"}
	counterIssue       = []string{"sm__issue_active.avg.pct_of_peak_sustained_elapsed", "smsp__issue_active.avg.pct_of_peak_sustained_elapsed"}
	counterIssueActive = "smsp__issue_active.avg.pct_of_peak_sustained_active"
	counterOccupancy   = []string{"sm__warps_active.avg.pct_of_peak_sustained_active"}
	counterTheoretical = []string{"sm__maximum_warps_per_active_cycle_pct"}
	counterWaves       = []string{"launch__waves_per_multiprocessor"}
)

// A pipe of an SM with the counters that tell how busy it is.
type pipe struct {
	id string
	// counters by the order of preference: releases of ncu name the same value
	// differently.
	counters []string
}

// ofElapsed ends the names of counters that are a share of the peak, in percent, over all
// cycles.
const ofElapsed = ".avg.pct_of_peak_sustained_elapsed"

// pipes are the math pipes whose use ncu counts; the first counter that a report has decides.
var pipes = []pipe{
	{"tensor", []string{"sm__pipe_tensor_cycles_active" + ofElapsed, "sm__pipe_tensor_op_hmma_cycles_active" + ofElapsed,
		"sm__inst_executed_pipe_tensor" + ofElapsed, "sm__inst_executed_pipe_tensor_op_hmma" + ofElapsed}},
	{"tensor_int", []string{"sm__pipe_tensor_op_imma_cycles_active" + ofElapsed, "sm__inst_executed_pipe_tensor_op_imma" + ofElapsed}},
	{"tensor_fp64", []string{"sm__pipe_tensor_op_dmma_cycles_active" + ofElapsed, "sm__inst_executed_pipe_tensor_op_dmma" + ofElapsed}},
	{"fp32", []string{"sm__pipe_fma_cycles_active" + ofElapsed, "sm__inst_executed_pipe_fma" + ofElapsed}},
	{"fp64", []string{"sm__pipe_fp64_cycles_active" + ofElapsed, "sm__inst_executed_pipe_fp64" + ofElapsed}},
	{"fp16", []string{"sm__inst_executed_pipe_fp16" + ofElapsed}},
	{"fp16", []string{"sm__inst_executed_pipe_fma_type_fp16" + ofElapsed}},
	{"int", []string{"sm__pipe_alu_cycles_active" + ofElapsed, "sm__inst_executed_pipe_alu" + ofElapsed}},
	{"xu", []string{"sm__inst_executed_pipe_xu" + ofElapsed}},
}

// stallPrefix and stallSuffix stand around the reason in the names of stalls.
const (
	stallPrefix = "smsp__average_warps_issue_stalled_"
	stallSuffix = "_per_issue_active.ratio"
)

// stall is the reason that warps wait for most, other than for their turn.
func (l *launch) stall() (reason, counter string, share float64, ok bool) {
	all := l.stalls()
	if len(all) == 0 {
		return "", "", 0, false
	}
	return all[0].reason, all[0].counter, all[0].share, true
}

// An occupancyBound is a counter of how many blocks fit on an SM by one resource.
type occupancyBound struct{ name, resource string }

// occupancyLimits are the resources that bound the blocks on an SM. Registers and shared memory
// go before the size of the block where they are as scarce.
var occupancyLimits = []occupancyBound{
	{"launch__occupancy_limit_registers", "registers"},
	{"launch__occupancy_limit_shared_mem", "shared_memory"},
	{"launch__occupancy_limit_warps", "warps"},
	{"launch__occupancy_limit_blocks", "blocks"},
	{"launch__occupancy_limit_barriers", "barriers"},
}

// fewestBlocks is the scarcest of some resources; of equal ones the first.
func (l *launch) fewestBlocks(of []occupancyBound) (resource, counter string, blocks float64, ok bool) {
	for _, limit := range of {
		if v, have := l.value(limit.name); have && (!ok || v < blocks) {
			resource, counter, blocks, ok = limit.resource, limit.name, v, true
		}
	}
	return resource, counter, blocks, ok
}

// decisive are the counters shown beside a verdict where the report has no
// section that shows them.
var decisive = []string{
	"gpu__time_duration.sum", counterDRAM[0], counterL2[0], counterL1[0], counterSM[0],
	"sm__pipe_tensor_cycles_active" + ofElapsed, "sm__pipe_fma_cycles_active" + ofElapsed, "sm__pipe_fp64_cycles_active" + ofElapsed,
	"sm__pipe_alu_cycles_active" + ofElapsed, "sm__inst_executed_pipe_xu" + ofElapsed, counterIssueActive, counterOccupancy[0],
	counterTheoretical[0], counterWaves[0], "dram__bytes_read.sum", "dram__bytes_write.sum",
}

// detailNames are counters by the section and label that ncu's details page
// prints them under.
var detailNames = map[string]string{
	"GPU Speed Of Light Throughput/DRAM Throughput":         counterDRAM[0],
	"GPU Speed Of Light Throughput/L2 Cache Throughput":     counterL2[0],
	"GPU Speed Of Light Throughput/L1/TEX Cache Throughput": counterL1Active,
	"GPU Speed Of Light Throughput/Memory Throughput":       counterMemory,
	"GPU Speed Of Light Throughput/Compute (SM) Throughput": counterSM[0],
	"GPU Speed Of Light Throughput/Duration":                "gpu__time_duration.sum",
	"GPU Speed Of Light Throughput/SM Frequency":            "smsp__cycles_elapsed.avg.per_second",
	"GPU Speed Of Light Throughput/DRAM Frequency":          "dram__cycles_elapsed.avg.per_second",
	"Occupancy/Achieved Occupancy":                          counterOccupancy[0],
	"Occupancy/Theoretical Occupancy":                       counterTheoretical[0],
	"Occupancy/Block Limit Registers":                       "launch__occupancy_limit_registers",
	"Occupancy/Block Limit Shared Mem":                      "launch__occupancy_limit_shared_mem",
	"Occupancy/Block Limit Warps":                           "launch__occupancy_limit_warps",
	"Occupancy/Block Limit SM":                              "launch__occupancy_limit_blocks",
	"Occupancy/Block Limit Barriers":                        "launch__occupancy_limit_barriers",
	"Launch Statistics/Waves Per SM":                        counterWaves[0],
	"Launch Statistics/Registers Per Thread":                "launch__registers_per_thread",
	"Launch Statistics/# SMs":                               "launch__sm_count",
	"Scheduler Statistics/Issue Slots Busy":                 counterIssueActive,
	"Scheduler Statistics/One or More Eligible":             counterIssueActive,
	"Compute Workload Analysis/Issue Slots Busy":            counterIssueActive,
	"Memory Workload Analysis/Memory Throughput":            "dram__bytes.sum.per_second",
}

// fromDetails gives the values of a details page the names of their counters.
func (l *launch) fromDetails() {
	for i := range l.res.Metrics {
		m := &l.res.Metrics[i]
		if m.Section == "" {
			continue
		}
		name, known := detailNames[m.Section+"/"+m.Name]
		v, ok := m.Value.Float64()
		if _, have := l.values[name]; known && ok && finite(v) && !have {
			l.values[name] = v
		}
	}
}

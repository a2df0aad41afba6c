package metric

import (
	"slices"
	"strings"
)

// rule gives the class of the base names that contain one of the parts, or
// that start with it if the part starts with "^".
type rule struct {
	parts []string
	class class
}

// match: one of the parts is enough.
func (r rule) match(base string) bool {
	return slices.ContainsFunc(r.parts, func(p string) bool {
		if rest, ok := strings.CutPrefix(p, "^"); ok {
			return strings.HasPrefix(base, rest)
		}
		return strings.Contains(base, p)
	})
}

// The words of the table below: parts of a name, and the classes that they lead to. A unit is
// one of Unit's, or one; "" is a number that stays plain in its rates.
func parts(p ...string) []string   { return p }
func count(unit string) class      { return class{unit: unit} }
func cumulative(unit string) class { return class{unit: unit, cumulative: true} }
func ratioOf(unit string) class    { return class{kind: ratio, unit: unit} }
func percentOfPeak() class         { return class{kind: throughput} }

// rules hold for the base names of GV100 to GB202 as Nsight Compute 2025.3
// lists them. The order matters.
var rules = []rule{
	{parts("throughput"), percentOfPeak()},
	{parts("__time_"), count("ns")},
	{parts("bytes_per_sector"), ratioOf("byte/sector")},
	{parts("bytes_per_wavefront"), ratioOf("byte")},
	{parts("sectors_per_request"), ratioOf("sector")},
	{parts("^smsp__average_inst_executed", "warp_latency_issue_stalled", "average_warp_latency_issue"), ratioOf("inst/warp")},
	{parts("average_warps_issue_stalled"), ratioOf("inst")},
	{parts("average_warps_active_per_issue_active"), ratioOf("warp")},
	{parts("average_warp_latency", "average_cta_latency", "average_cta_user_latency", "average_warps_active_per_inst_executed"), ratioOf("cycle")},
	{parts("amortized_warp_latency"), ratioOf("cycle/warp")},
	{parts("inst_issued_per_issue_active"), ratioOf("inst/cycle")},
	{parts("registers_per_thread"), ratioOf("register/thread")},
	{parts("threads_launched_per_warp"), ratioOf("thread/warp")},
	{parts("bytes_per_cta"), ratioOf("byte/block")},
	{parts("type_arbitration"), count(one)},
	{parts("_per_", "_rate", "__average_", "__sass_average_", "_ratio"), ratioOf("")},
	{parts("^gcc__xbar2gcc_sectors", "^syslts__t_bytes", "^syslts__t_tag_requests", "^idc__requests", "cgas", "quanta"), count("")},
	{parts("^lts__t_tag_requests"), count("tag")},
	{parts("^fe__output_ops"), count("ops")},
	{parts("branch_targets"), count("branches")},
	{parts("^l1tex__tmain_requests", "__idc_divergent_instruction"), count("inst")},
	{parts("^l1tex__t_requests", "^l1tex__lsuin_requests", "^l1tex__texin_requests", "sass_l1tex_t_requests", "smsp__l1tex_lsuin_requests",
		"smsp__l1tex_tmain_requests", "l1tex_tags_mem"), count(one)},
	{parts("registers_allocated"), cumulative("register")},
	{parts("kilobytes", "bytes_allocated", "bytes_configured", "sram_bytes"), cumulative("byte")},
	{parts("mem_tensor_reads", "mem_tensor_writes"), count("byte")},
	{parts("__icc_requests", "__imc_requests", "__dcc_requests", "__gcc_requests", "__tex_requests", "set_conflicts",
		"^l1tex__f_wavefronts_realtime", "semreleases", "__issue_inst0", "__issue_inst1"), count("cycle")},
	{parts("set_accesses", "^l1tex__f_cycles_active"), count(one)},
	{parts("ctas_active"), cumulative("block")},
	{parts("warps_launched", "warps_restored"), count("warp")},
}

// words decide where no rule does: the first of them in the name counts.
var words = map[string]class{
	"sectors": count("sector"), "requests": count("request"), "inst": count("inst"), "cycles": count("cycle"),
	"bytes": count("byte"), "warps": cumulative("warp"), "ctas": count("block"), "time": count("ns"),
	"threads": count("thread"), "ops": count(""), "wavefronts": count(one), "conflicts": count(one),
	"active": count("cycle"), "elapsed": count("cycle"), "reads": count(one), "writes": count(one), "tag": count(one),
}

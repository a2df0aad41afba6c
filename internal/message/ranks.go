package message

import "github.com/deepprof/deepprof/internal/fact"

// rankWords are what is said of the ranks of a job: who is late, what they exchange, how well
// their clocks agree.
//
// rank, or process where a program has no ranks, and host name one of them; ns is a sum over
// matched collectives; meanwhile is what the rank did before, an ID or the name of a region,
// and meanwhile_ns for how much longer; uncertainty is that of the clocks.
var rankWords = map[fact.Code]words{
	// Doubts about ranks: they may not be of one job.
	"world-differs":      {Text: "the ranks disagree about how many there are: {least} to {most}: the job was changed between the captures, or they are of different jobs", Next: "capture all ranks of one job"},
	"rank-versions":      {Text: "the ranks were captured with different versions of nsys: {versions}"},
	"rank-program":       {Text: "[rank {rank}][process {process}][ on {host}] ran {program}, most ranks {most}: it has a row and is not compared with them"},
	"rank-twice":         {Text: "there are two timelines of [rank {rank}][process {process}][ on {host}]: {file} has a row and is not compared with the others", Next: "leave one out"},
	"clocks-apart":       {Text: "the clock of [rank {rank}][process {process}][ on {host}] is {ns} away from that of the first rank: its times were moved so that collectives end together", Next: "set the clocks of the hosts by NTP or PTP"},
	"ranks-not-together": {Text: "by their clocks the ranks did not run at the same time, and no collective tells how to align them: they are of different jobs, or a clock is wrong by more than the job took"},
	"no-time-base":       {Text: "a timeline has no time in UTC, and no collective tells how to align it: the clocks of the ranks are not brought together", Next: "export the report again with a newer nsys"},
	"exchanges-differ":   {Text: "{n:launch|launches} of collectives have no partner in every rank: the captures begin or end between them, or groups of ranks use their own communicators"},

	"clocks-aligned": {Text: "clocks: {method}[; ranks leave their collectives within {uncertainty} of each other (95 %), and nothing shorter is claimed]"},

	// What ranks and hosts differ in.
	"rank-missing": {
		Text:  "No timeline could be read of {n:rank|ranks} of {of}: {ranks}. Nothing is known of them, and they are in no sum.",
		Plain: "{n:process|processes} of {of} could not be measured. What is said here is about the others.",
	},
	"straggler": {
		Text: "[Rank {rank}][Process {process}][ on {host}] comes last to {n} of {of} collectives, by {mean} on average: the others wait {ns} for it in all, {share} of the time of the median rank." +
			"[ Before these it took {meanwhile_ns} longer than the others for {meanwhile}.] The clocks agree to {uncertainty}.",
		Plain: "One process holds the others up: they wait {ns} for it, {share} of the time.",
	},
	"rank-imbalance": {
		Text:  "The ranks have different amounts of work: kernels of [rank {rank}][process {process}][ on {host}], without communication, take {ns}, {share} more than those of the median rank ({median}); the least is {least}.",
		Plain: "The work is not spread evenly: one GPU has {share} more than the typical one.",
	},
	"rank-stage-imbalance": {
		Text:  "A pass of {stage} takes {ns} in [rank {rank}][process {process}][ on {host}], {share} more than in the median rank ({median}).",
		Plain: "{stage} takes {share} longer in one process than in the typical one.",
	},
	"waiting-for-ranks": {
		Text:  "{share} of the time in matched collectives is waiting for the last rank: {ns}, and {transfer} is transfer (summed over ranks; transfer is the shortest duration over the ranks). A faster link would not help with the waiting.",
		Plain: "{share} of the time that GPUs exchange data in, they wait for the slowest one.",
	},
	"rank-kernels": {
		Text:  "The ranks did not launch the same kernels: {n:kernel|kernels} ran in some of them alone, with the most time {kernel}, in {has} of {of}.",
		Plain: "The processes did not all do the same work.",
	},
}

// rankLabels are the kinds of exchanges between ranks, by the names of NCCL.
var rankLabels = map[string]map[string]string{
	"collective": {
		"all_reduce": "all-reduce", "all_gather": "all-gather", "reduce_scatter": "reduce-scatter", "all_to_all": "all-to-all", "broadcast": "broadcast",
		"reduce": "reduce", "send_recv": "send and receive", "barrier": "barrier", "other": "other",
	},
	"align": {
		"one": "all ranks are in one timeline", "collectives": "the time in UTC of each report, refined by matching collectives", "utc": "the time in UTC of each report alone", "none": "not aligned",
	},
}

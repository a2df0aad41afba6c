package analysis

import "github.com/deepprof/deepprof/internal/fact"

// A Job is what the ranks of a job tell together. Ranks are indexes into
// Result.Parts.
type Job struct {
	World   int   `json:"world,omitempty"`   // processes of the job; 0 where nothing tells
	Missing []int `json:"missing,omitempty"` // ranks without a timeline that could be read
	// Nodes sum up the ranks of each host; absent where there is one host only.
	Nodes []Node `json:"nodes,omitempty"`
	Clock Clock  `json:"clock"`
	// Collectives are the exchanges by kind, those with the most time first.
	Collectives []Collective `json:"collectives"`
	// Waits are how each rank waits for the others in the exchanges that were
	// matched between ranks; absent where none were.
	Waits []RankWait `json:"waits,omitempty"`
	// Matched is how many exchanges were found in all ranks, Unmatched how many
	// launches of the ranks have no partner; Why says why, where there are such.
	Matched   int        `json:"matched"`
	Unmatched int        `json:"unmatched,omitempty"`
	Why       *fact.Fact `json:"why,omitempty"`
}

// A Node is the ranks of one host.
type Node struct {
	Host   string `json:"host"`
	Ranks  []int  `json:"ranks"`   // indexes into Result.Parts
	WallNS int64  `json:"wall_ns"` // of its slowest rank
	BusyNS int64  `json:"busy_ns"` // summed over its ranks
	// KernelNS and Launches are summed over its ranks as well.
	KernelNS int64 `json:"kernel_ns"`
	Launches int64 `json:"launches"`
	// CommunicationNS and ExposedNS are summed over its ranks.
	CommunicationNS int64 `json:"communication_ns"`
	ExposedNS       int64 `json:"exposed_ns"`
	Slowest         int   `json:"slowest"` // part with the longest wall time
}

// A Clock is how the clocks of the ranks were brought together.
type Clock struct {
	// Method: "one", the ranks are in one timeline; "collectives", the time base in
	// UTC of each report, refined so that ranks leave collectives together; "utc",
	// the time base alone; "none", a report has no time base.
	Method string `json:"method"`
	// UncertaintyNS is how far the clocks of two ranks may still be apart: nothing
	// that is shorter is claimed. Absent where that is not known.
	UncertaintyNS *int64 `json:"uncertainty_ns,omitempty"`
	// Offsets are what was added to the times of each part in UTC, in the order of
	// Result.Parts; absent for method one.
	OffsetsNS []int64 `json:"offsets_ns,omitempty"`
}

// Text is how the clocks were brought together, as a fact.
func (c *Clock) Text() fact.Fact {
	params := []fact.Param{fact.ID("method", "align", c.Method)}
	if c.UncertaintyNS != nil {
		params = append(params, fact.NS("uncertainty", *c.UncertaintyNS))
	}
	return fact.New(clocksAligned, params...)
}

// A Collective sums up the exchanges of one kind over all ranks.
type Collective struct {
	Kind     string `json:"kind"`     // all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, send_recv, barrier, other
	Source   string `json:"source"`   // kernels, or ranges on the host
	Ranks    int    `json:"ranks"`    // that have any
	Launches int64  `json:"launches"` // summed over ranks
	NS       int64  `json:"ns"`       // union of intervals in each rank, summed over ranks
	// ExposedNS is the part of it in which no other kernel of that device ran;
	// absent for ranges.
	ExposedNS *int64 `json:"exposed_ns,omitempty"`
	// Of the matched ones, summed over ranks: TransferNS is the shortest duration
	// over the ranks for each, WaitNS the rest, waiting for the last rank.
	Matched    int   `json:"matched"`
	TransferNS int64 `json:"transfer_ns"`
	WaitNS     int64 `json:"wait_ns"`
	// Bytes is the mean size of a message, where the ranges of NCCL tell it, and
	// BusBandwidth what the links moved by the transfer time, in bytes per second,
	// by the usual factors (nccl-tests). Absent where sizes are not known.
	Bytes        *float64 `json:"bytes,omitempty"`
	BusBandwidth *float64 `json:"bus_bandwidth,omitempty"`
	// Sizes are the matched ones by the size of their message, those with the most
	// transfer first; SizesCut is how many sizes more there are.
	Sizes    []MessageSize `json:"sizes,omitempty"`
	SizesCut int           `json:"sizes_cut,omitempty"`
}

// A MessageSize is the matched exchanges of one kind with messages of one size.
type MessageSize struct {
	Bytes      int64 `json:"bytes"`
	Matched    int64 `json:"matched"`
	TransferNS int64 `json:"transfer_ns"` // summed over exchanges: the shortest duration over the ranks for each
	// BusBandwidth is in bytes per second, as in Collective; absent where the kind has
	// no factor.
	BusBandwidth *float64 `json:"bus_bandwidth,omitempty"`
}

// A RankWait is how one rank waits, and lets others wait.
type RankWait struct {
	Part int `json:"part"` // index into Result.Parts
	// TransferNS and WaitNS divide its time in matched exchanges, as in Collective.
	TransferNS int64 `json:"transfer_ns"`
	WaitNS     int64 `json:"wait_ns"`
	// Late counts the exchanges that this rank entered last, by more than the
	// uncertainty of the clocks; LateNS sums how much later than the median of the
	// others that was.
	Late   int   `json:"late"`
	LateNS int64 `json:"late_ns"`
	// Meanwhile is what it did longer than the median of the others before these,
	// since the exchange before, and by how much in all: categories of kernels,
	// causes of idle time, or regions of the host; the longest first.
	Meanwhile []TimePart `json:"meanwhile,omitempty"`
}

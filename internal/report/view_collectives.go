package report

import (
	"cmp"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/message"
)

// CollectiveView is the exchanges between ranks, by kind. Matched ones were found in every
// rank, which is what transfer, wait and bandwidth need; the other columns count all.
var CollectiveView = View[analysis.Collective]{
	Name: "ranks", Order: Order{Key: "ns", Descending: true},
	Legend: "times are summed over ranks; time is the union of the exchanges in each rank, and exposed the part of it in which no other kernel runs; of matched ones transfer is the shortest duration over the ranks, and wait the rest",
	Columns: []Column[analysis.Collective]{
		{Key: "kind", Title: "collective", Value: func(c *analysis.Collective) any { return c.Kind }, Show: func(c *analysis.Collective) any { return message.Label("collective", c.Kind) }},
		{Key: "source", Detail: true, Value: func(c *analysis.Collective) any { return c.Source }},
		{Key: "ranks", Priority: 5, Unit: Count, Value: func(c *analysis.Collective) any { return c.Ranks }},
		{Key: "launches", Priority: 4, Unit: Count, Value: func(c *analysis.Collective) any { return c.Launches }},
		{Key: "ns", Title: "time", Unit: Nanoseconds, Group: "time", Value: func(c *analysis.Collective) any { return c.NS }},
		{Key: "exposed_ns", Title: "exposed", Priority: 1, Unit: Nanoseconds, Group: "time", Value: func(c *analysis.Collective) any { return c.ExposedNS }},
		{Key: "matched", Priority: 3, Unit: Count, Value: func(c *analysis.Collective) any { return c.Matched }},
		{Key: "transfer_ns", Title: "transfer", Priority: 2, Unit: Nanoseconds, Group: "time", Value: func(c *analysis.Collective) any { return c.TransferNS }},
		{Key: "wait_ns", Title: "wait", Priority: 2, Unit: Nanoseconds, Group: "time", Value: func(c *analysis.Collective) any { return c.WaitNS }},
		{Key: "bytes", Title: "message", Priority: 6, Unit: Bytes, Value: func(c *analysis.Collective) any { return c.Bytes }},
		{Key: "bus_bandwidth", Title: "bus GB/s", Priority: 6, Unit: Count, Value: func(c *analysis.Collective) any { return c.BusBandwidth }, Show: func(c *analysis.Collective) any { return scaled(c.BusBandwidth, 1e-9) }},
	},
}

// Collectives shows the exchanges between ranks.
func Collectives(r *analysis.Result) Printable {
	return CollectiveView.Table(jobOf(r).Collectives, rankNotes(r)...)
}

// jobOf is what ranks exchange; empty for a result of one timeline.
func jobOf(r *analysis.Result) *analysis.Job { return cmp.Or(r.Job, &analysis.Job{}) }

// acrossOf is what is summed up over timelines; empty for a result of one.
func acrossOf(r *analysis.Result) *analysis.Across { return cmp.Or(r.Across, &analysis.Across{}) }

// servingOf is what is known of a server; empty for other programs.
func servingOf(r *analysis.Result) *analysis.Serving { return cmp.Or(r.Serving, &analysis.Serving{}) }

// A messageRow is the matched exchanges of one kind with messages of one size.
type messageRow struct {
	// Kind is a code, such as all_reduce; message has its words.
	Kind string `json:"kind"`
	analysis.MessageSize
}

// MessageView is the exchanges between ranks, by kind and size.
var MessageView = View[messageRow]{
	Name: "ranks", Order: Order{Words: "collective, then transfer"},
	Legend: "transfer is the shortest duration over the ranks, summed over the matched exchanges; bus bandwidth is what the links moved in it, by the factors of nccl-tests",
	Columns: []Column[messageRow]{
		{Key: "kind", Title: "collective", Value: func(m *messageRow) any { return m.Kind }, Show: func(m *messageRow) any { return message.Label("collective", m.Kind) }},
		{Key: "bytes", Title: "message", Unit: Bytes, Value: func(m *messageRow) any { return m.Bytes }},
		{Key: "matched", Unit: Count, Value: func(m *messageRow) any { return m.Matched }},
		{Key: "transfer_ns", Title: "transfer", Unit: Nanoseconds, Group: "time", Value: func(m *messageRow) any { return m.TransferNS }},
		{Key: "bus_bandwidth", Title: "bus GB/s", Unit: Count, Value: func(m *messageRow) any { return m.BusBandwidth }, Show: func(m *messageRow) any { return scaled(m.BusBandwidth, 1e-9) }},
	},
}

// messageRows are in the order of the collectives; cut is how many sizes the result left
// out.
func messageRows(r *analysis.Result) (rows []messageRow, cut int) {
	for _, c := range jobOf(r).Collectives {
		for _, s := range c.Sizes {
			rows = append(rows, messageRow{c.Kind, s})
		}
	}
	return rows, jobOf(r).SizesCut()
}

// Messages shows the exchanges between ranks by the size of their messages.
func Messages(r *analysis.Result) Printable {
	rows, cut := messageRows(r)
	notes := rankNotes(r)
	if cut > 0 {
		notes = append(notes, message.Phrase("collective-sizes-left-out", cut))
	}
	if len(rows) == 0 && jobOf(r).Matched > 0 {
		notes = append(notes, message.Phrase("collective-sizes-absent"))
	}
	return MessageView.Table(rows, notes...)
}

// A nodeRow is the ranks of one host.
type nodeRow struct {
	analysis.Node
	// SlowestPart names the rank with the longest wall time.
	SlowestPart string `json:"slowest_part"`
}

// NodeView is the ranks of each host.
var NodeView = View[nodeRow]{
	Name: "ranks", Order: Order{Words: "first rank"}, Legend: "wall time is that of the slowest rank of the host; other numbers are summed over its ranks",
	Columns: []Column[nodeRow]{
		{Key: "host", Value: func(n *nodeRow) any { return n.Host }},
		{Key: "ranks", Unit: Count, Value: func(n *nodeRow) any { return len(n.Ranks) }},
		{Key: "wall_ns", Unit: Nanoseconds, Group: "time", Value: func(n *nodeRow) any { return n.WallNS }},
		{Key: "slowest_part", Title: "slowest", Priority: 2, Value: func(n *nodeRow) any { return n.SlowestPart }},
		{Key: "gpu_busy_ns", Title: "GPU busy", Unit: Nanoseconds, Group: "time", Value: func(n *nodeRow) any { return n.BusyNS }},
		{Key: "kernel_ns", Title: "GPU time", Priority: 3, Unit: Nanoseconds, Group: "time", Value: func(n *nodeRow) any { return n.KernelNS }},
		{Key: "launches", Priority: 4, Unit: Count, Value: func(n *nodeRow) any { return n.Launches }},
		{Key: "communication_ns", Title: "communication", Priority: 1, Unit: Nanoseconds, Group: "time", Value: func(n *nodeRow) any { return n.CommunicationNS }},
		{Key: "exposed_ns", Title: "exposed", Priority: 1, Unit: Nanoseconds, Group: "time", Value: func(n *nodeRow) any { return n.ExposedNS }},
	},
}

// nodeRows has a row a host, in the order of the result.
func nodeRows(r *analysis.Result) []nodeRow {
	return each(jobOf(r).Nodes, func(n *analysis.Node) nodeRow { return nodeRow{*n, partName(r, n.Slowest)} })
}

// Nodes shows the ranks of each host; nothing where there is one host.
func Nodes(r *analysis.Result) Printable { return NodeView.Table(nodeRows(r), rankNotes(r)...) }

// clockNotes say how the clocks of ranks were brought together, and what was
// matched between them.
func clockNotes(r *analysis.Result) []string {
	notes := []string{message.Text(r.Job.Clock.Text())}
	if r.Job.Why != nil {
		notes = append(notes, message.Text(*r.Job.Why))
	}
	return notes
}

package timeline

// A MetricSample is one value of a metric that Nsight Systems sampled on a GPU.
// Time is in ns on the clock of the capture.
type MetricSample struct {
	Time   int64
	Source int64  // number of what was sampled: each GPU has its own
	Metric string // as Nsight Systems names it, with its unit in brackets
	// Value is as recorded. Clock frequencies are in Hz, whatever the name says.
	Value float64
}

// Package nvtx owns the NVTX filter expressions of Nsight Compute: their
// grammar, which launches they select, and how what a person writes becomes
// the values of --nvtx-include and --nvtx-exclude.
//
// An expression selects a launch by the NVTX ranges open at that moment:
//
//	decode/            push/pop range "decode", anywhere in the stack
//	prefill/attention  "attention" directly inside "prefill"
//	prefill/*/gemm     "gemm" anywhere inside "prefill"
//	prefill/+/gemm     exactly one range between the two
//	[step              "step" is the outermost range of the stack
//	step]              "step" is the innermost range of the stack
//	load,compute       start/end ranges "load" and "compute", both open
//	LLM@step/          the same forms in the domain "LLM"
//	regex:dec.*/       names and domain are regular expressions
//
// One thing differs from Nsight Compute on purpose: there, a bare "decode"
// means a start/end range and selects nothing of a push/pop range of that
// name. Here it means either, and Resolve finds out which.
package nvtx

// A Range is a named range within its domain.
type Range struct {
	Name   string
	Domain string // "" is the default domain
}

func (r Range) String() string {
	if r.Domain == "" {
		return r.Name
	}
	return r.Domain + "@" + r.Name
}

// A State is what is open at one moment, usually that of a kernel launch.
type State struct {
	// Stacks holds the push/pop ranges of the launching thread: one stack per
	// domain, outermost range first. All ranges of a stack share its domain.
	Stacks [][]Range
	// Open holds the start/end ranges of the process, in any order.
	Open []Range
}

// A Style is the way ranges are opened and closed.
type Style int

const (
	Either   Style = iota // a bare name: push/pop or start/end
	PushPop               // nested on one thread
	StartEnd              // process-wide, may overlap
)

func (s Style) String() string {
	return [...]string{"push/pop or start/end", "push/pop", "start/end"}[s]
}

// DefaultDomain is how Nsight Compute spells the domain of ranges that name none.
const DefaultDomain = "<default domain>"

// domainName maps the spelling of the default domain to "".
func domainName(name string) string {
	if name == DefaultDomain {
		return ""
	}
	return name
}

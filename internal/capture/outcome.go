package capture

import (
	"fmt"
	"strings"

	"github.com/deepprof/deepprof/internal/tool"
)

// An Outcome is the verdict on one run.
type Outcome struct {
	Kind     Kind   `json:"kind"`
	What     string `json:"what"`               // what happened, as a sentence
	Evidence string `json:"evidence,omitempty"` // the line that decided
	Cause    string `json:"cause,omitempty"`    // the likely one
	Next     string `json:"next,omitempty"`     // what to do now
	Pattern  string `json:"pattern,omitempty"`  // id of the message that decided

	// Retryable: the failure passes by itself, and running again does no harm.
	Retryable bool `json:"retryable,omitempty"`
	// Usable: Reports can be analysed.
	Usable bool `json:"usable"`

	Warnings []Warning `json:"warnings,omitempty"`
	Reports  []string  `json:"reports,omitempty"` // good ones
	Streams  []string  `json:"streams,omitempty"` // .qdstrm that can be imported
	Stale    []string  `json:"stale,omitempty"`   // files of an earlier run at the path asked for

	lacks bool // the report lacks something that was asked for, whatever the verdict

	// unfollowed: what is missing was probably done by forked children, which
	// the profiler was not told to follow.
	unfollowed bool
}

// A Warning rides on an outcome.
type Warning struct {
	ID    string `json:"id"` // of the pattern, or a word for what the engine noticed
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"`
	Scope string `json:"scope,omitempty"` // what it is about; "" is the whole capture
}

// OK reports whether the run did what was asked: a good report, complete.
func (o Outcome) OK() bool { return o.Kind == Captured || o.Kind == WithWarnings }

// CutShort reports whether the workload did not run to its end, so that what it
// would have done is missing, however good the report is.
func (o Outcome) CutShort() bool { return CutShort(o.Kind) }

// CutShort is Outcome.CutShort for a kind that was stored.
func CutShort(k Kind) bool { return k == WorkloadFailed || k == WorkloadCrashed || k == DiskFull }

// String is one line: the verdict, what happened and the evidence. Of an
// interrupted one what happened is the verdict.
func (o Outcome) String() string {
	var b strings.Builder
	if o.Kind != Interrupted || o.What == "" {
		fmt.Fprintf(&b, "%s: ", o.Kind)
	}
	b.WriteString(o.What)
	if o.Evidence != "" {
		fmt.Fprintf(&b, " (%s)", o.Evidence)
	}
	return b.String()
}

// Explain is the verdict in full, a line for each part.
func (o Outcome) Explain() string {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, text)
		}
	}
	line("outcome", string(o.Kind))
	line("what", o.What)
	line("evidence", o.Evidence)
	line("cause", o.Cause)
	line("next", o.Next)
	for _, w := range o.Warnings {
		line("warning", w.Text)
		line("", w.Next)
	}
	return b.String()
}

// quote makes what a program has printed fit to be stored and shown.
func (o *Outcome) quote() {
	o.What, o.Evidence = tool.Quote(o.What), tool.Quote(o.Evidence)
	for i := range o.Warnings {
		o.Warnings[i].Text = tool.Quote(o.Warnings[i].Text)
	}
}

// verdict fills an outcome from a kind and the finding that led to it, if any.
func (o *Outcome) verdict(k Kind, f *Finding) {
	o.Kind = k
	o.Cause, o.Next = advice[k].cause, advice[k].next
	if f == nil {
		return
	}
	o.Pattern, o.Evidence = f.ID, f.Line
	o.Retryable = f.Retry
	if f.Cause != "" {
		o.Cause = f.Cause
	}
	if f.Next != "" {
		o.Next = f.Next
	}
}

// Verdict is an outcome of a kind, with the advice of the kind.
func Verdict(k Kind, what string) Outcome {
	o := Outcome{What: tool.Quote(what)}
	o.verdict(k, nil)
	return o
}

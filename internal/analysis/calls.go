package analysis

import (
	"slices"

	"github.com/deepprof/deepprof/internal/timeline"
)

// cause says why no kernel ran.
type cause uint8

// The causes of idle time. docs/analysis.md has the rule that chooses one.
const (
	causeLaunch cause = iota // a launch call, or work that was launched and has not begun
	causeGraph               // between two nodes of one launch of a CUDA graph
	causePython              // the launching thread was between two CUDA calls
	causeHost                // the same, for a long stretch
	causeCall                // another CUDA call: loading of code, queries, events
	causeSync                // waiting in a synchronizing call
	causeCopy                // copies ran, or were being asked for
	causeAlloc               // allocation or release of memory
	causeOthers              // work of other regions ran; in the split of a region or a stage alone
	causeNone                // no launch was under way
	causes
)

var causeIDs = [causes]string{
	causeLaunch: "launch",
	causeGraph:  "graph",
	causePython: "python",
	causeHost:   "host",
	causeCall:   "call",
	causeSync:   "sync",
	causeCopy:   "copy",
	causeAlloc:  "alloc",
	causeOthers: "others",
	causeNone:   "none",
}

// callCause tells by its name what a CUDA call is for.
func callCause(name string) cause {
	return cause(slices.Index(causeIDs[:], timeline.CallCause(name)))
}

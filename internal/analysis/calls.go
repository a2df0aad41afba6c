package analysis

import "strings"

// cause says why no kernel ran.
type cause uint8

// The causes of idle time. docs/analysis.md has the rule that chooses one.
const (
	causeLaunch cause = iota // a launch call, or work that was launched and has not begun
	causeGraph               // between two nodes of one launch of a CUDA graph
	causePython              // the launching thread was between two CUDA calls
	causeHost                // the same, for a long stretch
	causeCall                // another CUDA call: loading of code, queries, events
	causeSync                // waiting in a synchronising call
	causeCopy                // copies ran, or were being asked for
	causeAlloc               // allocation or release of memory
	causeOthers              // work of other regions ran; in the split of a region or a stage alone
	causeNone                // no launch was under way
	causes
)

var causeParts = [causes]TimePart{
	causeLaunch: {ID: "launch", Label: "Launch calls and latency"},
	causeGraph:  {ID: "graph", Label: "Between nodes of a CUDA graph"},
	causePython: {ID: "python", Label: "Host code between CUDA calls"},
	causeHost:   {ID: "host", Label: "Long host stretches without a CUDA call"},
	causeCall:   {ID: "call", Label: "Other CUDA calls"},
	causeSync:   {ID: "sync", Label: "Waiting in synchronisation"},
	causeCopy:   {ID: "copy", Label: "Memory copies and sets"},
	causeAlloc:  {ID: "alloc", Label: "Allocation"},
	causeOthers: {ID: "others", Label: "Work of other regions"},
	causeNone:   {ID: "none", Label: "Nothing to do"},
}

// callCause tells by its name what a CUDA call is for. Names end in a version
// such as _v7000 or _ptsz.
func callCause(name string) cause {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "cuda"), "cu")
	for _, c := range []struct {
		cause cause
		words []string
	}{
		{causeSync, []string{"Synchronize", "StreamWaitValue", "EventQuery", "StreamQuery"}},
		{causeAlloc, []string{"Malloc", "Free", "MemAlloc", "HostAlloc", "HostRegister", "HostUnregister", "MemCreate", "MemMap", "MemUnmap",
			"MemRelease", "MemAddressReserve", "MemAddressFree", "MemSetAccess", "MemHostAlloc", "MemPool", "ArrayCreate", "ArrayDestroy", "MemRetainAllocationHandle"}},
		{causeCopy, []string{"Memcpy", "Memset", "MemPrefetch"}},
		{causeLaunch, []string{"Launch"}},
	} {
		for _, w := range c.words {
			if strings.Contains(name, w) {
				return c.cause
			}
		}
	}
	return causeCall
}

package pick

import (
	"time"

	"github.com/deepprof/deepprof/internal/tool"
)

// A Policy says which launches are worth counting. The zero Policy takes every
// group of launches of the whole program except collectives.
type Policy struct {
	// Include and Exclude are NVTX expressions as a person writes them. A launch
	// counts if any include and no exclude selects it; no include selects all.
	Include, Exclude []string
	// MainRegions: without an include, launches outside the main regions of the
	// program (timeline.MainRegions) are not worth counting. ncu sees them still, so
	// that numbers of launches go by all of them.
	MainRegions bool
	// KernelInclude and KernelExclude are names, or regex:...; exclude goes
	// first. KernelBase limits them to one form of the name (function, demangled
	// or mangled); "" compares with each form.
	KernelInclude, KernelExclude []string
	KernelBase                   string
	KernelKey                    string // what messages call KernelInclude; "" is kernel_include

	TopN int // groups at most; 0 is no limit
	// share of the GPU time that can be chosen which is enough, of everything and of each include; 0 is all of it
	Coverage float64
	Budget   time.Duration // predicted time of all ncu processes together; 0 is no limit

	// Alike is the share of what is counted, of everything and of each include,
	// for which a launch of about the same duration is counted; for the rest what
	// adds up is scaled by time. 0 counts no launch for it.
	Alike float64

	Slowest     bool // also the slowest launch of each group
	Collectives bool // also kernels that wait for a peer

	Collect Collect
	// Program is how long the program runs alone; 0 takes the length of the
	// timeline. ProgramSource says where the number comes from.
	Program       time.Duration
	ProgramSource string

	// BriefStart says that the program does little before its regions when it runs
	// under ncu, whatever the timeline shows there.
	BriefStart bool

	// Gates says that gates at ranges of the program can be opened and closed while
	// ncu runs it.
	Gates bool

	// Partial says that the timeline shows only part of the program, so that
	// launches cannot be numbered from its start.
	Partial bool
	// Served says that the program is a server: its launches come in another order
	// in each start, so that skipping some of them only takes time.
	Served bool
	// Client says that a client makes the server compute the steps that Serving asks
	// for, and that ncu goes by the names of steps (Include).
	Client bool
	// RootOnly says that ncu counts the program that it starts and none of its
	// children.
	RootOnly bool
	// Version is that of ncu; zero is the newest.
	Version tool.Version
	// MaxFilter bounds one kernel filter in bytes; 0 is ncu.MaxFilter.
	MaxFilter int
}

// Collect is what ncu is told to collect of each launch.
type Collect struct {
	Set      string   `json:"set,omitempty"`
	Sections []string `json:"sections,omitempty"`
	Metrics  []string `json:"metrics,omitempty"`
}

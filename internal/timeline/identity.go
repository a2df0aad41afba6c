package timeline

import (
	"cmp"
	"regexp"
	"strconv"
)

// An Identity tells a timeline, or a report of counters, from the others of its
// run. Fields that are not known are absent.
type Identity struct {
	Rank  *int `json:"rank,omitempty"`  // of the process in its job, from 0
	Local *int `json:"local,omitempty"` // of the process on its host, from 0
	World int  `json:"world,omitempty"` // processes of the job
	// Host is the node that it ran on, by the name that the scheduler or the
	// system gives it.
	Host    string `json:"host,omitempty"`
	Process int    `json:"process,omitempty"` // pid
	Device  *int   `json:"device,omitempty"`  // where it used one GPU only
	Window  int    `json:"window,omitempty"`  // of its process, from 1
	Repeat  int    `json:"repeat,omitempty"`  // of the same program, from 1
}

// IsZero reports whether nothing is known.
func (id Identity) IsZero() bool { return id == Identity{} }

// Or takes from another source what this one does not tell.
// Pointers are shared with both.
func (id Identity) Or(other Identity) Identity {
	return Identity{
		Rank: cmp.Or(id.Rank, other.Rank), Local: cmp.Or(id.Local, other.Local), World: cmp.Or(id.World, other.World),
		Host: cmp.Or(id.Host, other.Host), Process: cmp.Or(id.Process, other.Process), Device: cmp.Or(id.Device, other.Device),
		Window: cmp.Or(id.Window, other.Window), Repeat: cmp.Or(id.Repeat, other.Repeat),
	}
}

// Compare orders by rank, window and repeat; those without a rank come last.
func (id Identity) Compare(other Identity) int {
	return cmp.Or(comparePlaces(id.Rank, other.Rank), cmp.Compare(id.Window, other.Window), cmp.Compare(id.Repeat, other.Repeat))
}

func comparePlaces(x, y *int) int {
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return 1
	case y == nil:
		return -1
	}
	return cmp.Compare(*x, *y)
}

// A rankVariables row names the variables by which a launcher tells a process
// its place.
type rankVariables struct{ rank, local, world string }

// launcherVariables are those of torchrun, Open MPI, MPICH and Slurm. Earlier
// rows go first: a job step of Slurm may hold the ranks of another launcher,
// which then all have the variables of the one step.
var launcherVariables = []rankVariables{
	{"RANK", "LOCAL_RANK", "WORLD_SIZE"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
	{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
}

// nodeVariable names the node under Slurm, which may run several on one host.
const nodeVariable = "SLURMD_NODENAME"

// IsRankVariable tells the variables that IdentityOf reads.
func IsRankVariable(name string) bool {
	for _, v := range launcherVariables {
		if name == v.rank || name == v.local || name == v.world {
			return true
		}
	}
	return name == nodeVariable
}

// identityOf is the place of a process by the variables that its launcher set.
// variable gives "" for one that is not set. The first launcher whose rank is set tells all
// three numbers.
func identityOf(variable func(name string) string) Identity {
	id := Identity{Host: variable(nodeVariable)}
	for _, v := range launcherVariables {
		if id.Rank = place(variable(v.rank)); id.Rank != nil {
			id.Local = place(variable(v.local))
			if world := place(variable(v.world)); world != nil {
				id.World = *world
			}
			break
		}
	}
	return id
}

// place is a number from 0 to 16,777,216; nil for any other text.
func place(text string) *int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<24 {
		return nil
	}
	return &n
}

var (
	ownName    = regexp.MustCompile(`^(?:rank|run\.)(\d+)\.([^.]*[A-Za-z][^.]*)(?:\.(\d+))?$`)
	rankInName = regexp.MustCompile(`(?i)(?:^|[^a-z])rank[-_=.]?(\d+)`)
)

// IdentityOfName reads what the base name of a file tells, without its endings:
// "run.3.node1" as a run names its ranks, "rank3.node1", or any name with "rank3"
// in it. Bare numbers tell nothing: they
// may count ranks as well as windows.
// A third part is the window: 2 in "run.3.node1.2".
func IdentityOfName(base string) Identity {
	if m := ownName.FindStringSubmatch(base); m != nil {
		id := Identity{Rank: place(m[1]), Host: m[2]}
		id.Window, _ = strconv.Atoi(m[3])
		return id
	}
	if m := rankInName.FindStringSubmatch(base); m != nil {
		return Identity{Rank: place(m[1])}
	}
	return Identity{}
}

// trailingNumber is the number at the end of a name: 3 for report.3 and
// report_3.
var trailingNumber = regexp.MustCompile(`[._-](\d+)$`)

// NumberInName is the number at the end of the base name of a file, which counts
// ranks, windows or repeats.
func NumberInName(base string) (int, bool) {
	m := trailingNumber.FindStringSubmatch(base)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// Identity is what the timeline tells of itself: the variables of its launcher
// where the file still has them, its host, and the process and the device where
// there is one only that used a GPU.
// In a program without any, the process is that of its ranges. The tape is that of t.
func (t *Timeline) Identity(tape *Tape) Identity {
	id := identityOf(func(name string) string {
		for _, p := range t.Launcher {
			if p.Name == name {
				return p.Value
			}
		}
		return ""
	})
	if id.Host == "" {
		for _, p := range t.System {
			if p.Name == "Hostname" {
				id.Host = p.Value
			}
		}
	}
	used := map[uint32]bool{}
	devices := map[int32]bool{}
	for i := range tape.Kinds {
		q := &t.Queues[tape.Kinds[i].Queue]
		used[q.Process], devices[q.Device] = true, true
	}
	if len(used) == 0 { // a program of the CPU
		ranges := tape.Ranges()
		for i := range uint32(tape.RangeLen()) {
			used[t.ThreadProcess(ranges.Thread(i))] = true
		}
	}
	for p := range used {
		if len(used) == 1 && int(p) < len(t.Processes) {
			id.Process = t.Processes[p].PID
		}
	}
	for d := range devices {
		if len(devices) == 1 {
			id.Device = new(int(d))
		}
	}
	return id
}

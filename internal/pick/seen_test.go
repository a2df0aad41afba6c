package pick

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/cxx"
	"github.com/deepprof/deepprof/internal/timeline"
)

// A case of what ncu 2025.3.1 counted on an H200 of scripts/validate/configs.cu.
type seenCase struct {
	name    string
	targets Targets
	run     Run
	fork    bool
	counted []string // in the order of the report
}

// TestAsSeen holds the two models of ncu, the one that plans and the one that
// checks plans, against what ncu counted under each kind of filter.
func TestAsSeen(t *testing.T) {
	cases := readSeen(t)
	if len(cases) != 9 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			l := configsProgram(test.fork)
			if got := rowsOf(l, interpret(t, l.t, &test.targets, &test.run)); !slices.Equal(got, test.counted) {
				t.Errorf("the interpreter counts\n%s\nncu counted\n%s", strings.Join(got, "\n"), strings.Join(test.counted, "\n"))
			}
			if got := rowsOf(l, foreseen(t, l, &test)); !slices.Equal(got, test.counted) {
				t.Errorf("the planner foresees\n%s\nncu counted\n%s", strings.Join(got, "\n"), strings.Join(test.counted, "\n"))
			}
		})
	}
}

// foreseen asks the planner what a run counts.
func foreseen(t *testing.T, l *Launches, test *seenCase) []int {
	t.Helper()
	filter, err := spelledFilter(test.targets.Include, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := newChoice(l, Policy{}, filter)
	c.pass()
	base := cmp.Or(test.run.KernelNameBase, baseFunction)
	names, numbers := test.run.KernelName, ""
	if id := strings.TrimPrefix(test.run.KernelID, "::"); id != "" {
		cut := strings.LastIndex(id, ":")
		names, numbers = id[:cut], id[cut+1:]
	}
	expr := regexp.MustCompile(strings.TrimPrefix(names, "regex:"))
	named := map[string]bool{}
	for i := range l.names {
		if name := l.names[i].in(base); expr.MatchString(name) {
			named[name] = true
		}
	}
	var taken []int
	if numbers != "" {
		var list []int
		for n := range 100 {
			if regexp.MustCompile(numbers).MatchString(strconv.Itoa(n)) {
				list = append(list, n)
			}
		}
		taken = c.numbersOf(base, named).launches(list)
	} else {
		c.sort(&selection{&patterns{}, &patterns{}})
		taken = c.windows(nil, base, named).take(test.run.LaunchSkip, test.run.LaunchCount)
	}
	var ids []int
	for _, i := range taken {
		ids = append(ids, l.kernel(i)+1)
	}
	return ids
}

// rowsOf words launches as the fixture is worded; processes count from 0 in the
// order in which they appear.
func rowsOf(l *Launches, ids []int) []string {
	var out []string
	var pids []int
	for _, id := range ids {
		k := &l.t.Kernels[id-1]
		c, q := &l.t.Configs[k.Config], &l.t.Queues[k.Queue]
		out = append(out, seenRow(&pids, int(q.Process), cxx.Short(l.t.Name(l.t.Functions[k.Function].Demangled)), sizes(c.Grid), sizes(c.Block), strconv.Itoa(int(q.Stream)), l.at.Path(l.at.KernelNode(id-1))))
	}
	return out
}

func seenRow(pids *[]int, pid int, fields ...string) string {
	if !slices.Contains(*pids, pid) {
		*pids = append(*pids, pid)
	}
	return fmt.Sprint(slices.Index(*pids, pid), " ", strings.Join(fields, " "))
}

func sizes(d [3]int32) string { return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2]) }

// readSeen reads the fixture: for each case the arguments of ncu and the table
// of what it counted.
func readSeen(t *testing.T) []seenCase {
	t.Helper()
	text, err := os.ReadFile("testdata/configs.ncu-2025.3.1.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []seenCase
	for _, block := range strings.Split(string(text), "== ")[1:] {
		head, table, _ := strings.Cut(block, "\n")
		name, args, _ := strings.Cut(head, ": ")
		out = append(out, seenCase{name: name})
		test := &out[len(out)-1]
		readArgs(t, test, strings.Fields(args))
		rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
		if err != nil || len(rows) < 2 {
			t.Fatalf("%s: %d rows: %v", name, len(rows), err)
		}
		column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
		var pids []int
		for _, row := range rows[1:] {
			pid, err := strconv.Atoi(column(row, "process"))
			if err != nil {
				t.Fatal(err)
			}
			test.counted = append(test.counted, seenRow(&pids, pid, column(row, "short_name"), column(row, "grid"), column(row, "block"), column(row, "stream"), column(row, "nvtx")))
		}
	}
	return out
}

func readArgs(t *testing.T, test *seenCase, args []string) {
	t.Helper()
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		value := args[1]
		switch args[0] {
		case "--nvtx-include":
			test.targets.Include = append(test.targets.Include, value)
		case "--filter-mode":
			test.run.FilterMode = value
		case "--launch-skip":
			test.run.LaunchSkip, _ = strconv.Atoi(value)
		case "--launch-count":
			test.run.LaunchCount, _ = strconv.Atoi(value)
		case "--kernel-name-base":
			test.run.KernelNameBase = value
		case "--kernel-name":
			test.run.KernelName = value
		case "--kernel-id":
			test.run.KernelID = value
		case "--target-processes":
		default:
			t.Fatalf("%s: %s", test.name, args[0])
		}
		args = args[2:]
	}
	test.fork = slices.Contains(args, "fork")
}

// configsProgram is the timeline of scripts/validate/configs.cu: one process,
// or two of them, of which the first is ahead.
func configsProgram(fork bool) *Launches {
	b := newBuilder()
	ew := func(k string) uint32 {
		return b.function("_Z2ewILi"+k+"EEvPfi", "void ew<(int)"+k+">(float *, int)", "ew")
	}
	lone := b.function("_Z4lonePfi", "lone(float *, int)", "lone")
	size := func(grid, block, shared int32) uint32 {
		return b.config([3]int32{grid, 1, 1}, [3]int32{block, 1, 1}, shared)
	}
	work := func(pid int) {
		thread := b.process(pid, 1)
		process := b.t.Threads[thread].Process
		s := [2]uint32{b.queue(process, 0, 13), b.queue(process, 0, 14)}
		plain := b.queue(process, 0, 7)
		b.launch(thread, plain, ew("1"), size(4096, 256, 0), 5000)
		done := b.push(thread, "decode")
		for i := range int32(6) {
			b.launch(thread, s[i&1], ew("1"), size(4096, 256, 0), 5000)
			b.launch(thread, s[0], ew("2"), size(4096, 256, 0), 5000)
			b.launch(thread, s[1], ew("2"), size(4096, 256, 1024*(i&1)), 5000)
			b.launch(thread, s[0], ew("3"), size(2048, 512, 0), 5000)
			b.launch(thread, plain, lone, size(4096, 256, 0), 5000)
		}
		done()
		done = b.push(thread, "replay")
		for range 4 {
			b.replay(thread, s[0], size(64, 256, 0), ew("1"), ew("2"), lone)
		}
		done()
	}
	if work(100); fork {
		work(101)
	}
	return b.load()
}

// replay launches a CUDA graph whose nodes are kernels, one after the other.
func (b *builder) replay(thread, queue, config uint32, functions ...uint32) {
	b.now += 100
	b.ids++
	b.t.Calls.Add(timeline.Call{Start: b.now, End: b.now + 10, Correlation: b.ids, Thread: thread})
	for i, f := range functions {
		start := b.now + 50 + int64(i)*3000
		b.t.Kernels = append(b.t.Kernels, timeline.Kernel{Start: start, End: start + 2500, Correlation: b.ids, Function: f, Config: config, Queue: queue, GraphNode: 1<<32 + int64(i) + 1})
	}
}

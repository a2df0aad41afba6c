package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// used is what a process must not gather over many runs.
type used struct {
	goroutines, files, temporary int
	heap                         uint64 // bytes in use after a collection
}

func usedNow(t *testing.T, temp string) used {
	t.Helper()
	runtime.GC()
	runtime.GC() // finalizers of the first close files
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	return used{runtime.NumGoroutine(), len(open), len(left), m.HeapAlloc}
}

// several does a thing for 0 to n-1, so many at a time.
func several(workers, n int, do func(int)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, workers)
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			do(i)
			<-slots
		})
	}
	all.Wait()
}

// recordSession makes a recording of a session on the CPU, by the stand-in for
// Python.
func recordSession(t *testing.T) string {
	t.Helper()
	for _, v := range tortured(t) {
		if v.name != "session" {
			continue
		}
		dir := t.TempDir()
		args := append([]string{"run", "--record", filepath.Join(dir, "recording"), "hydra.run.dir=" + filepath.Join(dir, "run")}, v.args[1:]...)
		if err := run(t.Context(), args, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
		packs, err := filepath.Glob(filepath.Join(dir, "recording", "*.deepprof.tar.zst"))
		if err != nil || len(packs) != 1 {
			t.Fatalf("recordings %q, %v", packs, err)
		}
		return packs[0]
	}
	t.Fatal("no session among the tortured commands")
	return ""
}

// wholeEvery is how often the recording with timeline and counters is played: it
// takes ten times as long as the other.
const wholeEvery = 5

// TestSoak plays recorded runs in one process, several at once: SOAK of them, few
// where it is not set. Memory, open files, goroutines and temporary files do not grow.
// scripts/torture runs it at length.
func TestSoak(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("SOAK"))
	if err != nil {
		rounds = 4
	}
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	session := recordSession(t)
	play := func(n int) {
		out := filepath.Join(dir, strconv.Itoa(n))
		args := []string{"demo", "--output", out}
		if n%wholeEvery != 0 {
			args = append(args, "--from", session)
		}
		if err := run(t.Context(), args, io.Discard, io.Discard); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(out); err != nil {
			t.Error(err)
		}
	}
	workers := min(4, runtime.GOMAXPROCS(0))
	several(workers, 2*workers, play) // what is made once is made here
	first := usedNow(t, temp)
	several(workers, rounds, play)
	last := usedNow(t, temp)
	t.Logf("after %d more runs: %+v, before %+v", rounds, last, first)
	const slack = 8 << 20 // pools and caches of the runtime
	if last.goroutines > first.goroutines || last.files > first.files || last.temporary > first.temporary || last.heap > first.heap+slack {
		t.Errorf("grown over %d runs: %+v, before %+v", rounds, last, first)
	}
}

package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
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

// TestSoak plays recorded runs in one process: SOAK of them, few where it is not
// set. Memory, open files, goroutines and temporary files do not grow.
// scripts/torture runs it at length.
func TestSoak(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("SOAK"))
	if err != nil {
		rounds = 4
	}
	dir, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	play := func() {
		out := filepath.Join(dir, "run")
		if err := run(t.Context(), []string{"demo", "--output", out}, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
	play() // what is made once is made here
	play()
	first := usedNow(t, temp)
	for range rounds {
		play()
	}
	last := usedNow(t, temp)
	t.Logf("after %d more runs: %+v, before %+v", rounds, last, first)
	const slack = 8 << 20 // pools and caches of the runtime
	if last.goroutines > first.goroutines || last.files > first.files || last.temporary > first.temporary || last.heap > first.heap+slack {
		t.Errorf("grown over %d runs: %+v, before %+v", rounds, last, first)
	}
}

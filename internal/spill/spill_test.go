package spill

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// inFile makes every column go to the file, however small, in a folder of the test.
func inFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("columns go to a file on Linux only")
	}
	t.Setenv("TMPDIR", t.TempDir())
	old := ColumnBytes
	ColumnBytes = 1
	t.Cleanup(func() { ColumnBytes = old })
}

// mapped counts the columns that this process has in files of the test.
func mapped(t *testing.T) (n int) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, filepath.Join(os.Getenv("TMPDIR"), "deepprof-")) {
			n++
		}
	}
	return n
}

// ends waits until no column is left.
func ends(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); mapped(t) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d columns are left", mapped(t))
		}
	}
}

// A column is zeroed, keeps what is written when its pages are let go, and leaves no file.
func TestColumn(t *testing.T) {
	inFile(t)
	s := New()
	type pair struct {
		a int64
		b uint32
	}
	list := Make[pair](s, 100_000)
	for i := range list {
		if list[i] != (pair{}) {
			t.Fatalf("%v at %d", list[i], i)
		}
		list[i] = pair{int64(i), uint32(2 * i)}
	}
	if mapped(t) == 0 {
		t.Error("the column is not in a file")
	}
	s.letGo()
	for i := range list {
		if list[i] != (pair{int64(i), uint32(2 * i)}) {
			t.Fatalf("%v at %d", list[i], i)
		}
	}
	if files, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
	s.Close()
	ends(t)
}

// What grows keeps its values, in the store and in memory.
func TestAppend(t *testing.T) {
	inFile(t)
	s := New()
	defer s.Close()
	for _, store := range []*Store{s, nil} {
		var list []uint32
		for i := range uint32(10_000) {
			list = Append(store, list, i)
		}
		more := Clone(store, list, 5)
		list[0] = 7
		if len(more) != 10_000 || cap(more) < 10_005 || more[0] != 0 || more[9_999] != 9_999 {
			t.Errorf("%d of %d, %d, %d", len(more), cap(more), more[0], more[9_999])
		}
	}
}

// The collector does not look into the file: what refers to memory must not be there.
func TestPointersStayInMemory(t *testing.T) {
	inFile(t)
	s := New()
	defer s.Close()
	Make[struct {
		n    int
		name [1]string
	}](s, 1000)
	Make[*int](s, 1000)
	Make[[]byte](s, 1000)
	Make[map[int]int](s, 1000)
	Make[any](s, 1000)
	Make[uintptr](s, 1000) // may be one
	if n := mapped(t); n > 0 {
		t.Errorf("%d columns with pointers are in the file", n)
	}
	Make[[2]struct{ a bool }](s, 1000)
	if mapped(t) == 0 {
		t.Error("a column without pointers is in memory")
	}
}

// Small columns, those of no store and those without a place for the file are in memory.
func TestInMemory(t *testing.T) {
	inFile(t)
	ColumnBytes = 4000
	s := New()
	defer s.Close()
	lists := [][]uint32{Make[uint32](s, 999), Make[uint32](nil, 100_000)}
	t.Setenv("TMPDIR", filepath.Join(os.Getenv("TMPDIR"), "absent"))
	lists = append(lists, Make[uint32](s, 100_000))
	t.Setenv("TMPDIR", t.TempDir())
	lists = append(lists, Make[uint32](s, 100_000)) // not tried again
	for _, list := range lists {
		list[len(list)-1] = 1
	}
	if n := mapped(t); n > 0 {
		t.Errorf("%d columns are in a file", n)
	}
}

// Memory that looks like a disk saves nothing.
func TestNoSpillIntoMemory(t *testing.T) {
	inFile(t)
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Skip("no /dev/shm")
	}
	t.Setenv("TMPDIR", "/dev/shm")
	s := New()
	defer s.Close()
	Make[uint32](s, 100_000)[0] = 1
	if n := mapped(t); n > 0 {
		t.Errorf("%d columns are in /dev/shm", n)
	}
}

// Close waits for those in the background, and its caller does not.
func TestBackground(t *testing.T) {
	inFile(t)
	s := New()
	list := Make[uint32](s, 10_000)
	begin := make(chan struct{})
	var sum atomic.Uint32
	s.Go(func() {
		<-begin
		for _, n := range list {
			sum.Add(n + 1)
		}
	})
	s.Close()
	close(begin)
	ends(t)
	if sum.Load() != 10_000 {
		t.Errorf("sum %d", sum.Load())
	}
	if list := Make[uint32](s, 10_000); mapped(t) > 0 || len(list) != 10_000 {
		t.Error("a store that is closed made a column")
	}
}

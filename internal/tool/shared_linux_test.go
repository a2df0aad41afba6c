package tool

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Objects of the dead of a tree go; those of the living, of other processes and
// of other namespaces stay. The names are those of nsys 2023.4.
func TestClearShared(t *testing.T) {
	root := t.TempDir()
	shm := filepath.Join(root, "dev/shm")
	for _, dir := range []string{shm, filepath.Join(root, "proc/self/ns")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("pid:[4026531836]", filepath.Join(root, "proc/self/ns/pid")); err != nil {
		t.Fatal(err)
	}
	stay := []string{"quadd-agent-instance-7", "quadd-agent-instance-80", "sem.NSys-process_waiter-8-4026539999-2023.4.4", "sem.other-8"}
	for _, name := range append([]string{"quadd-agent-instance-8", "sem.NSys-process_waiter-8-4026531836-2023.4.4"}, stay...) {
		if err := os.WriteFile(filepath.Join(shm, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tr := &tree{known: map[int]proc{7: {}}, ever: map[int]uint64{7: 1, 8: 1}}
	tr.clearShared(root)
	var left []string
	for _, path := range Match(shm, "*") {
		left = append(left, filepath.Base(path))
	}
	if slices.Sort(left); !slices.Equal(left, stay) {
		t.Errorf("left %q, want %q", left, stay)
	}
}

// What ncu follows processes with goes once nobody has it open; an older file, and
// one in use, stay.
func TestClearTrackers(t *testing.T) {
	temp, since := t.TempDir(), time.Now()
	write := func(name string) string {
		path := filepath.Join(temp, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old, used := write("NVIDIA-treetracker-old"), write("NVIDIA-treetracker-used")
	write("NVIDIA-treetracker-left")
	write("other")
	if err := os.Chtimes(old, since.Add(-time.Hour), since.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(used)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	listener, err := net.Listen("unix", filepath.Join(temp, "NVIDIA-treetracker-socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	clearTrackers(temp, "/", since)
	var left []string
	for _, path := range Match(temp, "*") {
		left = append(left, strings.TrimPrefix(filepath.Base(path), "NVIDIA-treetracker-"))
	}
	if !slices.Equal(left, []string{"old", "socket", "used", "other"}) {
		t.Errorf("left %q", left)
	}
}

package tool

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// clearLeft removes what profilers that were killed leave outside their folders.
func (t *tree) clearLeft() {
	t.clearShared("/")
	clearTrackers(os.TempDir(), "/", t.began)
}

// clearTrackers removes the files by which ncu follows the processes of its
// target, in a temporary folder that it shares with others: those that were made
// since, and that no process has open.
func clearTrackers(temp, root string, since time.Time) {
	left := slices.DeleteFunc(Match(temp, "NVIDIA-treetracker-*"), func(path string) bool {
		fi, err := os.Lstat(path)
		return err != nil || fi.ModTime().Before(since.Add(-time.Second))
	})
	if len(left) == 0 {
		return
	}
	sockets, _ := os.ReadFile(filepath.Join(root, "proc/net/unix"))
	open := map[string]bool{}
	for _, fd := range Match(filepath.Join(root, "proc"), "[0-9]*/fd/*") {
		if to, err := os.Readlink(fd); err == nil {
			open[to] = true
		}
	}
	for _, path := range left {
		if !open[path] && !bytes.Contains(sockets, []byte(path)) {
			_ = os.RemoveAll(path)
		}
	}
}

// clearShared removes the shared-memory objects that Nsight Systems names after
// processes of the tree that are gone: an agent or a target that was killed leaves
// them forever. Root is "/" save in tests.
func (t *tree) clearShared(root string) {
	shm := filepath.Join(root, "dev/shm")
	namespace, _ := os.Readlink(filepath.Join(root, "proc/self/ns/pid")) // pid:[4026531836]
	namespace = strings.Trim(strings.TrimPrefix(namespace, "pid:"), "[]")
	for pid := range t.ever {
		if _, alive := t.known[pid]; alive {
			continue
		}
		left := append(Match(shm, fmt.Sprintf("quadd-agent-instance-%d", pid)), Match(shm, fmt.Sprintf("sem.NSys-process_waiter-%d-%s-*", pid, namespace))...)
		for _, path := range left {
			_ = os.Remove(path) // one of another user stays
		}
	}
}

package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

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

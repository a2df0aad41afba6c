package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The file system below is hand-made after what a stuck and a working nsys
// 2022.4 show.
func TestStuckSessions(t *testing.T) {
	const table = "NSys-2022.4.2.1"
	for name, c := range map[string]struct {
		mapped, instance bool
		startedTicks     int // before an uptime of 1000 s
		want             int
	}{
		"left by the dead":         {want: 1},
		"a working agent":          {mapped: true, instance: true, startedTicks: 100, want: 0},
		"an agent behind the lock": {mapped: true, startedTicks: 98000, want: 1},
		"an agent that starts":     {mapped: true, startedTicks: 99900, want: 0},
		"a file of somebody else":  {instance: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			shm, proc := filepath.Join(root, "dev/shm"), filepath.Join(root, "proc")
			write := func(text string, path ...string) {
				full := filepath.Join(path...)
				if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write("x", shm, table)
			write("x", shm, "unrelated")
			write("1000.00 1.0\n", proc, "uptime")
			write(fmt.Sprintf("77 (nsys) S 1 77 77 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 %d 0 0\n", c.startedTicks), proc, "77", "stat")
			maps := "7fd0-7fd1 r-xp 0 0 0 /usr/lib/libc.so\n"
			if c.mapped {
				maps += "7fd30df64000-7fd30df90000 rw-s 00000000 00:1b 3879                       " + filepath.Join(shm, table) + "\n"
			}
			write(maps, proc, "77", "maps")
			if c.instance {
				write("x", shm, "quadd-agent-instance-77")
			}
			if stuck := StuckSessions(root); len(stuck) != c.want || c.want == 1 && stuck[0] != filepath.Join(shm, table) {
				t.Errorf("stuck %v, want %d", stuck, c.want)
			}
		})
	}
}

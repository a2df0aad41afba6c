package load

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestHostileFiles: a pipe that nobody writes to and a file of holes are refused at once.
func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, holes := filepath.Join(dir, "pipe"), filepath.Join(dir, "holes")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(holes, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(holes, 10<<30); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, holes} {
		if _, err := ReadRecord(path); err == nil {
			t.Errorf("%s was taken for a windows.json", path)
		}
		if _, err := ReadRequests(path); err == nil {
			t.Errorf("%s was taken for a requests.jsonl", path)
		}
	}
}

package format

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	small, sparse := filepath.Join(dir, "small"), filepath.Join(dir, "sparse")
	for _, path := range []string{small, sparse} {
		if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(sparse, 10<<30); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(small, 3); err != nil || string(data) != "abc" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := ReadFile(small, 2); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if _, err := ReadFile(sparse, 1<<40); !errors.Is(err, ErrHoles) {
		t.Errorf("holes: %v", err)
	}
	if _, err := ReadFile(os.DevNull, 9); !errors.Is(err, errNotFile) {
		t.Errorf("a device: %v", err)
	}
}

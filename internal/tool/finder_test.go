package tool

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestFinderAsksOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "python3")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	asked := 0
	sys := System{CacheDir: "off", Run: func(context.Context, Command) ([]byte, []byte, Exit, error) {
		asked++
		return []byte("Python 3.12.1\n"), nil, Exit{}, nil
	}}
	var f Finder
	for range 3 {
		found, err := f.Find(context.Background(), Spec{Name: Python, Path: path, System: sys})
		if err != nil || found.Path != path || found.Version.Major != 3 {
			t.Fatalf("%+v: %v", found, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
	sys.Env = []string{"PATH=/other"}
	if _, err := f.Find(context.Background(), Spec{Name: Python, Path: path, System: sys}); err != nil || asked != 2 {
		t.Errorf("another environment: asked %d times, %v", asked, err)
	}
	for range 2 { // one that appears meanwhile is found
		if _, err := f.Find(context.Background(), Spec{Name: Python, Path: filepath.Join(dir, "nosuch"), System: sys}); err == nil {
			t.Error("a program that is not there was found")
		}
	}
}

// Command docgen writes docs/configuration.md from the structs of package plan
// and the comments of the shipped configuration. Run it with
//
//	go generate ./internal/plan
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	text, err := generate(filepath.Join(root, "internal", "plan"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs", "configuration.md"), []byte(text), 0o644)
}

// moduleRoot is the folder of go.mod at or above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("find go.mod: none at or above the working directory")
		}
		dir = parent
	}
}

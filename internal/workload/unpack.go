package workload

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Unpack writes a tree of programs into a folder, which need not exist yet.
func Unpack(tree fs.FS, dir string) error {
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(to, 0o777)
		}
		text, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o666)
	})
	if err != nil {
		return fmt.Errorf("unpack the workload programs: %w", err)
	}
	return nil
}

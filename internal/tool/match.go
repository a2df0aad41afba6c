package tool

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Match returns the paths below a folder that match a pattern of path.Match, in
// order. The pattern is a constant of the program and has no ".."; the folder is
// taken as it is, whatever characters its name has. A folder that cannot be read
// holds nothing.
func Match(dir, pattern string) []string {
	found, _ := fs.Glob(os.DirFS(dir), pattern) // fails for a bad pattern only
	for i, name := range found {
		found[i] = filepath.Join(dir, name)
	}
	return found
}

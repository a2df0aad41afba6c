package tool

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Importer returns the program that turns what nsys collected into a report.
// It lies beside the folder of nsys itself, which a launcher script or a link
// may hide; "" where there is none.
func Importer(nsys Tool) string {
	for _, real := range launched(nsys.Real) {
		dir := filepath.Dir(real)
		found := Match(filepath.Dir(dir), "host-linux-*/QdstrmImporter")
		found = append(found, Match(filepath.Dir(dir), "linux-desktop-*/QdstrmImporter")...)
		found = append(found, filepath.Join(dir, "QdstrmImporter"))
		if i := slices.IndexFunc(found, executable); i >= 0 {
			return found[i]
		}
	}
	return ""
}

// launched follows scripts that do nothing but start another nsys.
func launched(path string) []string {
	out := []string{path}
	for range 4 {
		data, err := os.ReadFile(path)
		if err != nil || len(data) > 64<<10 || !bytes.HasPrefix(data, []byte("#!")) {
			return out
		}
		next := ""
		for _, m := range named.FindAll(data, 200) {
			if p := string(m); filepath.Base(p) == Nsys && p != path && executable(p) {
				next = p
			}
		}
		if next == "" {
			return out
		}
		if real, err := filepath.EvalSymlinks(next); err == nil {
			next = real
		}
		out = append(out, next)
		path = next
	}
	return out
}

// missingLibrary is what the loader says when a program cannot start.
var missingLibrary = regexp.MustCompile(`error while loading shared libraries: ([^:\s]+):`)

// CheckImporter starts the importer to see whether its libraries are there.
// Nsys hides the loader's message and leaves a .qdstrm without a report. The
// library is named where one is missing.
func CheckImporter(ctx context.Context, importer string, run Runner) (version, library string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if run == nil {
		run = Output
	}
	out, errs, exit, err := run(ctx, Command{Path: importer, Args: []string{"--version"}})
	if err != nil {
		return "", "", fmt.Errorf("start importer: %w", err)
	}
	if m := missingLibrary.FindSubmatch(errs); m != nil {
		return "", string(m[1]), fmt.Errorf("importer %s lacks %s", importer, m[1])
	}
	if !exit.OK() {
		return "", "", fmt.Errorf("importer %s: %s: %s", importer, exit, firstLine(string(errs)+string(out)))
	}
	return firstLine(string(out)), "", nil
}

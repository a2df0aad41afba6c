package nsys

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/internal/tool"
)

// ExportLine is the command, for a shell, that does what Export does.
func ExportLine(nsys tool.Tool, report, target string) string {
	return shellescape.QuoteCommand(append([]string{nsys.Path}, exportArgs(nsys.Version, report, target)...))
}

// jsonSince is the version from which exports are known to take --include-json; 2023.4
// has no such option.
var jsonSince = tool.V(2025, 3, 0)

// exportArgs asks for the payloads that only JSON holds: the code in samples of Python.
// Neither path is quoted: the arguments go to the program, not to a shell.
func exportArgs(v tool.Version, report, target string) []string {
	args := []string{"export", "--type=sqlite", "--force-overwrite=true"}
	if v.AtLeast(jsonSince.Major, jsonSince.Minor) {
		args = append(args, "--include-json=true")
	}
	return append(args, "--output="+target, report)
}

// Export turns a report into the SQLite file target, replacing what is there.
// Target appears whole and checked, or not at all.
// The temporary folder is beside target, so that the last step is a rename within one
// file system.
func Export(ctx context.Context, nsys tool.Tool, report, target string) error {
	dir, err := os.MkdirTemp(filepath.Dir(target), ".export-")
	if err != nil {
		return fmt.Errorf("export %s: %w", report, err)
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "export.sqlite")
	if err := exportWith(ctx, nsys, report, made, dir); err != nil {
		return fmt.Errorf("export %s: %w", report, err)
	}
	if err := os.Rename(made, target); err != nil {
		return fmt.Errorf("export %s: %w", report, err)
	}
	return nil
}

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
	return shellescape.QuoteCommand(append([]string{nsys.Path}, exportArgs(report, target)...))
}

func exportArgs(report, target string) []string {
	return []string{"export", "--type=sqlite", "--force-overwrite=true", "--output=" + target, report}
}

// Export turns a report into the SQLite file target, replacing what is there.
// Target appears whole and checked, or not at all.
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

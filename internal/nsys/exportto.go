package nsys

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deepprof/deepprof/internal/tool"
)

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

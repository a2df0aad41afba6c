package capture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/tool"
)

// rescue imports a raw stream that nsys itself could not import.
func (c *Capture) rescue(ctx context.Context, stream, nsys string) error {
	if f := sniff(stream, time.Time{}); f.Format != Stream {
		return fmt.Errorf("import %s: the collection was cut, the file is %s", stream, f.Format)
	}
	importer, err := c.importer(nsys)
	if err != nil {
		return err
	}
	return Import(tool.WithLimits(ctx, c.Limits), importer, stream, c.want()) // the importer hangs on some input
}

// importer finds QdstrmImporter where nsys looks for it.
func (c *Capture) importer(nsys string) (string, error) {
	if c.Importer != "" {
		return c.Importer, nil
	}
	var tried []string
	for _, path := range []string{nsys, c.Command.Path} {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		home := filepath.Dir(filepath.Dir(real))
		for _, dir := range []string{"host-linux-x64", "host-linux-armv8", "host-linux-sbsa"} {
			p := filepath.Join(home, dir, "QdstrmImporter")
			if _, err := os.Stat(p); err == nil {
				return p, nil
			}
			tried = append(tried, p)
		}
	}
	return "", fmt.Errorf("import: QdstrmImporter not found, looked at %s", strings.Join(tried, ", "))
}

// Import turns a raw stream into a report with QdstrmImporter, which must be
// of the version that wrote the stream. It first asks the importer for its
// version, because the dynamic loader then names a missing library.
func Import(ctx context.Context, importer, stream, report string) error {
	env := tool.Environ(os.Environ(), "LC_ALL=C")
	_, stderr, exit, err := tool.Output(ctx, tool.Command{Path: importer, Args: []string{"--version"}, Env: env})
	if err != nil {
		return fmt.Errorf("start importer: %w", err)
	}
	if !exit.OK() {
		return fmt.Errorf("start importer: %s: %s", exit, oneLine(stderr))
	}
	out, stderr, exit, err := tool.Output(ctx, tool.Command{Path: importer, Args: []string{"-i", stream, "-o", report}, Env: env})
	if err != nil {
		return fmt.Errorf("import %s: %w", stream, err)
	}
	e := Evidence{
		Tool: NsysImport, Code: exit.Shell(), Stdout: string(out), Stderr: string(stderr),
		Want: report, Files: []File{sniff(report, exit.Started)},
	}
	if o := judge(e); !o.OK() {
		_ = os.Remove(report)
		return &importError{stream, o}
	}
	return nil
}

// An importError says that the importer made no report of a stream, and why.
type importError struct {
	Stream  string
	Outcome Outcome
}

func (e *importError) Error() string { return "import " + e.Stream + ": " + string(e.Outcome.Kind) }

// importParams are what is known of a failed import.
func importParams(err error) []fact.Param {
	params := []fact.Param{errorText(err)}
	var failed *importError
	if errors.As(err, &failed) && !failed.Outcome.Evidence.IsZero() {
		params = append(params, fact.Because("why", failed.Outcome.Evidence))
	}
	return params
}

func oneLine(text []byte) string { return tool.Quote(string(text)) }

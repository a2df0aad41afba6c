package capture

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/tool"
)

// diagnosticField is a field of a DiagnosticEvent in the text export of nsys
// 2022 and 2023, which have no table for it in SQLite.
var diagnosticField = regexp.MustCompile(`\b(Source|Level|Text): (?:"((?:[^"\\]|\\.)*)"|(\S+))`)

var unescape = strings.NewReplacer(`\n`, " ", `\t`, " ", `\"`, `"`, `\\`, `\`)

// readDiagnostics finds the profiler's own messages in the text export of a
// report. Everything else in it is skipped.
func readDiagnostics(r io.Reader) ([]Diagnostic, error) {
	var list []Diagnostic
	var block strings.Builder
	inside := false
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		switch text := strings.TrimRight(string(line), "\r\n"); {
		case text == "DiagnosticEvent_ {":
			inside = true
			block.Reset()
		case inside && text == "}":
			inside = false
			list = append(list, parseDiagnostic(block.String()))
		case inside && block.Len() < maxLine:
			block.WriteString(text + "\n")
		}
		if err == io.EOF {
			return list, nil
		}
		if err != nil && err != bufio.ErrBufferFull {
			return list, fmt.Errorf("read text export: %w", err)
		}
	}
}

const maxLine = 1 << 20

func parseDiagnostic(block string) Diagnostic {
	var d Diagnostic
	for _, m := range diagnosticField.FindAllStringSubmatch(block, -1) {
		value := m[3]
		if m[2] != "" {
			value = strings.Join(strings.Fields(unescape.Replace(m[2])), " ")
		}
		switch m[1] {
		case "Source":
			d.Source = value
		case "Level":
			d.Level = value
		case "Text":
			d.Text = value
		}
	}
	return d
}

// maxTextExport is the largest report that is exported to text for its
// diagnostics: the text is some hundred times larger.
const maxTextExport = 32 << 20

// textDiagnostics returns a function for Capture.Diagnostics that lets nsys
// export the report to text, for versions that keep the messages nowhere else.
func textDiagnostics(nsys string) func(ctx context.Context, report string) ([]Diagnostic, error) {
	return func(ctx context.Context, report string) ([]Diagnostic, error) {
		info, err := os.Stat(report)
		if err != nil {
			return nil, err
		}
		if info.Size() > maxTextExport {
			return nil, fmt.Errorf("the report is larger than %d MiB", maxTextExport>>20)
		}
		dir, err := os.MkdirTemp("", format.TempName("diag"))
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		text := filepath.Join(dir, "report.txt")
		_, stderr, exit, err := tool.Output(ctx, tool.Command{
			Path: nsys,
			Args: []string{"export", "--type=text", "--output=" + text, "--force-overwrite=true", report},
			Env:  tool.Environ(os.Environ(), "LC_ALL=C", "TMPDIR="+dir),
		})
		if err != nil {
			return nil, err
		}
		f, err := os.Open(text)
		if err != nil {
			return nil, fmt.Errorf("nsys export: %s: %s", exit, oneLine(stderr))
		}
		defer f.Close()
		return readDiagnostics(f)
	}
}

package ncurep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/metric"
	"github.com/deepprof/deepprof/internal/tool"
)

// Check is the comparison of the raw page with what ncu prints of the same file.
type Check struct {
	Release     metric.Release
	Cells       int // compared, in both units
	Differences []Difference

	// Guessed counts columns whose unit this older ncu made up otherwise than
	// foreseen; their numbers were compared in the unit that it printed.
	Guessed int
	// Names counts cells with kernel names that ncu shortens (from 2025 on),
	// in both units; they are compared no further.
	Names int
}

// Notes say what was compared in part only, and why; nil if all was compared.
// They are finished sentences for the terminal.
func (c *Check) Notes() []string {
	var notes []string
	if c.Guessed > 0 {
		notes = append(notes, fmt.Sprintf("%d units were guessed by this ncu for metrics that it does not know: their numbers were compared in the unit that it printed", c.Guessed))
	}
	if c.Names > 0 {
		notes = append(notes, fmt.Sprintf("%d kernel names were not compared: ncu shortens them in its CSV since 2025, deepprof prints what the file holds", c.Names))
	}
	return notes
}

// Difference is a cell on which both do not agree.
type Difference struct {
	Units  string // auto or base: the page it is on
	Result string // the ID, or "units" or "header"
	Column string
	Vendor string
	Ours   string
}

// String is one line for the terminal.
func (d Difference) String() string {
	return fmt.Sprintf("result %s, %s (%s units): ncu %q, deepprof %q", d.Result, d.Column, d.Units, d.Vendor, d.Ours)
}

// SelfCheck runs `ncu --import path --page raw --csv` with scaled and with
// base units, and compares every cell with what is read natively.
// The error is set if ncu cannot run or cannot read the file; differences are no
// error. ncu runs twice.
// A compressed report is unpacked for ncu into a temporary file.
func SelfCheck(ctx context.Context, path string, ncu tool.Tool) (*Check, error) {
	path, done, err := format.Plain(ctx, path)
	if err != nil {
		return nil, err
	}
	defer done()
	rep, err := ReadFile(path, Options{})
	if err != nil {
		return nil, err
	}
	c := &Check{Release: metric.ReleaseOf(ncu.Version.Major, ncu.Version.Minor)}
	for _, units := range []string{"auto", "base"} {
		page, err := importRaw(ctx, path, ncu.Path, units)
		if err != nil {
			return nil, err
		}
		if err := c.compare(rep, page, units); err != nil {
			return nil, fmt.Errorf("compare with %s: %w", ncu.Path, err)
		}
	}
	return c, nil
}

// importRaw sets LC_ALL=C: otherwise numbers have the separators of the user's locale.
func importRaw(ctx context.Context, path, ncu, units string) ([]byte, error) {
	out, stderr, exit, err := tool.Output(ctx, tool.Command{
		Path: ncu,
		Args: []string{"--import", path, "--page", "raw", "--csv", "--print-units", units},
		Env:  tool.Environ(os.Environ(), "LC_ALL=C"),
		// The page of a large report is a few megabytes.
		MaxOutput: 1 << 30,
	})
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", ncu, err)
	}
	if !exit.OK() {
		return nil, fmt.Errorf("%s cannot read %s (%s): %s", ncu, path, exit, firstLine(out, stderr))
	}
	return out, nil
}

// firstLine is the first line that says something.
func firstLine(texts ...[]byte) string {
	for _, t := range texts {
		for line := range strings.Lines(string(t)) {
			if line = strings.TrimSpace(line); line != "" {
				return line
			}
		}
	}
	return "no output"
}

// compare lays the vendor's page beside ours.
func (c *Check) compare(rep *Report, page []byte, units string) error {
	if i := bytes.Index(page, []byte(`"ID",`)); i > 0 {
		page = page[i:] // warnings come first
	}
	lines := strings.Split(strings.TrimRight(string(page), "\n"), "\n")
	if len(rep.Results) == 0 && len(lines) <= 2 {
		return nil
	}
	if len(lines) < 2 {
		return fmt.Errorf("ncu printed no table: %s", firstLine(page))
	}
	header, printed := lazyCells(lines[0]), lazyCells(lines[1])
	t := newRawTable(rep, metric.Format{Release: c.Release, Base: units == "base"})
	t.adopt(header, printed, c)
	c.row(units, "header", header, header, t.header())
	if !slices.Equal(header, t.header()) {
		return nil // rows would differ for that alone
	}
	c.row(units, "units", header, printed, t.units())
	rows := lines[2:]
	var line bytes.Buffer
	for i := range max(len(rep.Results), len(rows)) {
		switch {
		case i >= len(rep.Results):
			c.add(units, lazyCells(rows[i])[0], "row", "present", "missing")
			continue
		case i >= len(rows):
			c.add(units, fmt.Sprint(rep.Results[i].ID), "row", "missing", "present")
			continue
		}
		line.Reset()
		w := bufio.NewWriter(&line)
		t.writeRow(w, i)
		w.Flush()
		ours := strings.TrimRight(line.String(), "\n")
		if ours == rows[i] {
			c.Cells += len(header)
			continue
		}
		c.row(units, fmt.Sprint(rep.Results[i].ID), header, lazyCells(rows[i]), lazyCells(ours))
	}
	return nil
}

// lazyCells splits a line whose quotes ncu may not have escaped.
func lazyCells(line string) []string {
	in := csv.NewReader(strings.NewReader(line))
	in.LazyQuotes, in.FieldsPerRecord = true, -1
	cells, err := in.Read()
	if err != nil || len(cells) == 0 {
		return []string{line}
	}
	return cells
}

// adopt takes over the units that an older ncu guessed, and counts them: nobody knows them all
// beforehand.
func (t *rawTable) adopt(header, units []string, c *Check) {
	for i, name := range header {
		j := i - len(t.fixed)
		if j < 0 || j >= len(t.names) || t.names[j] != name || !metric.Guessed(name, c.Release) || i >= len(units) {
			continue
		}
		if printed := units[i]; printed != t.columns[j].Unit {
			c.Guessed++
			t.columns[j] = metric.NewColumn(metric.Unscaled(printed), t.format, t.column(j))
		}
	}
}

// row compares one line cell by cell; a short line lacks its last cells.
func (c *Check) row(units, result string, header, theirs, ours []string) {
	for i := range max(len(theirs), len(ours)) {
		a, b, column := "missing", "missing", "?"
		if i < len(theirs) {
			a = theirs[i]
		}
		if i < len(ours) {
			b = ours[i]
		}
		if i < len(header) {
			column = header[i]
		}
		c.Cells++
		if a == b {
			continue
		}
		if column == "Kernel Name" && result != "header" && c.Release >= metric.R2025 {
			c.Names++
			continue
		}
		c.add(units, result, column, a, b)
	}
}

// add notes a cell on which both do not agree.
func (c *Check) add(units, result, column, theirs, ours string) {
	c.Differences = append(c.Differences, Difference{units, result, column, theirs, ours})
}

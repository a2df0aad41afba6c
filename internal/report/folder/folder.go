// Package folder owns a folder of reports: result.json and every page that is
// made from it, as a run or an analysis of files holds them.
package folder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/html"
	"github.com/deepprof/deepprof/internal/runs"
)

// maxResult bounds a result.json; that of a long capture has about 30 MB.
const maxResult = 2 << 30

// regionsFolder holds the reports of regions, a folder for each.
var regionsFolder = filepath.Join("ncu", "regions")

// Write writes an analysis and every report that is made from it into a
// folder, and returns their paths. What can be written is, whatever else fails.
// What an earlier analysis left there and this one does not have is removed.
// The first path is that of result.json; without it nothing is written.
func Write(dir string, r *analysis.Result) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("write reports: %w", err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", runs.ResultName, err)
	}
	path := filepath.Join(dir, runs.ResultName)
	if err := report.ReplaceFile(path, append(data, '\n')); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	made := []string{path}
	written, err := report.WriteAll(dir, r, report.Page{Name: runs.PageName, Write: html.Write})
	made = append(made, written...)
	regions, rerr := report.WriteRegionReports(filepath.Join(dir, regionsFolder), r)
	made = append(made, regions...)
	return made, errors.Join(err, rerr, removeStale(filepath.Join(dir, regionsFolder), made))
}

// removeStale removes the reports of regions that an analysis does not know.
// The other reports have the same names each time.
// made are the paths of this analysis; a folder that is missing is fine.
func removeStale(dir string, made []string) error {
	folders, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, f := range folders {
		folder := filepath.Join(dir, f.Name())
		if !f.IsDir() || slices.Contains(made, filepath.Join(folder, "report.json")) || slices.Contains(made, filepath.Join(folder, "report.md")) {
			continue
		}
		for _, name := range []string{"report.json", "report.md"} {
			if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, fmt.Errorf("remove what an earlier analysis left: %w", err))
			}
		}
		_ = os.Remove(folder) // one that holds files of somebody else's stays
	}
	return errors.Join(errs...)
}

// A SchemaError refuses a result of another schema. Have is less than analysis.Schema for
// one of an older version, whose captures can be analyzed again, and more for a newer one.
type SchemaError struct {
	Path string
	// Have is the schema of the file; 0 where it names none.
	Have int
}

// Error says how to make the result anew, which both directions allow.
func (e *SchemaError) Error() string {
	return fmt.Sprintf("read %s: it has schema %d and this deepprof knows %d; make it again with deepprof analyze on the run or its captures", e.Path, e.Have, analysis.Schema)
}

// Read reads a result.json of this version. One of another schema is refused:
// the captures of its run are analyzed again.
// A file that is larger than a result can be is refused before it is read.
func Read(path string) (*analysis.Result, error) {
	data, err := format.ReadFile(path, maxResult)
	if err != nil {
		return nil, err
	}
	return parse(path, data)
}

// parse looks at the schema first: fields of another one may mean something else.
func parse(path string, data []byte) (*analysis.Result, error) {
	var head struct{ Schema int }
	if err := json.Unmarshal(data, &head); err == nil && head.Schema != analysis.Schema {
		return nil, &SchemaError{path, head.Schema}
	}
	var r analysis.Result
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&r); err != nil {
		return nil, fmt.Errorf("read %s: %w; make it again with deepprof analyze", path, err)
	}
	if at := badNull(data, reflect.TypeFor[analysis.Result]()); at != "" {
		return nil, fmt.Errorf("read %s: %s is null, and a value that is missing is not 0; make it again with deepprof analyze", path, at)
	}
	r.Derive() // older results lack what later versions derive
	return &r, nil
}

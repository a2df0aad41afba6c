package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/suggest"
)

// BaselineExt is the end of the name of a baseline file.
const BaselineExt = ".baseline.zst"

// baselineFolder holds the baselines of a store of runs. They are copies: cleaning
// the store does not touch them.
const baselineFolder = ".baselines"

// maxBaseline bounds what a baseline unpacks to.
const maxBaseline = 1 << 30

// A Baseline is a side under a name, to compare with later. It holds whole results, so that
// versions to come can compare values that this one does not.
type Baseline struct {
	Schema  int       `json:"schema"`
	Created time.Time `json:"created"`
	Runs    []Run     `json:"runs"`
}

// Side are the runs of the baseline, which is known by a name.
// The slice is that of b.
func (b *Baseline) Side(name string) []Run {
	for i := range b.Runs {
		b.Runs[i].Baseline = name
	}
	return b.Runs
}

// validName refuses a name that is not also that of a file.
func validName(name string) error {
	ok := name != "" && name[0] != '.' && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	})
	if !ok {
		return fmt.Errorf("baseline %q: a name has letters, digits, '.', '_' and '-'", name)
	}
	return nil
}

// baselinePath needs a name that validName accepts.
func baselinePath(store, name string) string {
	return filepath.Join(store, baselineFolder, name+BaselineExt)
}

// encodeBaseline packs runs into the content of a baseline file. The first keeps
// its timeline to be drawn, which is most of a result; nothing else needs it.
func encodeBaseline(b Baseline) ([]byte, error) {
	b.Schema, b.Runs = Schema, slices.Clone(b.Runs)
	for i := 1; i < len(b.Runs); i++ {
		if r := b.Runs[i].Result; r != nil {
			small := *r
			small.Overview = analysis.Overview{}
			b.Runs[i].Result = &small
		}
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("write baseline: %w", err)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return nil, fmt.Errorf("write baseline: %w", err)
	}
	defer enc.Close()
	return enc.EncodeAll(text, nil), nil
}

// SetBaseline keeps runs under a name, and returns the file.
// It replaces a baseline of that name whole. Every run must be usable: done and without
// losses.
func SetBaseline(store, name string, side []Run) (string, error) {
	if err := validName(name); err != nil {
		return "", err
	}
	for i := range side {
		if err := side[i].usable(Options{}); err != nil {
			return "", fmt.Errorf("set baseline: %w", err)
		}
	}
	data, err := encodeBaseline(Baseline{Created: time.Now().UTC(), Runs: side})
	if err != nil {
		return "", err
	}
	path := baselinePath(store, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return "", fmt.Errorf("write baseline: %w", err)
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, data, 0o666); err != nil {
		return "", fmt.Errorf("write baseline: %w", err)
	}
	return path, os.Rename(tmp, path)
}

// ReadBaseline reads a baseline file.
// A baseline of another schema is an error that says how to make it again.
func ReadBaseline(path string) (*Baseline, error) {
	data, err := format.ReadFile(path, maxBaseline)
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	b, err := DecodeBaseline(data)
	if err != nil {
		return nil, fmt.Errorf("read baseline %s: %w; set it again with deepprof baseline set", path, err)
	}
	return b, nil
}

// DecodeBaseline reads what encodeBaseline wrote.
func DecodeBaseline(data []byte) (*Baseline, error) {
	dec, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderMaxMemory(maxBaseline), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	text, err := io.ReadAll(io.LimitReader(dec, maxBaseline))
	if err != nil {
		return nil, err
	}
	var b Baseline
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, err
	}
	if b.Schema != Schema {
		return nil, fmt.Errorf("it has schema %d and this deepprof knows %d", b.Schema, Schema)
	}
	for i := range b.Runs {
		if r := b.Runs[i].Result; r != nil && r.Schema != analysis.Schema {
			return nil, fmt.Errorf("a result in it has schema %d and this deepprof knows %d", r.Schema, analysis.Schema)
		}
	}
	return &b, nil
}

// Baselines are the names of the baselines of a store.
// The names are sorted; a store without baselines has none, and is no error.
func Baselines(store string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(store, baselineFolder))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list baselines: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), BaselineExt); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// NamedBaseline reads a baseline of a store; nil where there is none of this name.
func NamedBaseline(store, name string) (*Baseline, error) {
	path := BaselineFile(store, name)
	if path == "" {
		return nil, nil
	}
	return ReadBaseline(path)
}

// BaselineFile is the file of a baseline of a store; "" where there is none of
// this name.
func BaselineFile(store, name string) string {
	if validName(name) != nil {
		return ""
	}
	path := baselinePath(store, name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// RemoveBaseline forgets a baseline.
// The error for an unknown name suggests the nearest.
func RemoveBaseline(store, name string) error {
	if err := validName(name); err != nil {
		return err
	}
	err := os.Remove(baselinePath(store, name))
	if errors.Is(err, os.ErrNotExist) {
		names, _ := Baselines(store)
		return fmt.Errorf("remove baseline %s: there is none%s", name, suggest.DidYouMean(name, names))
	}
	return err
}

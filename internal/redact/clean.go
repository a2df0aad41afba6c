package redact

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/sqlite"
)

// maxRewrite bounds the files that are read whole; larger ones are overwritten in
// place.
const maxRewrite = 64 << 20

// maxUnpacked bounds what a compressed file may unpack to.
const maxUnpacked = 16 * maxRewrite

// Cannot tells a file that deepprof cannot clean: the raw files of Nsight Systems
// are compressed in parts that nobody has described.
// The ending decides, because such a file is left out or named before anybody opens it.
func Cannot(name string) bool {
	kind := format.Named(name)
	return kind == format.NsysReport || kind == format.Stream
}

// CleanFile removes the known values from a file in place, in every encoding, and
// from logs also what has the form of a secret. It returns whether it changed
// anything; files that Cannot names stay as they are.
// Links, folders and empty files are left alone. A file is replaced by a rename, or
// edited in place where its length must not change.
func (v *Values) CleanFile(path string) (bool, error) {
	if v == nil || Cannot(path) {
		return false, nil
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false, err
	}
	changed, err := v.cleanKind(path, info)
	if err != nil {
		return changed, fmt.Errorf("remove secrets from %s: %w", path, err)
	}
	return changed, nil
}

// A file with holes, or with a path that is not UTF-8, is only overwritten.
func (v *Values) cleanKind(path string, info os.FileInfo) (bool, error) {
	f, err := format.Recognize(path)
	switch {
	case errors.Is(err, format.ErrHoles) || errors.Is(err, format.ErrPath):
		return v.overwrite(path)
	case err != nil:
		return false, err
	case f.Kind == format.SQLite && f.Compression == "":
		return v.cleanSQLite(path)
	case f.Kind == format.NcuReport && f.Compression == "", info.Size() > maxRewrite:
		return v.overwrite(path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	clean, err := v.Content(path, data)
	if err != nil || bytes.Equal(clean, data) {
		return false, err
	}
	return true, replaceFile(path, clean, info.Mode().Perm())
}

// Content is CleanFile for what a file is to hold.
// The result may be data itself if nothing was found; data is never changed.
func (v *Values) Content(name string, data []byte) ([]byte, error) {
	if v == nil {
		return data, nil
	}
	switch ext := strings.ToLower(filepath.Ext(name)); {
	case ext == ".gz":
		return v.cleanGzip(name, data)
	case ext == ".json":
		if clean, err := editJSON(data, v.Clean); err == nil {
			return clean, nil
		}
		return []byte(v.Clean(string(data))), nil
	case ext == ".yaml" && isText(data):
		return v.yaml(data), nil
	case filepath.Base(name) == format.CommandLine && isText(data):
		return []byte(strings.Join(v.Args(strings.SplitAfter(string(data), "\n")), "")), nil
	case slices.Contains([]string{".log", ".txt", ".md", ".csv", ".html", ".svg"}, ext) && isText(data):
		if ext == ".log" || ext == ".txt" {
			return []byte(v.Clean(string(data))), nil
		}
		return []byte(v.Text(string(data))), nil
	}
	if !v.in(data) {
		return data, nil
	}
	if isText(data) {
		return []byte(v.Text(string(data))), nil
	}
	data = bytes.Clone(data)
	v.finder().overwrite(data)
	return data, nil
}

// yaml cleans the scalars of YAML, and lists as command lines. Text without
// secrets stays as it is, byte for byte.
func (v *Values) yaml(data []byte) []byte {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil {
		return []byte(v.Clean(string(data)))
	}
	if !v.cleanNode(&doc) {
		return data
	}
	clean, err := encodeYAML(&doc)
	if err != nil {
		return []byte(v.Clean(string(data)))
	}
	return clean
}

// A changed scalar becomes a quoted string and loses its comment.
func (v *Values) cleanNode(n *yaml.Node) (changed bool) {
	set := func(n *yaml.Node, clean string) {
		if clean != n.Value {
			*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: clean, Style: yaml.DoubleQuotedStyle}
			changed = true
		}
	}
	if n.Kind == yaml.ScalarNode {
		set(n, v.Clean(n.Value))
		return changed
	}
	if n.Kind == yaml.SequenceNode && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Kind != yaml.ScalarNode }) {
		args := make([]string, len(n.Content))
		for i, c := range n.Content {
			args[i] = c.Value
		}
		for i, clean := range v.Args(args) {
			set(n.Content[i], clean)
		}
		return changed
	}
	for _, c := range n.Content {
		changed = v.cleanNode(c) || changed
	}
	return changed
}

// Clean removes the known values and what has the form of a secret.
func (v *Values) Clean(s string) string { return secrets(v.Text(s)) }

// A file that is no gzip is returned as it is. Only the first maxUnpacked bytes are
// searched; a secret in a file that is longer is an error.
func (v *Values) cleanGzip(name string, data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return data, nil // it is no such file; its bytes are searched elsewhere
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxUnpacked+1))
	switch {
	case err != nil || !v.in(plain):
		return data, nil
	case len(plain) > maxUnpacked:
		return nil, fmt.Errorf("it holds a secret and unpacks to more than %d bytes, which are not rewritten; unpack it", maxUnpacked)
	}
	clean, err := v.Content(strings.TrimSuffix(name, ".gz"), plain)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err = w.Write(clean)
	return out.Bytes(), errors.Join(err, w.Close())
}

// cleanSQLite edits the texts of the tables that have any, since a long text lies
// on several pages, and then what is left of values elsewhere in the file.
func (v *Values) cleanSQLite(path string) (bool, error) {
	if len(v.known) == 0 {
		return false, nil
	}
	changed := false
	if with, err := textTables(path); err == nil {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return false, err
		}
		// A file that cannot be edited so, since it is damaged or an index has the
		// text, is overwritten below.
		_ = sqlite.EditTables(f, func(table string) bool { return slices.Contains(with, table) }, func(_ string, texts [][]byte) bool {
			found := false
			for _, t := range texts {
				found = v.finder().overwrite(t) > 0 || found
			}
			changed = changed || found
			return found
		})
		if err := f.Close(); err != nil {
			return changed, err
		}
	}
	more, err := v.overwrite(path)
	return changed || more, err
}

// textTables are the tables that have a column for texts or blobs. The others,
// which have the launches, may be gigabytes.
func textTables(path string) ([]string, error) {
	db, err := sqlite.Open(path)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var out []string
	for _, t := range db.Tables() {
		if slices.ContainsFunc(t.Columns, func(c sqlite.Column) bool {
			kind := strings.ToUpper(c.Type)
			return kind == "" || strings.Contains(kind, "TEXT") || strings.Contains(kind, "CHAR") || strings.Contains(kind, "BLOB")
		}) {
			out = append(out, t.Name)
		}
	}
	return out, nil
}

// overwrite blots the values out in place, in windows that overlap.
func (v *Values) overwrite(path string) (bool, error) {
	if len(v.known) == 0 {
		return false, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	n, err := v.finder().overwriteFile(f)
	return n > 0, errors.Join(err, f.Close())
}

// InFile tells whether a known value is in a file.
// It does not move the offset of r. A nil v knows no values and finds none.
func (v *Values) InFile(r io.ReaderAt) (bool, error) {
	if v == nil || len(v.known) == 0 {
		return false, nil
	}
	found := false
	err := eachWindow(r, windowSize, v.finder().longest+1, func(data []byte, _ int64, _ bool) (bool, error) {
		found = v.in(data)
		return found, nil
	})
	return found, err
}

// windowSize is how much of a large file is searched at once, in bytes.
const windowSize = 4 << 20

// Windows overlap by the longest pattern, so one on the border is found whole.
func (f *finder) overwriteFile(file *os.File) (int, error) {
	found := 0
	err := eachWindow(file, windowSize, f.longest+1, func(data []byte, at int64, _ bool) (bool, error) {
		k := f.overwrite(data)
		if found += k; k == 0 {
			return false, nil
		}
		_, err := file.WriteAt(data, at)
		return false, err
	})
	return found, err
}

// replaceFile leaves the old file if anything fails.
func replaceFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-clean-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

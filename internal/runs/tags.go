package runs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what people write about a run.
const (
	maxTags    = 20
	maxTagLen  = 64   // bytes
	maxComment = 4000 // bytes
)

// Tags are what people wrote about a run. The zero value is nothing.
type Tags struct {
	Tags    []string `json:"tags"`
	Comment string   `json:"comment"`
}

// ReadTags reads those of a run. They are for people: a file that cannot be read or
// that breaks the limits counts as none. Tags is never nil.
func ReadTags(dir string) Tags {
	var t Tags
	if readInto(filepath.Join(dir, tagsName), json.Unmarshal, &t) != nil || t.check() != nil {
		t = Tags{}
	}
	if t.Tags == nil {
		t.Tags = []string{}
	}
	return t
}

// WriteTags replaces those of a run. The folder changes with it, so that the
// index of the store notices.
// It takes no claim: tags may be written while the run goes on. The last writer wins.
// It sorts t.Tags in place. Its errors are ErrTags, those of ReadManifest, and those of the
// disk.
func WriteTags(dir string, t Tags) error {
	if t.Tags == nil {
		t.Tags = []string{}
	}
	if err := t.check(); err != nil {
		return err
	}
	if _, err := ReadManifest(dir); err != nil {
		return err
	}
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return writeFileAtomic(filepath.Join(dir, tagsName), data)
}

// ErrTags refuses tags or a comment.
var ErrTags = errors.New("not accepted")

// check also sorts the tags. Its errors have ErrTags in their chain.
func (t *Tags) check() error {
	if len(t.Tags) > maxTags {
		return fmt.Errorf("%w: %d tags are given, and a run has %d at most", ErrTags, len(t.Tags), maxTags)
	}
	for _, tag := range t.Tags {
		if tag == "" || tag != strings.TrimSpace(tag) || len(tag) > maxTagLen || !printable(tag) {
			return fmt.Errorf("%w: the tag %q; a tag is one line of 1 to %d bytes", ErrTags, tag, maxTagLen)
		}
	}
	if slices.Sort(t.Tags); len(slices.Compact(slices.Clone(t.Tags))) != len(t.Tags) {
		return fmt.Errorf("%w: a tag is given twice", ErrTags)
	}
	if len(t.Comment) > maxComment || !utf8.ValidString(t.Comment) {
		return fmt.Errorf("%w: a comment of %d bytes; it may have %d, in UTF-8", ErrTags, len(t.Comment), maxComment)
	}
	return nil
}

// printable keeps tags to one line that a terminal shows as it is.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Delete removes a run of a store. The error is ErrRunning if a process works
// in it, and fs.ErrNotExist if there is none.
func Delete(root, name string) error {
	dir, err := InStore(root, name)
	if err != nil {
		return err
	}
	r, err := openDir(dir)
	if err != nil {
		return err
	}
	if err = ErrRunning; r.Status() != StatusRunning {
		err = deleteRun(r)
	}
	if err != nil {
		return fmt.Errorf("delete run %s: %w", name, err)
	}
	return nil
}

// InStore is the folder of a run by its whole name, or of "latest". Unlike
// Resolve it never leaves the store. The error is fs.ErrNotExist if there is
// none.
// An empty root is DefaultRoot.
func InStore(root, name string) (string, error) {
	ids := idsIn(cmp.Or(root, DefaultRoot))
	if name == "latest" && len(ids) > 0 {
		return newest(cmp.Or(root, DefaultRoot), ids)
	}
	if !slices.Contains(ids, name) {
		return "", fmt.Errorf("find run %q: %w in the store", name, fs.ErrNotExist)
	}
	return filepath.Join(cmp.Or(root, DefaultRoot), name), nil
}

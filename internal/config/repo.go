package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// repo finds config files on the search path and reads each once.
// It is not safe for concurrent use. Files that change while composing are seen as they
// were at the first read.
type repo struct {
	sources []Source          // in order: the first that has a file wins
	loaded  map[string]*file  // by config path; nil if no source has it
	groups  map[string]bool   // whether a folder of that name exists
	lines   map[string][]byte // text by display path, for carets
}

// file is a loaded config file.
type file struct {
	path   string // without extension
	source Source
	// how errors and origins name the file
	display  string
	root     *Node  // a Map or List; never nil
	header   string // package of the "# @package" line; read only if hasHdr is true
	hasHdr   bool
	defaults []*inputDefault // the list of the file, which is not in root any more
}

// newRepo reads nothing yet.
func newRepo(sources []Source) *repo {
	return &repo{sources: sources, loaded: map[string]*file{}, groups: map[string]bool{}, lines: map[string][]byte{}}
}

// fsPath turns a config path into one that fs.FS takes; ok is false if it
// leads out of the source.
func fsPath(p string) (string, bool) {
	p = path.Clean(strings.TrimLeft(p, "/"))
	return p, fs.ValidPath(p)
}

// fileName: Hydra reads .yaml only; .yml gets a hint elsewhere.
func fileName(configPath string) string {
	if strings.HasSuffix(configPath, ".yaml") {
		return configPath
	}
	return configPath + ".yaml"
}

// groupExists tells whether any source has a folder of that name.
// A folder that cannot be looked up counts as absent. The first answer is kept.
func (r *repo) groupExists(group string) bool {
	if known, ok := r.groups[group]; ok {
		return known
	}
	found := false
	if p, ok := fsPath(group); ok {
		for _, s := range r.sources {
			if info, err := fs.Stat(s.FS, p); err == nil && info.IsDir() {
				found = true
				break
			}
		}
	}
	r.groups[group] = found
	return found
}

// find returns the first source that has a config; nil for none.
func (r *repo) find(configPath string) *Source {
	p, ok := fsPath(fileName(configPath))
	if !ok {
		return nil
	}
	for i, s := range r.sources {
		if info, err := fs.Stat(s.FS, p); err == nil && !info.IsDir() {
			return &r.sources[i]
		}
	}
	return nil
}

// load reads a config; nil without error if no source has it.
// Each call returns the same file: a change of its tree is seen by all. The error is
// an *Error with the source line, and is not kept: the next call reads again.
func (r *repo) load(configPath string) (*file, error) {
	if f, ok := r.loaded[configPath]; ok {
		return f, nil
	}
	source := r.find(configPath)
	if source == nil {
		r.loaded[configPath] = nil
		return nil, nil
	}
	f, err := r.read(*source, configPath)
	if err != nil {
		return nil, r.withLine(err)
	}
	r.loaded[configPath] = f
	return f, nil
}

// displayPath is how a file is named in errors and origins.
func displayPath(s Source, name string) string {
	if s.Path == "" {
		return name
	}
	return path.Join(s.Path, name)
}

// read loads a file: its header, its tree and its defaults list, which leaves the
// tree.
func (r *repo) read(source Source, configPath string) (*file, error) {
	name, _ := fsPath(fileName(configPath))
	f := &file{path: configPath, source: source, display: displayPath(source, name)}
	data, err := readLimited(source.FS, name, f.display)
	if err != nil {
		return nil, err
	}
	r.lines[f.display] = data
	if f.header, f.hasHdr, err = packageHeader(f.display, data); err != nil {
		return nil, err
	}
	if f.root, err = readYAML(f.display, data); err != nil {
		return nil, err
	}
	switch {
	case f.root == nil || f.root.kind == Null:
		f.root = newMap()
		f.root.origin = Origin{File: f.display}
	case f.root.kind == String:
		// omegaconf takes a lone word for a key without a value.
		m := newMap()
		m.origin = f.root.origin
		m.put(f.root, &Node{kind: Null, origin: f.root.origin})
		f.root = m
	case !f.root.container():
		return nil, &Error{Kind: "yaml-type", Message: "a config must be a mapping, this file is a " + f.root.kind.String(),
			Origin: Origin{File: f.display, Line: f.root.origin.Line, Column: f.root.origin.Column}}
	}
	if err := r.extractDefaults(f); err != nil {
		return nil, err
	}
	return f, nil
}

// readLimited reads a file that may be anything: it never reads more than the
// limit.
// Errors are of type *Error and of the kind "config-unreadable".
func readLimited(fsys fs.FS, name, display string) ([]byte, error) {
	fail := func(format string, args ...any) error {
		return &Error{Kind: "config-unreadable", Message: fmt.Sprintf(format, args...), Origin: Origin{File: display}}
	}
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil:
		return nil, fail("read config: %v", rootCause(err))
	case !info.Mode().IsRegular():
		// Opening a pipe would wait for a writer.
		return nil, fail("read config: it is no regular file")
	case info.Size() > maxFileSize:
		return nil, fail("read config: the file is %d bytes long, a config may be at most %d", info.Size(), maxFileSize)
	}
	h, err := fsys.Open(name)
	if err != nil {
		return nil, fail("read config: %v", rootCause(err))
	}
	defer h.Close()
	data, err := io.ReadAll(io.LimitReader(h, maxFileSize+1))
	if err != nil {
		return nil, fail("read config: %v", rootCause(err))
	}
	if len(data) > maxFileSize {
		return nil, fail("read config: the file is longer than %d bytes", maxFileSize)
	}
	return data, nil
}

// rootCause drops the path, which the error names in its own way.
func rootCause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// headerSize is how much of a file Hydra searches for a header.
// It counts characters, not bytes.
const headerSize = 512

// headerLine is a line that may be a package directive.
var headerLine = regexp.MustCompile(`^\s*#\s*@`)

// packageHeader reads the "# @package" lines at the top of a file.
// If there are several packages, the last one counts. Other @ lines are ignored if they are well formed.
func packageHeader(display string, data []byte) (pkg string, found bool, err error) {
	if len(data) > 4*headerSize {
		data = data[:4*headerSize]
	}
	text := strings.ToValidUTF8(string(data), "")
	if utf8.RuneCountInString(text) > headerSize {
		text = string([]rune(text)[:headerSize])
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if !headerLine.MatchString(line) {
			break
		}
		body := strings.TrimSpace(strings.TrimLeft(line, "#"))
		parts := slices.DeleteFunc(strings.Split(body, " "), func(s string) bool { return s == "" })
		if len(parts) != 2 {
			e := &Error{Kind: "package-header", Origin: Origin{File: display, Line: number, Column: 1}}
			if len(parts) < 2 {
				e.Message = fmt.Sprintf("Expected header format: KEY VALUE, got '%s'", body)
			} else {
				e.Message = fmt.Sprintf("Too many components in '%s'", body)
			}
			e.Hint = "write '# @package some.key' with a blank between, and nothing behind it"
			return "", false, e
		}
		if parts[0] == "@package" {
			pkg, found = parts[1], true
		}
	}
	return pkg, found, nil
}

// options lists the configs of a group over all sources, sorted.
// nil if no source has the group. A folder that cannot be read counts as empty.
func (r *repo) options(group string) []string {
	return r.list(group, func(dir string, e fs.DirEntry, s Source) (string, bool) {
		if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok && !isDir(s, path.Join(dir, e.Name()), e) {
			return name, true
		}
		return "", false
	})
}

// subgroups lists the folders within a group over all sources, sorted.
func (r *repo) subgroups(group string) []string {
	return r.list(group, func(dir string, e fs.DirEntry, s Source) (string, bool) {
		return e.Name(), e.Name() != "__pycache__" && isDir(s, path.Join(dir, e.Name()), e)
	})
}

// isDir follows links: shared config folders are often linked.
func isDir(s Source, p string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := fs.Stat(s.FS, p)
	return err == nil && info.IsDir()
}

// list collects names of a group's folder over all sources, sorted and without
// copies.
func (r *repo) list(group string, pick func(dir string, e fs.DirEntry, s Source) (string, bool)) []string {
	dir, ok := fsPath(group)
	if !ok {
		return nil
	}
	var names []string
	for _, s := range r.sources {
		entries, err := fs.ReadDir(s.FS, dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if name, ok := pick(dir, e, s); ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// withLine adds the source line that an error's origin points at.
// It changes the error in place and returns it. Errors of overrides, or without a line number,
// pass as they are.
func (r *repo) withLine(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Line != "" || e.Origin.Line == 0 {
		return err
	}
	data, ok := r.lines[e.Origin.File]
	if !ok {
		return err
	}
	n := 0
	for line := range bytes.Lines(data) {
		if n++; n == e.Origin.Line {
			e.Line = strings.TrimRight(string(line), "\r\n")
			break
		}
	}
	return err
}

// searchPath describes the sources for an error.
func (r *repo) searchPath() string {
	var b strings.Builder
	b.WriteString("Config search path:")
	for _, s := range r.sources {
		fmt.Fprintf(&b, "\n\tprovider=%s, path=%s", s.Provider, s.Path)
	}
	return b.String()
}

// Group is a folder of options over all sources.
type Group struct {
	Name string // path with slashes; "" is the root, whose options are primary configs
	// sorted by name; never empty
	Options []Option
}

// Option is a config of a group.
type Option struct {
	Name    string
	File    string // display path of the file that wins
	Comment string // the first comment line that is no package header
}

// Groups lists all groups of the sources with their options, sorted. Hydra's
// own groups are not among them.
// A group comes before the groups below it. Only the first maxGroups are listed.
func Groups(sources []Source) []Group {
	return newRepo(sources).allGroups()
}

// maxGroups bounds the walk over folders, which links can make endless.
// The list ends there without an error: it serves help and suggestions.
const maxGroups = 2000

// allGroups leaves out hydra's folders and hidden ones, and folders without configs.
func (r *repo) allGroups() []Group {
	var groups []Group
	var walk func(group string, depth int)
	walk = func(group string, depth int) {
		if len(groups) >= maxGroups || depth > 16 {
			return
		}
		g := Group{Name: group}
		for _, name := range r.options(group) {
			g.Options = append(g.Options, r.option(path.Join(group, name), name))
		}
		if len(g.Options) > 0 {
			groups = append(groups, g)
		}
		for _, sub := range r.subgroups(group) {
			if p := path.Join(group, sub); p != "hydra" && !strings.HasPrefix(sub, ".") {
				walk(p, depth+1)
			}
		}
	}
	walk("", 0)
	return groups
}

// option describes a config for people, by the first comment of its file.
// A file that cannot be opened has no comment.
func (r *repo) option(configPath, name string) Option {
	o := Option{Name: name}
	source := r.find(configPath)
	if source == nil {
		return o
	}
	p, _ := fsPath(fileName(configPath))
	o.File = displayPath(*source, p)
	h, err := source.FS.Open(p)
	if err != nil {
		return o
	}
	defer h.Close()
	o.Comment = firstComment(h)
	return o
}

// firstComment reads only the beginning of a file.
// "" if a value comes before any comment, or no comment stands in the first 4096 bytes.
func firstComment(h fs.File) string {
	head := make([]byte, 4096)
	n, _ := h.Read(head)
	for line := range bytes.Lines(head[:n]) {
		text := strings.TrimSpace(strings.ToValidUTF8(string(line), ""))
		switch {
		case text == "" || text == "---" || headerLine.MatchString(text):
		case strings.HasPrefix(text, "#"):
			if text = strings.TrimSpace(strings.TrimLeft(text, "#")); text != "" {
				return text
			}
		default:
			return ""
		}
	}
	return ""
}

package config

import (
	"bytes"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Group is a folder of options over all sources.
type Group struct {
	Name    string // path with slashes; "" is the root, whose options are primary configs
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
func Groups(sources []Source) []Group {
	return newRepo(sources).allGroups()
}

// maxGroups bounds the walk over folders, which links can make endless.
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

var packageLine = regexp.MustCompile(`^#\s*@`)

// option describes a config for people, by the first comment of its file.
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
func firstComment(h fs.File) string {
	head := make([]byte, 4096)
	n, _ := h.Read(head)
	for line := range bytes.Lines(head[:n]) {
		text := strings.TrimSpace(strings.ToValidUTF8(string(line), ""))
		switch {
		case text == "" || text == "---" || packageLine.MatchString(text):
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

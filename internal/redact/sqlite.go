package redact

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/sqlite"
)

var (
	// Tables of name and value that describe the machine and the session.
	metaTable = regexp.MustCompile(`^(?:META_DATA_.*|.*_META_DATA|TARGET_INFO_SYSTEM_ENV)$`)
	// Names in them whose value is removed whole.
	envKey  = regexp.MustCompile(`(?i)environment`)
	hostKey = regexp.MustCompile(`(?i)hostname|(?:^|_)host$|device_display_name`)
	userKey = regexp.MustCompile(`(?i)(?:^|_)user(?:_?name)?$`)

	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.()%]*=`)
)

const envGone = "(environment removed)"

// LearnSQLite takes names and secrets from a timeline's tables.
// It only reads. In tables of names and values, what follows a sensitive name in the
// row is learned as its value.
func (r *Redactor) LearnSQLite(f *os.File) error {
	return sqlite.Texts(f, func(table string, texts [][]byte) bool {
		key := -1
		for i, t := range texts {
			if t == nil {
				continue
			}
			if vars := environment(t); vars != nil {
				r.learnVars(vars)
			} else if key >= 0 {
				r.learnMeta(string(texts[key]), string(t))
			} else if sensitive(t) && metaTable.MatchString(table) {
				key = i
			}
		}
		return false
	})
}

// sensitive tells a name whose value is removed whole.
func sensitive(key []byte) bool { return envKey.Match(key) || hostKey.Match(key) || userKey.Match(key) }

// learnMeta takes the host, the user or the variables out of a row of facts that nsys stores.
func (r *Redactor) learnMeta(key, value string) {
	switch {
	case hostKey.MatchString(key):
		r.LearnHost(value)
	case userKey.MatchString(key):
		r.LearnUser(value)
	default:
		r.learnVars(strings.FieldsFunc(value, func(c rune) bool { return c == 0 || c == ';' || c == '\n' }))
	}
}

// learnVars takes lines of NAME=VALUE, as nsys stores environments.
func (r *Redactor) learnVars(vars []string) {
	for _, kv := range vars {
		if name, value, ok := strings.Cut(kv, "="); ok {
			r.LearnVar(name, value)
		}
	}
}

// environment splits a block of NUL-separated assignments; nil if t is none.
func environment(t []byte) []string {
	if bytes.IndexByte(t, 0) < 0 {
		return nil
	}
	parts := strings.Split(strings.Trim(string(t), "\x00"), "\x00")
	n := 0
	for _, p := range parts {
		if assignment.MatchString(p) {
			n++
		}
	}
	if n < 2 || 2*n < len(parts) {
		return nil
	}
	return parts
}

// editSQLite removes names, paths, secrets and environments from a row.
// Texts keep their length, because the pages of the file are edited in place.
func (r *Redactor) editSQLite(table string, texts [][]byte) bool {
	return editRow(table, texts, sensitive, r.sameLength) > 0
}

// editRow overwrites the environments of a row, and what follows the name of a sensitive
// value in a table of names and values; other texts become what clean makes of them. It
// counts the texts that changed.
func editRow(table string, texts [][]byte, sensitive func(name []byte) bool, clean func(string) string) (changed int) {
	blank := false
	for _, t := range texts {
		if len(t) == 0 {
			continue
		}
		var text string
		switch {
		case blank, environment(t) != nil:
			text = fillText(envGone, len(t))
		case sensitive(t) && metaTable.MatchString(table):
			blank = true
			continue
		default:
			text = clean(string(t))
		}
		if text != string(t) {
			copy(t, text)
			changed++
		}
	}
	return changed
}

// environTables are the tables of a timeline in which nsys stores environments:
// that of the workload, of the machine's session, and of every process it saw.
func environTables(table string) bool { return table == "StringIds" || metaTable.MatchString(table) }

// BlankEnvironments overwrites the environments that nsys stored in a timeline
// by text of the same length, and zeroes what the same tables do not use; all
// other rows stay as they are. It returns the number of environments.
// It is done to every export that a run makes: nsys stores the whole
// environment of the workload and of the machine, with all tokens in it.
func BlankEnvironments(path string) (int, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, fmt.Errorf("blank environments: %w", err)
	}
	n := 0
	err = sqlite.EditTables(f, environTables, func(table string, texts [][]byte) bool {
		changed := editRow(table, texts, envKey.Match, func(text string) string { return text })
		n += changed
		return changed > 0
	})
	if err := errors.Join(err, f.Close()); err != nil {
		return n, fmt.Errorf("blank environments in %s: %w", path, err)
	}
	return n, nil
}

// fillText is fillWord with blanks behind the word: a sentence, not a name.
func fillText(text string, n int) string {
	if n < len(text) {
		return strings.Repeat("x", n)
	}
	return text + strings.Repeat(" ", n-len(text))
}

// SQLite cleans an SQLite file in place and checks that nothing known is left in
// its bytes.
// On an error the file may be changed in part and must not be used.
func (r *Redactor) SQLite(f *os.File) error {
	if err := sqlite.EditTexts(f, r.editSQLite); err != nil {
		return err
	}
	return r.check(f)
}

// NcuReport writes a cleaned copy of an .ncu-rep into out, which is empty, and
// checks that nothing known is left in its bytes.
// On an error out is worthless.
func (r *Redactor) NcuReport(in io.ReaderAt, size int64, out *os.File) error {
	if err := ncurep.EditTexts(in, size, out, r.cleanString); err != nil {
		return err
	}
	return r.check(out)
}

// cleanString is what redaction does to one text of a binary file.
func (r *Redactor) cleanString(s string) string {
	if environment([]byte(s)) != nil {
		return fillText(envGone, len(s))
	}
	return r.sameLength(s)
}

// check looks for what is left of known names.
func (r *Redactor) check(f io.ReaderAt) error {
	return eachWindow(f, 1<<20, 64<<10, func(data []byte, at int64, last bool) (bool, error) {
		if why := r.leftover(data, at > 0, !last); why != "" {
			return false, errors.New(why)
		}
		return false, nil
	})
}

// Inventory lists the environment variables that a raw report of Nsight Systems
// holds, and those of them that look like secrets. Both are sorted.
// The file is searched byte by byte, because its format is not described: the list may
// miss variables in compressed parts and hold text that only looks like one.
func Inventory(path string) (names, secret []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	err = eachWindow(f, 8<<20, 64<<10, func(data []byte, _ int64, _ bool) (bool, error) {
		for _, kv := range assignments(data) {
			name, value, _ := bytes.Cut(kv, []byte("="))
			names = append(names, string(name))
			if Secret(string(name), string(value)) {
				secret = append(secret, string(name))
			}
		}
		return false, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return sorted(names), sorted(secret), nil
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// assignments are the texts NAME=value behind their length, as protobuf writes
// them.
func assignments(data []byte) [][]byte {
	var out [][]byte
	for i := 0; i+4 < len(data); i++ {
		size, n := binary.Uvarint(data[i : i+3])
		from := i + n
		if n <= 0 || size < 3 || size > 32<<10 || from+int(size) > len(data) || !nameStart(data[from]) {
			continue
		}
		text := data[from : from+int(size)]
		if assignment.Match(text) && isText(text) {
			out = append(out, text)
			i = from + int(size) - 1
		}
	}
	return out
}

func nameStart(c byte) bool { return c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

// SecretNames are the variables of an environment that look secret, sorted.
func SecretNames(env []string) []string {
	var out []string
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); Secret(name, value) {
			out = append(out, name)
		}
	}
	return sorted(out)
}

// Overrides takes the values of the secret variables below a key out of
// overrides, and every other place where such a value stands: an override may
// set them in a mapping further up. Env are the variables by name.
// args is not changed. key is a dotted key such as the one that holds the environment.
func Overrides(args []string, key string, env map[string]string, secret []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		name, _, ok := strings.Cut(arg, "=")
		at := strings.TrimLeft(name, "+~")
		if ok && slices.ContainsFunc(secret, func(s string) bool { return at == key+"."+s || at == key && strings.Contains(arg, s) }) {
			out[i] = name + "=" + Mark
		}
	}
	for _, name := range secret {
		for i := range out {
			if value := env[name]; value != "" && value != Mark {
				out[i] = strings.ReplaceAll(out[i], value, Mark)
			}
		}
	}
	return out
}

// YAML takes the values of keys below a dotted path out of a document. One
// without any stays as it is, byte for byte.
// A path or key that the document lacks is an error: a secret must not be missed.
func YAML(text []byte, path string, keys []string) ([]byte, error) {
	if len(keys) == 0 {
		return text, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("redact the configuration: %w", err)
	}
	at := &doc
	if len(doc.Content) == 1 {
		at = doc.Content[0]
	}
	for key := range strings.SplitSeq(path, ".") {
		if at = entry(at, key); at == nil {
			return nil, fmt.Errorf("redact the configuration: it has no %s", path)
		}
	}
	for _, key := range keys {
		value := entry(at, key)
		if value == nil {
			return nil, fmt.Errorf("redact the configuration: it has no %s.%s", path, key)
		}
		*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: Mark, Style: yaml.DoubleQuotedStyle}
	}
	clean, err := encodeYAML(&doc)
	if err != nil {
		return nil, fmt.Errorf("redact the configuration: %w", err)
	}
	return clean, nil
}

// encodeYAML indents as the files of a run are.
func encodeYAML(doc *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := errors.Join(e.Encode(doc), e.Close())
	return b.Bytes(), err
}

// entry is the value of a key of a mapping; nil if there is none.
func entry(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

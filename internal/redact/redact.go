// Package redact removes what a run must not give away: secrets, paths, and the
// names of hosts and users. It knows what is secret; where the texts of a file
// lie, the package of that format knows (sqlite, ncurep).
//
// Rules for secrets, paths, names and command lines make up two thirds; the rest
// walks the files of a run.
package redact

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Words that stand for what redaction removes from text.
const (
	hostMark = "redacted-host"
	userMark = "redacted-user"
	pathMark = "/redacted"
)

// Top folders whose contents are taken as paths of the file system. The list is
// widened by those that occur in the run's own provenance. It is a list because
// operators of exported graphs have names like /model/layers.0/MatMul.
var fileRoots = []string{
	"home", "Users", "root", "tmp", "var", "opt", "usr", "etc", "mnt", "media", "data", "scratch", "workspace", "work", "workdir",
	"srv", "run", "proc", "sys", "dev", "lib", "lib64", "bin", "sbin", "nfs", "lustre", "gpfs", "fsx", "efs", "shared", "projects",
	"project", "cluster", "storage", "datasets", "models", "private", "Volumes", "kaggle", "raid", "nvme", "ssd", "afs", "cephfs",
}

// Names that belong to nobody: they are removed if they are a whole value,
// not if they are a word of a sentence.
var commonNames = []string{
	"root", "user", "users", "admin", "nobody", "ubuntu", "debian", "localhost", "local", "host", "node", "vm", "dev", "test", "home",
	"docker", "runner", "worker", "server", "gpu", "cuda", "nvidia", "jovyan", "model", "data", "main", "master", "build", "redacted",
}

// Redactor removes paths, host and user names and secrets. It is made once for a
// set of files and learns names first, so that a name known from one file is
// removed from all. It is not safe for concurrent use.
type Redactor struct {
	hosts   map[string]bool
	users   map[string]bool
	secrets *Values
	roots   map[string]bool
	paths   map[string]int // number given to each path

	// Made by build from the above.
	pathRE  *regexp.Regexp
	nameRE  *regexp.Regexp // nil when no name is known
	names   []string       // long names
	builtOK bool           // false after anything was learned
}

// New returns a Redactor that knows this machine and user.
func New() *Redactor {
	r := &Redactor{hosts: map[string]bool{}, users: map[string]bool{}, secrets: NewValues(nil), roots: map[string]bool{}, paths: map[string]int{}}
	for _, d := range fileRoots {
		r.roots[d] = true
	}
	if h, err := os.Hostname(); err == nil {
		r.LearnHost(h)
	}
	if u, err := user.Current(); err == nil {
		r.LearnUser(u.Username)
		r.LearnPath(u.HomeDir)
	}
	if d, err := os.Getwd(); err == nil {
		r.LearnPath(d)
	}
	return r
}

// LearnHost takes a host name, with and without its domain.
func (r *Redactor) LearnHost(h string) {
	if h = strings.TrimSpace(h); h == "" || len(h) > 255 || h == "localhost" {
		return
	}
	r.hosts[h] = true
	if short, _, ok := strings.Cut(h, "."); ok && short != "" {
		r.hosts[short] = true
	}
	r.builtOK = false
}

// LearnUser takes a login name.
func (r *Redactor) LearnUser(u string) {
	if u = strings.TrimSpace(u); u == "" || len(u) > 255 {
		return
	}
	r.users[u] = true
	r.builtOK = false
}

// LearnPath takes the top folder of a path as one of the file system, and the
// owner of a home as a user.
func (r *Redactor) LearnPath(p string) {
	if !strings.HasPrefix(p, "/") {
		return
	}
	parts := strings.Split(strings.Trim(path.Clean(p), "/"), "/")
	if len(parts) < 2 || parts[0] == "" {
		return
	}
	r.roots[parts[0]] = true
	if parts[0] == "home" || parts[0] == "Users" {
		r.LearnUser(parts[1])
	}
	r.builtOK = false
}

// LearnValues takes the secrets of a run.
func (r *Redactor) LearnValues(v *Values) {
	for value := range v.known {
		r.secrets.add(value)
	}
}

// LearnVar takes what an environment variable gives away. Only values that
// would be removed from env.json are secrets: PATH and HOME hold ordinary words.
func (r *Redactor) LearnVar(name, value string) {
	value = strings.Trim(value, `"`)
	switch name {
	case "HOSTNAME", "HOST", "NODENAME", "SLURMD_NODENAME", "SLURM_JOB_NODELIST", "POD_NAME", "COMPUTERNAME", "SLURM_SUBMIT_HOST":
		r.LearnHost(value)
	case "USER", "LOGNAME", "USERNAME", "SUDO_USER", "SLURM_JOB_USER":
		r.LearnUser(value)
	}
	for _, p := range strings.Split(value, ":") {
		r.LearnPath(p)
	}
	r.secrets.LearnVar(name, value)
}

// build compiles what was learnt.
func (r *Redactor) build() {
	if r.builtOK {
		return
	}
	var roots []string
	for d := range r.roots {
		roots = append(roots, regexp.QuoteMeta(d))
	}
	slices.Sort(roots)
	// A path starts where no word or path goes on, or after an option of one
	// letter, a file URL or a color of a terminal; it ends before quotes,
	// brackets, blanks and separators of lists.
	r.pathRE = regexp.MustCompile(`(^|[^A-Za-z0-9_./~-]|\bfile://|(?:^|\s)-[A-Za-z]|\x1b\[[0-9;]*[A-Za-z])((?:/(?:` + strings.Join(roots, "|") + `)|~[A-Za-z0-9_-]*)(?:/[^\s/"'<>|:;,()\[\]{}\x00-\x1f*?\\&]+)+/?|[A-Za-z]:\\[^\s"'<>|;,()\x00-\x1f*?]+|/(?:home|Users|root)\b)`)
	r.names = r.longNames()
	r.nameRE = nameRegexp(r.names)
	r.builtOK = true
}

// longNames are the names that are removed wherever they stand as a word.
func (r *Redactor) longNames() []string {
	var out []string
	for _, set := range []map[string]bool{r.hosts, r.users} {
		for n := range set {
			if len(n) >= 3 && !slices.Contains(commonNames, strings.ToLower(n)) {
				out = append(out, n)
			}
		}
	}
	return out
}

// longestFirst: of a host with and without its domain the longer must match first.
func longestFirst(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }

// nameRegexp matches names as words, with the domain that may follow a host.
func nameRegexp(names []string) *regexp.Regexp {
	if len(names) == 0 {
		return nil
	}
	slices.SortFunc(names, longestFirst)
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = regexp.QuoteMeta(n)
	}
	return regexp.MustCompile(`(^|[^A-Za-z0-9])(` + strings.Join(quoted, "|") + `)($|[^A-Za-z0-9])`)
}

// Text removes everything from free text.
// The same path becomes the same word in all files of one Redactor, so that they can
// still be joined by it.
func (r *Redactor) Text(s string) string {
	r.build()
	if mark := r.wholeName(s); mark != "" {
		return mark
	}
	s = secrets(r.secrets.Text(s))
	s = r.replacePaths(s, r.pathWord)
	return r.replaceNames(s, func(name string) string {
		if r.hosts[name] {
			return hostMark
		}
		return userMark
	})
}

// FileName is Text for the path of a file within a run. A host between the dots of
// a name, as files of ranks have it, goes even if it is a common word.
func (r *Redactor) FileName(rel string) string {
	dir, base := path.Split(r.Text(rel))
	parts := strings.Split(base, ".")
	for i := 1; i < len(parts)-1; i++ {
		if r.hosts[parts[i]] {
			parts[i] = hostMark
		}
	}
	return dir + strings.Join(parts, ".")
}

// sameLength is text for a place whose length may not change.
// It counts bytes. What cannot be told apart by words is filled with x.
func (r *Redactor) sameLength(s string) string {
	r.build()
	if r.wholeName(s) != "" {
		return fillWord(len(s))
	}
	blot := func(m string) string { return fillWord(len(m)) }
	if r.secrets.in([]byte(s)) {
		text := []byte(s)
		r.secrets.finder().overwrite(text)
		s = string(text)
	}
	for _, f := range secretForms {
		if f.hinted(s) {
			s = f.replace(s, blot)
		}
	}
	if redactURLs(s) != s {
		s = replaceTail(urlUser, s, func(head, m string) string { return fillWord(len(m)-len(head)-1) + "@" })
		s = replaceTail(urlQuery, s, func(head, m string) string { return fillWord(len(m) - len(head)) })
	}
	s = r.replacePaths(s, func(p string) string { return fillPath(len(p)) })
	return r.replaceNames(s, blot)
}

// replaceTail replaces what follows the first group of each match.
func replaceTail(re *regexp.Regexp, s string, tail func(head, match string) string) string {
	return re.ReplaceAllStringFunc(s, func(m string) string {
		head := re.FindStringSubmatch(m)[1]
		return head + tail(head, m)
	})
}

// wholeName is the mark for a text that is nothing but a known name; "" for any other.
func (r *Redactor) wholeName(s string) string {
	switch t := strings.TrimSpace(s); {
	case t == "":
		return ""
	case r.hosts[t]:
		return hostMark
	case r.users[t]:
		return userMark
	}
	return ""
}

// Paths that redaction has put there are left alone, so it may run twice.
func (r *Redactor) replacePaths(s string, word func(string) string) string {
	if !strings.ContainsAny(s, `/\`) {
		return s
	}
	return r.pathRE.ReplaceAllStringFunc(s, func(m string) string {
		sub := r.pathRE.FindStringSubmatch(m)
		if strings.HasPrefix(sub[2], pathMark) {
			return m
		}
		return sub[1] + word(sub[2])
	})
}

// replaceNames passes twice: neighboring names share the character between
// them, which one pass cannot match for both.
func (r *Redactor) replaceNames(s string, word func(string) string) string {
	if !slices.ContainsFunc(r.names, func(n string) bool { return strings.Contains(s, n) }) {
		return s
	}
	for range 2 {
		s = r.nameRE.ReplaceAllStringFunc(s, func(m string) string {
			sub := r.nameRE.FindStringSubmatch(m)
			return sub[1] + word(sub[2]) + sub[3]
		})
	}
	return s
}

var plainExt = regexp.MustCompile(`^\.[A-Za-z0-9]{1,8}$`)

// pathWord gives equal paths equal words, and keeps the ending that says what
// kind of file it is.
func (r *Redactor) pathWord(p string) string {
	n, ok := r.paths[p]
	if !ok {
		n = len(r.paths) + 1
		r.paths[p] = n
	}
	ext := path.Ext(p)
	if !plainExt.MatchString(ext) {
		ext = ""
	}
	return fmt.Sprintf("%s/%d%s", pathMark, n, ext)
}

// Removed tells a name that redaction put in the place of another.
// A text of x alone counts: names shorter than the mark become that.
func Removed(name string) bool {
	switch strings.TrimRight(name, "x") {
	case "":
		return name != ""
	case "redacted", hostMark, userMark:
		return true
	}
	return false
}

// fillPath has n bytes; fillWord and fillText too.
func fillPath(n int) string {
	if n < len(pathMark)+2 {
		return strings.Repeat("x", n)
	}
	return pathMark + "/" + strings.Repeat("x", n-len(pathMark)-1)
}

// Blotted tells a path that redaction put in place of another.
func Blotted(path string) bool { return strings.HasPrefix(path, pathMark+"/") }

func fillWord(n int) string {
	const word = "redacted"
	if n < len(word) {
		return strings.Repeat("x", max(n, 0))
	}
	return word + strings.Repeat("x", n-len(word))
}

// Marked tells a text out of which redaction took something.
// A command line that is marked cannot be run again as it is.
func Marked(text string) bool {
	return strings.Contains(text, pathMark+"/") || strings.Contains(text, hostMark) || strings.Contains(text, userMark) || Removed(text)
}

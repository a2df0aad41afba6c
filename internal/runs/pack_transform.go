package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/redact"
)

// maxTextFile bounds what is cleaned in memory.
const maxTextFile = 512 << 20

// transform makes a changed copy of a file if the options ask for one.
// src is where the content lies; altered says what was changed, "" for nothing;
// omitted says why the file is left out. An error ends the pack.
func (p *packer) transform(rel string) (src, altered string, omitted fact.Fact, err error) {
	src = p.run.Path(rel)
	if redact.Cannot(rel) {
		return p.rawReport(rel, src)
	}
	if format.Named(rel) == format.NcuReport {
		return p.transformNCU(rel, src)
	}
	switch {
	case p.red == nil:
		return p.hide(src)
	case format.Named(rel) == format.SQLite: // whether it is one, its reader finds out
		return p.cleanSQLite(src)
	}
	data, err := readRegular(src, maxTextFile)
	if err != nil {
		return "", "", fact.Fact{}, err
	}
	clean := data
	if rel == EnvName {
		clean, err = redactEnv(data)
	}
	if err == nil {
		clean, err = p.red.File(rel, clean)
	}
	if err != nil {
		return "", "", unclean(err), nil
	}
	if string(clean) == string(data) {
		return src, "", fact.Fact{}, nil
	}
	dst := p.spool()
	return dst, "redacted", fact.Fact{}, os.WriteFile(dst, clean, 0o644)
}

// rawReport leaves the raw files of Nsight Systems out, unless they are asked for.
func (p *packer) rawReport(rel, src string) (path, altered string, omitted fact.Fact, err error) {
	if !p.o.NsysReports {
		return "", "", fact.New(packRaw), nil
	}
	names, secret, err := redact.Inventory(src)
	if err != nil {
		return "", "", fact.Fact{}, err
	}
	params := []fact.Param{fact.Count("n", len(names))}
	if len(names) > 0 {
		params = append(params, fact.Name("names", strings.Join(names, ", ")))
	}
	if len(secret) > 0 {
		params = append(params, fact.Name("secrets", strings.Join(secret, ", ")))
	}
	p.index.Notes = append(p.index.Notes, Warning{Path: rel, Why: fact.New(packAsItIs, params...)})
	return src, "", fact.Fact{}, nil
}

// hide makes a copy without the secrets of the run if a file has any: a run
// that was killed may still have them.
func (p *packer) hide(src string) (path, altered string, omitted fact.Fact, err error) {
	in, err := os.Open(src)
	if err != nil {
		return "", "", fact.Fact{}, err
	}
	found, err := p.secrets.InFile(in)
	in.Close()
	if err != nil || !found {
		return src, "", fact.Fact{}, err
	}
	dst := p.spool() + filepath.Ext(src) // the name tells how it is cleaned
	out, err := os.Create(dst)
	if err != nil {
		return "", "", fact.Fact{}, err
	}
	if err := errors.Join(copyFile(out, src), out.Close()); err != nil {
		return "", "", fact.Fact{}, err
	}
	if _, err := p.secrets.CleanFile(dst); err != nil {
		return "", "", unclean(err), nil
	}
	return dst, "secrets removed", fact.Fact{}, nil
}

// unclean says that a file cannot go into the pack because redaction failed.
func unclean(err error) fact.Fact { return fact.New(packUnclean, fact.Error("error", err)) }

// secretsOf are the values that a pack of a run must not have: of this
// environment, and of the command that only the run's owner can read.
func secretsOf(r *Run) *redact.Values {
	v := redact.NewValues(os.Environ())
	if exact, err := readRegular(r.Path(PrivateName), maxManifest); err == nil {
		v.LearnConfig(exact) // JSON is YAML
	}
	return v
}

// spool names a fresh file for a changed copy.
func (p *packer) spool() string {
	return filepath.Join(p.tmp, fmt.Sprintf("f%d", len(p.index.Files)+len(p.index.Omitted)))
}

// A file with a write-ahead log is left out: its pages are not all in the file.
func (p *packer) cleanSQLite(src string) (dst, altered string, omitted fact.Fact, err error) {
	if fi, err := os.Stat(src + "-wal"); err == nil && fi.Size() > 0 {
		return "", "", fact.New(packLog), nil
	}
	dst = p.spool()
	f, err := os.Create(dst)
	if err != nil {
		return "", "", fact.Fact{}, err
	}
	defer f.Close()
	if err := copyFile(f, src); err != nil {
		return "", "", fact.Fact{}, err
	}
	if err := p.red.SQLite(f); err != nil {
		return "", "", unclean(err), nil
	}
	return dst, "redacted", fact.Fact{}, nil
}

// copyFile does not follow the context: files are copied once they are complete.
func copyFile(w io.Writer, src string) error {
	f, err := os.Open(src)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// A report that cannot be stripped is packed whole with a note; one that cannot be
// cleaned is left out.
func (p *packer) transformNCU(rel, src string) (dst, altered string, omitted fact.Fact, err error) {
	var done []string
	dst = src
	if p.o.StripCubins {
		out := p.spool() + "s"
		switch err := rewrite(dst, out, func(r io.ReaderAt, size int64, w *os.File) error { return p.o.strip(r, size, w) }); {
		case IsDiskFull(err):
			return "", "", fact.Fact{}, err
		case err != nil:
			p.index.Notes = append(p.index.Notes, Warning{Path: rel, Why: fact.New(packNotStripped, fact.Error("error", err))})
		default:
			dst, done = out, append(done, "stripped")
		}
	}
	if p.red == nil {
		hidden, altered, omitted, err := p.hide(dst)
		if altered != "" {
			done = append(done, altered)
		}
		return hidden, strings.Join(done, ", "), omitted, err
	}
	out := p.spool() + "r"
	err = rewrite(dst, out, p.red.NcuReport)
	if IsDiskFull(err) {
		return "", "", fact.Fact{}, err
	}
	if err != nil {
		return "", "", unclean(err), nil
	}
	return out, strings.Join(append(done, "redacted"), ", "), fact.Fact{}, nil
}

// rewrite leaves dst as change left it, also with an error.
func rewrite(src, dst string, change func(io.ReaderAt, int64, *os.File) error) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(dst)
	if err != nil {
		return err
	}
	return errors.Join(change(in, fi.Size(), out), out.Close())
}

// learnRun takes the names that a run's own provenance records.
func learnRun(r *redact.Redactor, run *Run) {
	m := run.Manifest()
	r.LearnHost(m.Owner.Host)
	r.LearnUser(m.Owner.User)
	r.LearnPath(run.dir)
	for _, s := range m.Steps {
		for _, a := range s.Attempts {
			r.LearnPath(a.Dir)
			for _, f := range a.Files {
				if f.Of != nil { // a rank of a job
					r.LearnHost(f.Of.Host)
				}
			}
		}
	}
	env, err := run.readEnv()
	if err != nil {
		return
	}
	r.LearnHost(env.Host.Name)
	r.LearnUser(env.Host.User)
	r.LearnPath(env.Host.Dir)
	for name, v := range env.Environment {
		if v.Redacted == "" {
			r.LearnVar(name, v.Value)
		}
	}
}

// redactEnv removes from env.json what names the machine and its user.
func redactEnv(data []byte) ([]byte, error) {
	var env Env
	if err := json.Unmarshal(data, &env); err != nil {
		return nil, err
	}
	if env.Missing == nil {
		env.Missing = map[string]string{}
	}
	gone := func(field string) { env.Missing[field] = "removed by redaction" }
	env.Host.Name, env.Host.User, env.Host.Dir, env.Environment = "", "", "", nil
	for _, f := range []string{"host.name", "host.user", "host.dir", "environment"} {
		gone(f)
	}
	if env.Host.Container != nil {
		env.Host.Container.Evidence, env.Host.Container.Image = "removed by redaction", ""
	}
	if env.Git != nil && env.Git.Remote != "" {
		env.Git.Remote = ""
		gone("git.remote")
	}
	out, err := json.MarshalIndent(env, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(out, '\n'), nil
}

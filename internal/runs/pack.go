package runs

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/redact"
)

// PackSchemaVersion is the version of pack.json that this package writes.
const PackSchemaVersion = 1

// PackExt is the usual ending of a pack's name.
const PackExt = ".deepprof.tar.zst"

// packRoot is the folder of the members that are the run's files; format.PackIndex
// comes before them.
const packRoot = "run/"

// PackIndex is the manifest of hashes at the head of a pack.
type PackIndex struct {
	Schema   int       `json:"schema"`
	ID       string    `json:"id"`
	Created  time.Time `json:"created"`
	Stripped bool      `json:"stripped,omitempty"`
	Redacted bool      `json:"redacted,omitempty"`
	Files    []File    `json:"files"` // everything that follows, in order
	// files of the run that are not in the pack, and why
	Omitted []Warning   `json:"omitted,omitempty"`
	Notes   []Warning   `json:"notes,omitempty"` // files that are in it otherwise than asked for
	entries []packEntry // where the content comes from, in the order of Files
}

// PackOptions says what to change on the way.
type PackOptions struct {
	StripCubins bool // drop the binaries in .ncu-rep files
	Redact      bool // remove paths, names of hosts and users, and the environment
	Overwrite   bool // replace an existing file; else ErrExists
	// NsysReports packs the raw files of Nsight Systems too, which cannot be
	// cleaned. Their notes say what is in them.
	NsysReports bool
	// strip writes an .ncu-rep without its embedded binaries; nil is ncurep.Strip.
	strip func(r io.ReaderAt, size int64, w io.Writer) error
}

// PackReport says what went into a pack.
type PackReport struct {
	Path    string    `json:"path"`
	Bytes   int64     `json:"bytes"`    // of the pack
	RunSize int64     `json:"run_size"` // of the run's files
	Files   int       `json:"files"`
	Altered []File    `json:"altered,omitempty"` // with size and hash as packed
	Omitted []Warning `json:"omitted,omitempty"` // left out, and why
	Notes   []Warning `json:"notes,omitempty"`   // in it otherwise than asked for
}

// packEntry is a file on its way into a pack.
type packEntry struct {
	File
	src string // where its content lies now
}

// Pack writes a run into one compressed file that Open opens. The pack appears
// whole or not at all. A run that is still being written is refused.
// r may be open for reading. .nsys-rep files are left out unless asked for, secrets
// are removed always, names and paths with Redact.
func Pack(ctx context.Context, r *Run, out string, o PackOptions) (PackReport, error) {
	rep := PackReport{Path: out}
	fail := func(err error) (PackReport, error) {
		return rep, fmt.Errorf("pack run %s: %w", r.ID(), err)
	}
	if r.Status() == StatusRunning {
		return fail(ErrRunning)
	}
	if o.strip == nil {
		o.strip = ncurep.Strip
	}
	if _, err := os.Lstat(out); err == nil && !o.Overwrite {
		return fail(fmt.Errorf("%s: %w", out, ErrExists))
	}
	// Changed copies go beside the output: that disk must have room anyway.
	tmp, err := os.MkdirTemp(filepath.Dir(out), tempPrefix+"pack-*")
	if err != nil {
		return fail(unwritable(filepath.Dir(out), err))
	}
	defer os.RemoveAll(tmp)
	p := &packer{run: r, o: o, tmp: tmp, rep: &rep, secrets: secretsOf(r)}
	index, err := p.prepare(ctx)
	if err != nil {
		return fail(err)
	}
	if rep.Bytes, err = writePack(ctx, index, out); err != nil {
		return fail(err)
	}
	rep.Files, rep.Omitted, rep.Notes = len(index.Files), index.Omitted, index.Notes
	return rep, nil
}

// An UnwritableError is a folder in which Pack could not make anything.
type UnwritableError struct {
	Dir string
	Err error
}

// Error names the folder, which the user can change.
func (e *UnwritableError) Error() string { return fmt.Sprintf("write into %s: %v", e.Dir, e.Err) }
func (e *UnwritableError) Unwrap() error { return e.Err }

// unwritable names the folder rather than the file of ours that was refused.
func unwritable(dir string, err error) error {
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	return &UnwritableError{absolute(dir), err}
}

// A packer makes one pack; tmp holds changed copies until the pack is written.
type packer struct {
	run     *Run
	o       PackOptions
	tmp     string
	red     *redact.Redactor // nil without Redact
	secrets *redact.Values
	rep     *PackReport
	index   PackIndex
}

// prepare makes the changed copies and hashes everything.
func (p *packer) prepare(ctx context.Context) (PackIndex, error) {
	p.index = PackIndex{
		Schema: PackSchemaVersion, ID: p.run.ID(), Created: time.Now().UTC().Truncate(time.Second),
		Stripped: p.o.StripCubins, Redacted: p.o.Redact,
	}
	rels, err := p.listFiles()
	if err != nil {
		return p.index, err
	}
	if p.o.Redact {
		p.red = redact.New()
		learnRun(p.red, p.run)
		p.red.LearnValues(p.secrets)
		p.learn(rels)
	}
	renamed := map[string]File{} // by the path in the run
	for _, rel := range rels {
		if rel == ManifestName {
			continue
		}
		e, err := p.prepareFile(ctx, rel)
		if err != nil {
			return p.index, err
		}
		if e.src != "" {
			p.index.Files = append(p.index.Files, e.File)
			p.index.entries = append(p.index.entries, e)
		}
		renamed[rel] = e.File
	}
	m, err := p.manifest(ctx, renamed)
	if err != nil {
		return p.index, err
	}
	p.index.Files = append([]File{m.File}, p.index.Files...)
	p.index.entries = append([]packEntry{m}, p.index.entries...)
	if p.red != nil {
		for _, list := range [][]Warning{p.index.Omitted, p.index.Notes} {
			for i := range list {
				list[i] = Warning{Path: p.red.Text(list[i].Path), Why: list[i].Why.Map(p.red.Text)}
			}
		}
	}
	return p.index, nil
}

// listFiles returns the plain files of the run in order, and notes what is not
// one.
func (p *packer) listFiles() ([]string, error) {
	var rels []string
	err := filepath.WalkDir(p.run.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || internalName(d.Name()) {
			return err
		}
		rel, err := filepath.Rel(p.run.dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel == packIndexCopy {
			return nil
		}
		if !d.Type().IsRegular() || !localPath(rel) {
			p.omit(rel, fact.New(packNotPlain))
			return nil
		}
		rels = append(rels, rel)
		if fi, err := d.Info(); err == nil {
			p.rep.RunSize += fi.Size()
		}
		return nil
	})
	return rels, err
}

// omit: rel is the path before redaction; prepare cleans it at the end.
func (p *packer) omit(rel string, why fact.Fact) {
	p.index.Omitted = append(p.index.Omitted, Warning{Path: rel, Why: why})
}

// learn reads names out of every timeline, and the hosts of ranks that left none,
// before anything is cleaned. A file that cannot be read is dealt with when it is
// its turn.
func (p *packer) learn(rels []string) {
	for _, rel := range rels {
		if KindOf(rel) == RankFile {
			var rank struct{ Host string }
			if readInto(p.run.Path(rel), json.Unmarshal, &rank) == nil {
				p.red.LearnHost(rank.Host)
			}
		}
		if format.Named(rel) != format.SQLite {
			continue
		}
		if f, err := os.Open(p.run.Path(rel)); err == nil {
			p.red.LearnSQLite(f)
			f.Close()
		}
	}
}

// prepareFile returns the entry of one file; src is empty for a file that is
// left out, and Omitted says why.
func (p *packer) prepareFile(ctx context.Context, rel string) (packEntry, error) {
	src, altered, why, err := p.transform(rel)
	if err != nil {
		return packEntry{}, fmt.Errorf("%s: %w", rel, err)
	}
	name := rel
	if p.red != nil {
		name = p.red.FileName(rel)
		if why.IsZero() && (!localPath(name) || slices.ContainsFunc(p.index.Files, func(f File) bool { return f.Path == name })) { // two files with one name
			why = fact.New(packName)
		}
	}
	if !why.IsZero() {
		p.omit(rel, why)
		return packEntry{File: File{Path: name, Omitted: fact.Stored{Fact: why}}}, nil
	}
	f, err := hashFile(ctx, src)
	if err != nil {
		return packEntry{}, fmt.Errorf("%s: %w", rel, err)
	}
	f.Path, f.Altered = name, altered
	if altered != "" {
		p.rep.Altered = append(p.rep.Altered, f)
	}
	return packEntry{File: f, src: src}, nil
}

// manifest writes the run.json of the pack: the run's own, with the files as
// they are in the pack.
func (p *packer) manifest(ctx context.Context, files map[string]File) (packEntry, error) {
	m := p.run.Manifest()
	m.Status = p.run.Status()
	m.Pack = &PackNote{Created: p.index.Created, Stripped: p.o.StripCubins, Redacted: p.o.Redact}
	for i := range m.Steps {
		s := &m.Steps[i]
		s.State = s.seen(ownerDead, m.Status)
		for j := range s.Attempts {
			for k := range s.Attempts[j].Files {
				f := &s.Attempts[j].Files[k]
				now, ok := files[f.Path]
				if ok {
					f.Path = now.Path
				}
				switch {
				case !ok:
					f.Omitted.Fact = fact.New(packGone)
				case !now.Omitted.IsZero():
					f.Omitted = now.Omitted
				case now.Altered != "":
					f.Size, f.SHA256, f.Altered = now.Size, now.SHA256, now.Altered
				}
			}
		}
	}
	if p.red != nil {
		m.Owner = Owner{}
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		data, err = p.secrets.JSON(data)
	}
	if err == nil && p.red != nil {
		data, err = p.red.JSON(data)
	}
	if err != nil {
		return packEntry{}, err
	}
	dst := filepath.Join(p.tmp, "manifest")
	if err := os.WriteFile(dst, append(data, '\n'), 0o644); err != nil {
		return packEntry{}, err
	}
	f, err := hashFile(ctx, dst)
	f.Path = ManifestName
	return packEntry{File: f, src: dst}, err
}

// writePack writes the archive, whole or not at all, and gives its size.
func writePack(ctx context.Context, index PackIndex, out string) (int64, error) {
	err := writeAtomic(out, func(w io.Writer) error {
		z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedDefault))
		if err != nil {
			return err
		}
		return errors.Join(writeMembers(ctx, tar.NewWriter(z), index), z.Close())
	})
	if err != nil {
		return 0, err
	}
	fi, err := os.Stat(out)
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// The index comes first, so that a reader can check names and sizes before it writes.
func writeMembers(ctx context.Context, t *tar.Writer, index PackIndex) error {
	head, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return err
	}
	if err := t.WriteHeader(member(format.PackIndex, int64(len(head)), index.Created)); err != nil {
		return err
	}
	if _, err := t.Write(head); err != nil {
		return err
	}
	for _, e := range index.entries {
		if err := t.WriteHeader(member(packRoot+e.Path, e.Size, index.Created)); err != nil {
			return err
		}
		if err := writeMember(ctx, t, e); err != nil {
			return fmt.Errorf("%s: %w", e.Path, err)
		}
	}
	return t.Close()
}

// member leaves out owner and times of the files, which say who and where.
func member(name string, size int64, when time.Time) *tar.Header {
	return &tar.Header{Name: name, Size: size, Mode: 0o644, ModTime: when, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
}

// A file that changed since it was hashed is an error.
func writeMember(ctx context.Context, t *tar.Writer, e packEntry) error {
	f, err := os.Open(e.src)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(t, h), io.LimitReader(readerCtx{ctx, f}, e.Size))
	if err != nil {
		return err
	}
	if n != e.Size || hex.EncodeToString(h.Sum(nil)) != e.SHA256 {
		return errors.New("it changed while it was packed")
	}
	return nil
}

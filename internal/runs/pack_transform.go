package runs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxTextFile bounds what is cleaned in memory.
const maxTextFile = 512 << 20

// transform makes a changed copy of a file where the options ask for one.
func (p *packer) transform(rel string) (src, altered, omitted string, err error) {
	src = p.run.Path(rel)
	ext := strings.ToLower(filepath.Ext(rel))
	if ext == ".ncu-rep" {
		return p.transformNCU(rel, src)
	}
	if p.red == nil {
		return src, "", "", nil
	}
	switch {
	case ext == ".nsys-rep" || ext == ".qdstrm":
		return "", "", "it holds the environment of the machine in a form that cannot be cleaned; its SQLite export can", nil
	case isSQLite(rel):
		return p.cleanSQLite(rel, src)
	}
	data, err := readRegular(src, maxTextFile)
	if err != nil {
		return "", "", "", err
	}
	clean, err := p.red.file(rel, data)
	if err != nil {
		return "", "", err.Error(), nil
	}
	if why := p.red.leftover(clean, false, false); why != "" {
		return "", "", why, nil
	}
	if string(clean) == string(data) {
		return src, "", "", nil
	}
	dst := p.spool()
	return dst, "redacted", "", os.WriteFile(dst, clean, 0o644)
}

// spool names a fresh file for a changed copy.
func (p *packer) spool() string {
	return filepath.Join(p.tmp, fmt.Sprintf("f%d", len(p.index.Files)+len(p.index.Omitted)))
}

func (p *packer) cleanSQLite(rel, src string) (dst, altered, omitted string, err error) {
	if fi, err := os.Stat(src + "-wal"); err == nil && fi.Size() > 0 {
		return "", "", "part of it is still in its write-ahead log", nil
	}
	dst = p.spool()
	f, err := os.Create(dst)
	if err != nil {
		return "", "", "", err
	}
	defer f.Close()
	if err := copyFile(f, src); err != nil {
		return "", "", "", err
	}
	if err := p.red.sqlite(f); err != nil {
		return "", "", "it cannot be cleaned: " + err.Error(), nil
	}
	return dst, "redacted", "", nil
}

func copyFile(w io.Writer, src string) error {
	f, err := os.Open(src)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

func (p *packer) transformNCU(rel, src string) (dst, altered, omitted string, err error) {
	var done []string
	dst = src
	if p.o.StripCubins {
		out := p.spool() + "s"
		switch err := rewrite(dst, out, p.o.Strip); {
		case IsDiskFull(err):
			return "", "", "", err
		case err != nil:
			p.index.Notes = append(p.index.Notes, Warning{rel, "not stripped: " + err.Error()})
		default:
			dst, done = out, append(done, "stripped")
		}
	}
	if p.red == nil {
		return dst, strings.Join(done, ", "), "", nil
	}
	out := p.spool() + "r"
	err = rewrite(dst, out, func(r io.ReaderAt, size int64, w io.Writer) error {
		return editFramed(r, size, w, p.red.cleanString)
	})
	if err == nil {
		err = p.checkFile(out)
	}
	if IsDiskFull(err) {
		return "", "", "", err
	}
	if err != nil {
		return "", "", "it cannot be cleaned: " + err.Error(), nil
	}
	return out, strings.Join(append(done, "redacted"), ", "), "", nil
}

// cleanString is what redaction does to one text of a binary file.
func (r *redactor) cleanString(s string) string {
	if environment([]byte(s)) != nil {
		return fillText(envGone, len(s))
	}
	return r.sameLength(s)
}

func (p *packer) checkFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return p.red.checkBytes(f)
}

func rewrite(src, dst string, change func(io.ReaderAt, int64, io.Writer) error) error {
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

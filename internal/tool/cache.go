package tool

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// A cache remembers what was learnt of a binary, one JSON file per
// fingerprint. It is an optimization only: whatever goes wrong with it is the
// same as an empty one.
type cache struct{ dir string } // "" keeps nothing

// cacheFormat is part of every file; another number is not read.
const cacheFormat = 2

// An entry is what is known of one binary.
type entry struct {
	Format  int       `json:"format"`
	Name    string    `json:"name"`
	Path    string    `json:"path"` // where it was when it was asked; for people
	Version Version   `json:"version"`
	Asked   time.Time `json:"asked"`
	// Listings holds the output of each question put to the tool, by its
	// arguments, so that what is asked of it can change without asking again.
	Listings map[string]string `json:"listings,omitempty"`
}

func (s System) cache() cache {
	switch s.CacheDir {
	case "off":
		return cache{}
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return cache{}
		}
		return cache{filepath.Join(base, "deepprof", "tools")}
	}
	return cache{s.CacheDir}
}

func (c cache) path(key string) string { return filepath.Join(c.dir, key+".json") }

func (c cache) get(key string) (entry, bool) {
	if c.dir == "" {
		return entry{}, false
	}
	data, err := os.ReadFile(c.path(key))
	if err != nil {
		return entry{}, false
	}
	var e entry
	if json.Unmarshal(data, &e) != nil || e.Format != cacheFormat || e.Version.IsZero() {
		return entry{}, false
	}
	return e, true
}

func (c cache) version(key string) (Version, bool) {
	e, ok := c.get(key)
	return e.Version, ok
}

func (c cache) listing(key, question string) (string, bool) {
	e, _ := c.get(key)
	text, ok := e.Listings[question]
	return text, ok
}

// put changes the entry of key and writes it back atomically.
func (c cache) put(key string, change func(*entry)) {
	if c.dir == "" || os.MkdirAll(c.dir, 0o755) != nil {
		return
	}
	e, _ := c.get(key)
	change(&e)
	e.Format, e.Asked = cacheFormat, time.Now().UTC().Truncate(time.Second)
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return
	}
	tmp, err := os.CreateTemp(c.dir, key+".tmp*")
	if err != nil {
		return
	}
	_, err = tmp.Write(append(data, '\n'))
	if cerr := tmp.Close(); err != nil || cerr != nil || os.Rename(tmp.Name(), c.path(key)) != nil {
		os.Remove(tmp.Name())
	}
}

// named finds the absolute paths that a launcher script mentions.
var named = regexp.MustCompile(`/[A-Za-z0-9_.+@/-]+`)

// fingerprint identifies a program by its content. A script stands for the
// program it starts, so the size and time of the files it names, and of the
// binaries that Nsight's own launchers choose from, count as well.
func fingerprint(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("identify %s: %w", path, err)
	}
	defer f.Close()
	h := sha256.New()
	r := bufio.NewReaderSize(f, 64<<10)
	head, _ := r.Peek(64 << 10)
	if bytes.HasPrefix(head, []byte("#!")) {
		for _, m := range named.FindAll(head, 200) {
			stamp(h, string(m))
		}
		dir := filepath.Dir(path)
		for _, m := range append(Match(dir, "target/*/ncu"), Match(filepath.Dir(dir), "target-linux-*/nsys")...) {
			stamp(h, m)
		}
	}
	if _, err := io.Copy(h, r); err != nil {
		return "", fmt.Errorf("identify %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil))[:32], nil
}

func stamp(w io.Writer, path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		fmt.Fprintf(w, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
	}
}

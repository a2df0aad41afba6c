package html

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var web = filepath.Join("..", "..", "..", "web")

// TestBuiltPageFollowsItsSources builds the page again, in a copy of web/ with
// the packages that its lock names, and compares every byte.
func TestBuiltPageFollowsItsSources(t *testing.T) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skipf("no npm to build the page with: %v", err)
	}
	dir, out := t.TempDir(), t.TempDir()
	copyTree(t, dir, web)
	command := func(name string, args ...string) ([]byte, error) {
		c := exec.Command(name, args...)
		c.Dir = dir
		return c.CombinedOutput()
	}
	if text, err := command(npm, "ci", "--ignore-scripts", "--prefer-offline"); err != nil {
		if os.Getenv("DEEPPROF_WEB") != "" {
			t.Fatalf("npm ci: %v\n%s", err, text)
		}
		t.Skipf("npm cannot fetch the packages of the page (set DEEPPROF_WEB=1 where it must): %v\n%s", err, text)
	}
	if text, err := command(npm, "run", "check"); err != nil {
		t.Errorf("npm run check: %v\n%s", err, text)
	}
	if text, err := command("node", "build.mjs", out); err != nil {
		t.Fatalf("build the page: %v\n%s", err, text)
	}
	want, got := files(t, out), files(t, "assets")
	for name, text := range want {
		if !bytes.Equal(got[name], text) {
			t.Errorf("assets/%s is not what web/ builds; run: make web", name)
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("assets/%s is built by nothing", name)
		}
	}
}

// TestLockNamesNoAddress keeps the place that packages were fetched from out of
// the lock, so that it holds for every mirror.
func TestLockNamesNoAddress(t *testing.T) {
	lock, err := os.ReadFile(filepath.Join(web, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(lock, []byte(`"resolved"`)) {
		t.Error("package-lock.json holds download addresses; web/.npmrc turns them off for npm 8 and later")
	}
	if !bytes.Contains(lock, []byte(`"integrity"`)) {
		t.Error("package-lock.json holds no checksums")
	}
}

func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, e := range entries {
		if out[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func copyTree(t *testing.T, to, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == "node_modules" {
			return filepath.SkipDir
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if e.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

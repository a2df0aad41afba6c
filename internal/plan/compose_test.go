package plan

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/config"
)

// compose composes the shipped tree under the files of overlay.
func compose(t testing.TB, overlay fs.FS, overrides ...string) *config.Config {
	t.Helper()
	sources := []config.Source{{Provider: "main", Path: "conf", FS: conf.FS}}
	if overlay != nil {
		sources = slices.Insert(sources, 0, config.Source{Provider: "command-line", Path: "mine", FS: overlay})
	}
	c, err := config.Compose(options(sources, overrides))
	if err != nil {
		t.Fatalf("compose %q: %v", overrides, err)
	}
	return c
}

func options(sources []config.Source, overrides []string) config.Options {
	return config.Options{
		Sources:    sources,
		ConfigName: "config",
		Overrides:  overrides,
		Now:        time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Cwd:        "/work",
		JobName:    "deepprof",
		Renames:    Renames,
		JobEnv:     envKey,
	}
}

// tryCompose is for overrides that composing may refuse.
func tryCompose(overrides ...string) (*config.Node, error) {
	c, err := config.Compose(options([]config.Source{{Provider: "main", Path: "conf", FS: conf.FS}}, overrides))
	if err != nil {
		return nil, err
	}
	return c.Resolve()
}

func decode(t testing.TB, overlay fs.FS, overrides ...string) (*Plan, Problems) {
	t.Helper()
	root, err := compose(t, overlay, overrides...).Resolve()
	if err != nil {
		t.Fatalf("resolve %q: %v", overrides, err)
	}
	return Decode(root)
}

// mustDecode fails the test where the configuration has a problem.
func mustDecode(t testing.TB, overrides ...string) *Plan {
	t.Helper()
	p, problems := decode(t, nil, overrides...)
	if err := problems.Err(); err != nil {
		t.Fatalf("%s:\n%v", strings.Join(overrides, " "), err)
	}
	return p
}

package plan

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/config"
)

// The old name of a key works in overrides, in a user's files and in the
// config.yaml that an older run stored, each with a warning.
func TestOldKeysInOverrides(t *testing.T) {
	checkRepeats(t, compose(t, nil, "pipeline.baseline.repeats=7"))
}

func TestOldKeysInFiles(t *testing.T) {
	checkRepeats(t, compose(t, fstest.MapFS{
		"extra/slow.yaml": {Data: []byte("# @package _global_\npipeline:\n  baseline:\n    repeats: 7\n")},
	}, "+extra=slow"))
}

func TestOldKeysInStoredRuns(t *testing.T) {
	root, err := compose(t, nil, "pipeline.unprofiled.repeats=7").Resolve()
	if err != nil {
		t.Fatal(err)
	}
	stored := strings.Replace(string(root.YAML()), "  unprofiled:\n", "  baseline:\n", 1)
	c, err := config.Compose(options([]config.Source{{Provider: "main", Path: "run", FS: fstest.MapFS{"config.yaml": {Data: []byte(stored)}}}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	checkRepeats(t, c)
}

func checkRepeats(t *testing.T, c *config.Config) {
	t.Helper()
	root, err := c.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	p, problems := Decode(root)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if p.Pipeline.Unprofiled.Repeats != 7 {
		t.Errorf("repeats %d, want the 7 that was given under the old name", p.Pipeline.Unprofiled.Repeats)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "pipeline.unprofiled") {
		t.Errorf("warnings %q, want one that names the key of today", c.Warnings)
	}
}

// Every rename leads to a key that exists, or says what to write instead.
func TestRenamesLeadSomewhere(t *testing.T) {
	c, err := config.Compose(options([]config.Source{{Provider: "main", Path: "conf", FS: conf.FS}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Renames {
		if (r.To == "") == (r.Advice == "") {
			t.Errorf("%s: want a key of today or advice, not both", r.From)
		}
		if r.To != "" && c.Root.Lookup(r.To) == nil {
			t.Errorf("%s: there is no key %s", r.From, r.To)
		}
		if c.Root.Lookup(r.From) != nil {
			t.Errorf("%s is a key of today", r.From)
		}
	}
}

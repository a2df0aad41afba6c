package plan

import (
	"errors"
	"fmt"
	"os"
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

// A key or group of the original without "+" is refused by composing, and the
// error names the key of today.
func TestKeysOfTheOriginal(t *testing.T) {
	for override, today := range map[string]string{
		"pipeline.nsys.gating_nvtx=true":                       "pipeline.nsys.capture_range",
		"run.representative_max_new_tokens=8":                  "pipeline.torch_profiler.rep_max_new_tokens",
		"run.stage1_repeats=3":                                 "infer.repeats",
		"stage1_repeats=3":                                     "infer.repeats",
		"runner@stage1_runner=stage1.default":                  "pipeline.STEP.enable",
		"ncu=ncu.rtx3090.compute":                              "pipeline/ncu",
		"profiling/ncu@pipeline.ncu=ncu.high":                  "pipeline/ncu",
		"model/deepseek_ocr/infer@infer=deepseek_ocr.fast":     "infer.max_new_tokens",
		"use_flash_attn=true":                                  "model.attn_implementation",
		"pipeline.torch_profiler.enabled=true":                 "pipeline.torch_profiler.enable",
		"pipeline.ncu.ncu_cli.nvtx.include='decode*'":          "pipeline.ncu.ncu_cli.nvtx_include",
		"pipeline.direct_inference.output.prediction.save=yes": "pipeline.direct_inference.predictions",
	} {
		_, err := tryCompose(override)
		var wrong *config.Error
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Hint, today) {
			t.Errorf("%s: %v, want an error whose next step names %s", override, err, today)
		}
	}
}

// docs/migration.md has a row for every key of the table.
func TestMigrationPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/migration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Renames {
		if row := fmt.Sprintf("| `%s` | %s |", r.From, migrationCell(r)); !strings.Contains(string(page), row) {
			t.Errorf("docs/migration.md lacks the row\n%s", row)
		}
	}
}

func migrationCell(r config.Rename) string {
	if r.To != "" {
		return "`" + r.To + "`; the old name still works, with a warning"
	}
	return r.Advice
}

package config

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// largeTree generates a config tree of the given number of files, all of which
// the primary config includes: groups of ten options, each of which extends the
// next, with ten values and interpolations.
func largeTree(files int) (fstest.MapFS, []string) {
	tree := fstest.MapFS{}
	add := func(name, text string) { tree[name] = &fstest.MapFile{Data: []byte(text)} }
	var primary strings.Builder
	primary.WriteString("# The primary config\ndefaults:\n")
	groups := files / 10
	var keys []string
	for g := range groups {
		fmt.Fprintf(&primary, "  - group%d: option0\n", g)
		for o := range 10 {
			var b strings.Builder
			fmt.Fprintf(&b, "# Option %d of group %d\n", o, g)
			if o < 9 {
				fmt.Fprintf(&b, "defaults:\n  - option%d\n  - _self_\n", o+1)
			}
			for k := range 10 {
				fmt.Fprintf(&b, "key%d: %d\n", k, k)
			}
			fmt.Fprintf(&b, "nested: {a: '${..key1}', b: [1, 2, 3], name: 'run-${seed}'}\n")
			add(fmt.Sprintf("group%d/option%d.yaml", g, o), b.String())
		}
		for k := range 4 {
			keys = append(keys, fmt.Sprintf("group%d.key%d=%d", g, k, k+100))
		}
	}
	primary.WriteString("  - _self_\nseed: 7\nname: ${hydra:job.name}\n")
	add("config.yaml", primary.String())
	return tree, keys
}

func BenchmarkCompose(b *testing.B) {
	tree, overrides := largeTree(500)
	if len(tree) < 500 || len(overrides) < 200 {
		b.Fatalf("%d files, %d overrides", len(tree), len(overrides))
	}
	o := Options{
		Sources:    []Source{{Provider: "main", Path: "conf", FS: tree}},
		ConfigName: "config",
		Overrides:  overrides[:200],
		Now:        time.Unix(0, 0).UTC(),
		Cwd:        "/work",
		JobName:    "bench",
	}
	for b.Loop() {
		cfg, err := Compose(o)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := cfg.Resolve(); err != nil {
			b.Fatal(err)
		}
	}
}

package config

import (
	"math/big"
	"testing"
	"testing/fstest"
	"time"
)

// FuzzOverride parses any argument.
func FuzzOverride(f *testing.F) {
	for _, s := range []string{"a=1", "+a.b={x: [1, 'y'], z: null}", "++g@p=x", "~a=1", "a=choice(1,2)", "a=range(1,5,0.5)",
		`a='it\'s \\'`, "a=${b.${c}}", "a=1,2", "a=[", "a={", "=", "~", "a=\\,", "a=glob([x*],exclude=y)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		o, err := parseOverride(line)
		switch {
		case err != nil && err.Error() == "":
			t.Fatal("an error without words")
		case err == nil && o.value != nil:
			o.value.JSON(false)
		}
	})
}

// FuzzInterpolation resolves any text within a small config.
func FuzzInterpolation(f *testing.F) {
	for _, s := range []string{"${a}", "${.a}", "${l[0]}", "x${d.b}y", "${oc.env:H,${a}}", "${oc.decode:'[1,{a: 2}]'}", `\${a}`, `\\${a}`,
		"${oc.create:{z: '${.a}'}}", "${oc.dict.values:d}", "${t}", "${oc.select:t}", "${", "${a:", "${now:%Y}", "${hydra:job.name}", "${oc.select:''}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseElement(text); err != nil && err.Error() == "" {
			t.Fatal("an error without words")
		}
		root := newMap()
		root.putText("a", newInt(big.NewInt(1)))
		list := newList()
		list.push(newText("one"))
		root.putText("l", list)
		d := newMap()
		d.putText("b", newText("${a}"))
		root.putText("d", d)
		root.putText("t", newText(text))
		r := &resolver{env: func(string) (string, bool) { return "", false }, now: time.Unix(0, 0).UTC(), hydra: func() *Node { return d }}
		out, err := r.content(root, map[*Node]bool{})
		if err == nil {
			out.JSON(false)
			out.YAML()
		}
	})
}

// FuzzYAML loads any bytes as a primary config.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: 1\n", "a: &x [1]\nb: *x\n", "a: &x\n  <<: *x\n", "defaults:\n  - g: a\n  - _self_\n", "# @package x\na: ${b}\n",
		"a: |\n  x\n\ty\n", "? a\n: b\n", "!!binary aGk=", "a: [[[[[", "{a: {b: {c: 1}}}", "\xff\xfe", "a: '\t'\n", "- 1\n", "a: !!int x\n",
		"%FOO\n---\na: {b:, c: [d:]}\n", "a: \"\\/\"\nb: |#c\n", "- - a: |2\n     {x:}\n  - {b:}\n", "? [a:]\n: >-\n  x\n", "%YAML 1.9\n---\n\"\\'\"", "{a: \x00[b:]", "\x00{a:}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree := fstest.MapFS{"config.yaml": {Data: data}, "g/a.yaml": {Data: []byte("x: 1\n")}}
		cfg, err := Compose(Options{Sources: []Source{{Provider: "main", Path: "conf", FS: tree}}, ConfigName: "config", Now: time.Unix(0, 0).UTC(), Cwd: "/"})
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		back, err := readYAML("back", cfg.Root.YAML())
		if err != nil || cfg.Root.Len() > 0 && string(back.JSON(false)) != string(cfg.Root.JSON(false)) {
			t.Fatalf("YAML gives\n%s\nwhich reads back as %v (%v)", cfg.Root.YAML(), back, err)
		}
		if out, err := cfg.Resolve(); err == nil {
			out.JSON(true)
		}
	})
}

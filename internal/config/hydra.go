package config

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/deepprof/deepprof/internal/suggest"
)

//go:embed all:hydra
var hydraTree embed.FS

// hydraSource holds the defaults of the hydra node. It comes first on the
// search path, so that a user's files add options but do not replace these.
func hydraSource() Source {
	sub, err := fs.Sub(hydraTree, "hydra")
	if err != nil {
		panic(err) // the tree is embedded: a build without it is broken
	}
	return Source{Provider: "hydra", Path: "hydra.conf", FS: sub}
}

// hydraVersion is the release whose rules the package follows.
const hydraVersion = "1.3.2"

// hydraGroups are the keys of the hydra node that its groups fill, beside those
// of hydra/config.yaml. What is below launcher, sweeper and the like is free.
var hydraGroups = map[string][]string{
	"run": {"dir"}, "sweep": {"dir", "subdir"},
	"launcher": nil, "sweeper": nil, "help": nil, "hydra_help": nil, "hydra_logging": nil, "job_logging": nil,
}

// hydraKeys is the tree of keys that the hydra node may have. An empty mapping
// in it is free.
// Every call makes a new copy, so the caller may change it.
func (c *composer) hydraKeys() (*Node, error) {
	f, err := c.repo.load("hydra/config")
	if err != nil {
		return nil, err
	}
	keys := f.root.clone()
	for name, below := range hydraGroups {
		m := newMap()
		for _, key := range below {
			m.putText(key, newText(""))
		}
		keys.putText(name, m)
	}
	return keys, nil
}

// checkHydra refuses keys of the hydra node that nothing reads and values that
// Run could not use, and makes text of values that Hydra declares as strings.
// It changes the node in place. A chdir that is an interpolation is not checked.
func (c *composer) checkHydra(hydra *Node) error {
	if hydra.kind != Map {
		return &Error{Kind: "hydra-schema", Origin: hydra.origin, Message: "the hydra node must be a mapping, it is " + pyStr(hydra)}
	}
	keys, err := c.hydraKeys()
	if err != nil {
		return err
	}
	if err := checkHydraKeys(hydra, keys, "hydra"); err != nil {
		return err
	}
	chdir := hydra.Lookup("job.chdir")
	if chdir == nil || chdir.kind == Null || chdir.Interpolation() {
		return nil
	}
	value, ok := truth(chdir)
	if !ok {
		return &Error{Kind: "hydra-schema", Key: "hydra.job.chdir", Origin: chdir.origin,
			Message: fmt.Sprintf("Value '%s' is not a valid bool (type %s)", pyStr(chdir), pyType(chdir)), Hint: "write true or false"}
	}
	chdir.kind, chdir.text = Bool, newBool(value).text
	return nil
}

// checkHydraKeys compares the keys of a mapping with those that are known.
// path is the dotted path of n, for messages. The first wrong key in the order of n is the
// error.
func checkHydraKeys(n, keys *Node, path string) error {
	for _, e := range n.entries {
		key := path + "." + pyStr(e.Key)
		known := keys.child(keyOf(e.Key))
		switch {
		case known == nil:
			return &Error{Kind: "hydra-schema", Key: key, Origin: e.Value.origin, Message: fmt.Sprintf("Key '%s' not in '%s'", pyStr(e.Key), path),
				Hint: suggest.Question(pyStr(e.Key), textKeys(keys))}
		case known.kind == String && key != "hydra.job.num":
			makeText(e.Value)
		case key == "hydra.job.env_set":
			for _, variable := range e.Value.entries {
				makeText(variable.Value)
			}
		case known.kind == Map && len(known.entries) > 0 && e.Value.kind == Map:
			if err := checkHydraKeys(e.Value, known, key); err != nil {
				return err
			}
		case known.kind == Map && len(known.entries) > 0 && !e.Value.Interpolation():
			return &Error{Kind: "hydra-schema", Key: key, Origin: e.Value.origin, Message: fmt.Sprintf("%s must be a mapping, it is %s", key, pyStr(e.Value))}
		}
	}
	return nil
}

// makeText turns a number or boolean into the string that Hydra declares.
// null, mappings and lists stay as they are.
func makeText(n *Node) {
	if !n.container() && n.kind != Null {
		n.kind, n.text = String, pyStr(n)
	}
}

// textKeys leaves out keys that are numbers or booleans.
func textKeys(n *Node) []string {
	var keys []string
	for _, e := range n.entries {
		if e.Key.kind == String {
			keys = append(keys, e.Key.text)
		}
	}
	return keys
}

// truth reads a boolean as omegaconf does: also from numbers and words.
// ok is false for all other words, and for mappings and lists.
func truth(n *Node) (value, ok bool) {
	switch strings.ToLower(n.text) {
	case "true", "yes", "y", "on", "1":
		return true, !n.container()
	case "false", "no", "n", "off", "0":
		return false, !n.container()
	}
	return false, false
}

package config

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
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

type fieldKind uint8

const (
	anyField fieldKind = iota
	textField
	optionalText
	optionalBool
	intField
	textList
	textMap
	anyMap
	modeField
	classField
)

// field is the type of one key of the hydra node.
type field struct {
	kind  fieldKind
	class string // of a classField
}

// hydraSchema gives the keys that the hydra node may have.
var hydraSchema = map[string]map[string]field{
	"HydraConf": {
		"mode": {kind: modeField}, "searchpath": {kind: textList},
		"run": {classField, "RunDir"}, "sweep": {classField, "SweepDir"},
		"hydra_logging": {kind: anyMap}, "job_logging": {kind: anyMap},
		"sweeper": {kind: anyField}, "launcher": {kind: anyField}, "callbacks": {kind: anyMap},
		"help": {classField, "HelpConf"}, "hydra_help": {classField, "HydraHelpConf"},
		"output_subdir": {kind: optionalText}, "overrides": {classField, "OverridesConf"},
		"job": {classField, "JobConf"}, "runtime": {classField, "RuntimeConf"}, "verbose": {kind: anyField},
	},
	"RunDir":        {"dir": {kind: textField}},
	"SweepDir":      {"dir": {kind: textField}, "subdir": {kind: textField}},
	"HelpConf":      {"app_name": {kind: textField}, "header": {kind: textField}, "footer": {kind: textField}, "template": {kind: textField}},
	"HydraHelpConf": {"hydra_help": {kind: textField}, "template": {kind: textField}},
	"OverridesConf": {"hydra": {kind: textList}, "task": {kind: textList}},
	"JobConf": {
		"name": {kind: textField}, "chdir": {kind: optionalBool}, "override_dirname": {kind: textField},
		"id": {kind: textField}, "num": {kind: intField}, "config_name": {kind: optionalText},
		"env_set": {kind: textMap}, "env_copy": {kind: textList}, "config": {classField, "JobConfig"},
	},
	"JobConfig":       {"override_dirname": {classField, "OverrideDirname"}},
	"OverrideDirname": {"kv_sep": {kind: textField}, "item_sep": {kind: textField}, "exclude_keys": {kind: textList}},
	"RuntimeConf": {
		"version": {kind: textField}, "version_base": {kind: textField}, "cwd": {kind: textField},
		"config_sources": {kind: anyField}, "output_dir": {kind: textField}, "choices": {kind: anyMap},
	},
}

// schemaError is a hydra node that does not fit.
type schemaError struct {
	class string // of Python's exception
	text  string
	node  *Node
}

func (e *schemaError) Error() string { return e.text }

// checkHydra validates the hydra node and converts its scalars to their types.
// An unknown key is allowed where the user forced it in.
func checkHydra(n *Node, path, class string, allowUnknown bool) error {
	fields := hydraSchema[class]
	for i, e := range n.entries {
		f, ok := fields[pyStr(e.Key)]
		if !ok {
			if allowUnknown {
				continue
			}
			return &schemaError{"ConfigKeyError", fmt.Sprintf("Key '%s' not in '%s'", pyStr(e.Key), class), e.Value}
		}
		value, err := checkField(e.Value, path+"."+pyStr(e.Key), f, allowUnknown)
		if err != nil {
			return err
		}
		if value != e.Value {
			value.parent, value.origin = n, e.Value.origin
			n.entries[i].Value = value
		}
	}
	return nil
}

func checkField(n *Node, path string, f field, allowUnknown bool) (*Node, error) {
	if n.Missing() || n.Interpolation() || f.kind == anyField {
		return n, nil
	}
	bad := func(format string, args ...any) (*Node, error) {
		return nil, &schemaError{"ValidationError", fmt.Sprintf(format, args...), n}
	}
	if n.kind == Null {
		if f.kind == optionalText || f.kind == optionalBool || f.kind == modeField {
			return n, nil
		}
		return bad("field '%s' is not Optional", path)
	}
	switch f.kind {
	case textField, optionalText:
		if n.container() {
			return bad("Cannot convert '%s' to string: '%s'", pyType(n), pyStr(n))
		}
		if n.kind != String {
			return newText(pyStr(n)), nil
		}
	case optionalBool:
		return toBool(n, bad)
	case intField:
		if n.kind != Int {
			return bad("Value '%s' of type '%s' could not be converted to Integer", pyStr(n), pyType(n))
		}
	case modeField:
		if n.kind != String || n.text != "RUN" && n.text != "MULTIRUN" {
			return bad("Invalid value '%s', expected one of [RUN, MULTIRUN]", pyStr(n))
		}
	case textList:
		if n.kind != List {
			return bad("'%s' must be a list of strings, not %s", path, pyType(n))
		}
		for i, item := range n.items {
			if item.container() || item.kind == Null {
				return bad("'%s.%d' must be a string, not %s", path, i, pyType(item))
			}
			if item.kind != String {
				n.items[i] = &Node{kind: String, text: pyStr(item), origin: item.origin, parent: n}
			}
		}
	case textMap, anyMap:
		if n.kind != Map {
			return bad("'%s' must be a mapping, not %s", path, pyType(n))
		}
		if f.kind == textMap {
			return n, textValues(n, path)
		}
	case classField:
		if n.kind != Map {
			return bad("Merge error: %s is not a subclass of %s. value: %s", pyType(n), f.class, pyStr(n))
		}
		return n, checkHydra(n, path, f.class, allowUnknown)
	}
	return n, nil
}

func textValues(n *Node, path string) error {
	for i, e := range n.entries {
		if e.Value.container() || e.Value.kind == Null {
			return &schemaError{"ValidationError", fmt.Sprintf("'%s.%s' must be a string, not %s", path, pyStr(e.Key), pyType(e.Value)), e.Value}
		}
		if e.Value.kind != String {
			n.entries[i].Value = &Node{kind: String, text: pyStr(e.Value), origin: e.Value.origin, parent: n}
		}
	}
	return nil
}

func toBool(n *Node, bad func(string, ...any) (*Node, error)) (*Node, error) {
	switch n.kind {
	case Bool:
		return n, nil
	case Int:
		return newBool(n.big != nil || n.integer != 0), nil
	case String:
		switch strings.ToLower(n.text) {
		case "yes", "y", "on", "true", "1":
			return newBool(true), nil
		case "no", "n", "off", "false", "0":
			return newBool(false), nil
		}
	}
	return bad("Value '%s' is not a valid bool (type %s)", pyStr(n), pyType(n))
}

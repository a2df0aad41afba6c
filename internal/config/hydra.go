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
	optionalInt
	textList
	textMap
	optionalTextMap
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
	"BasicLauncherConf": {"_target_": {kind: textField}},
	"BasicSweeperConf": {
		"_target_": {kind: textField}, "max_batch_size": {kind: optionalInt}, "params": {kind: optionalTextMap},
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

// hydraTypes gives the classes of keys of the hydra node that HydraConf leaves
// open and the chosen options fix.
type hydraTypes map[string]string

// hydraOptions are the options of Hydra's own groups that bring a class.
var hydraOptions = map[string]struct{ key, class string }{
	"hydra/launcher/basic": {"launcher", "BasicLauncherConf"},
	"hydra/sweeper/basic":  {"sweeper", "BasicSweeperConf"},
}

func (t hydraTypes) field(class, key string) (field, bool) {
	if fixed := t[key]; fixed != "" && class == "HydraConf" {
		return field{classField, fixed}, true
	}
	f, ok := hydraSchema[class][key]
	return f, ok
}

// of finds the type of a node below hydra; ok is false where it has none.
func (t hydraTypes) of(n, hydra *Node) (f field, ok bool) {
	var path []*Node
	for ; n != hydra; n = n.parent {
		if n == nil || len(path) > maxNesting {
			return field{}, false
		}
		path = append(path, n)
	}
	f = field{classField, "HydraConf"}
	for i := len(path) - 1; i >= 0; i-- {
		switch f.kind {
		case classField:
			if f, ok = t.field(f.class, path[i].keyIn()); !ok {
				return field{}, false
			}
		case textList, textMap, optionalTextMap:
			f = field{kind: textField}
		default:
			return field{}, false
		}
	}
	return f, true
}

// schemaError is a hydra node that does not fit.
type schemaError struct {
	class string // of Python's exception
	text  string
	node  *Node
}

func (e *schemaError) Error() string { return e.text }

// invalid refuses a value in omegaconf's words.
func invalid(n *Node, format string, args ...any) error {
	return &schemaError{"ValidationError", fmt.Sprintf(format, args...), n}
}

// check validates the hydra node and converts its scalars to their types.
// An unknown key is allowed where the user forced it in.
func (t hydraTypes) check(n *Node, path, class string, allowUnknown bool) error {
	for i, e := range n.entries {
		f, ok := t.field(class, pyStr(e.Key))
		if !ok {
			if allowUnknown {
				continue
			}
			return &schemaError{"ConfigKeyError", fmt.Sprintf("Key '%s' not in '%s'", pyStr(e.Key), class), e.Value}
		}
		value, err := t.checkField(e.Value, path+"."+pyStr(e.Key), f, allowUnknown)
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

func (t hydraTypes) checkField(n *Node, path string, f field, allowUnknown bool) (*Node, error) {
	if n.Missing() || n.Interpolation() || f.kind == anyField {
		return n, nil
	}
	bad := func(format string, args ...any) (*Node, error) { return nil, invalid(n, format, args...) }
	if n.kind == Null {
		if f.optional() {
			return n, nil
		}
		return bad("field '%s' is not Optional", path)
	}
	switch f.kind {
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
	case textMap, optionalTextMap, anyMap:
		if n.kind != Map {
			return bad("'%s' must be a mapping, not %s", path, pyType(n))
		}
		if f.kind != anyMap {
			return n, textValues(n, path)
		}
	case classField:
		if n.kind != Map {
			return bad("Merge error: %s is not a subclass of %s. value: %s", pyType(n), f.class, pyStr(n))
		}
		return n, t.check(n, path, f.class, allowUnknown)
	default:
		return f.convert(n, pyType(n))
	}
	return n, nil
}

func (f field) optional() bool {
	switch f.kind {
	case optionalText, optionalBool, optionalInt, optionalTextMap, modeField, anyField:
		return true
	}
	return false
}

// scalar tells whether a field holds one value rather than several.
func (f field) scalar() bool {
	switch f.kind {
	case textField, optionalText, optionalBool, intField, optionalInt, modeField:
		return true
	}
	return false
}

// python names the type of a scalar field that cannot be null.
func (f field) python() string {
	if f.kind == intField {
		return "int"
	}
	return "str"
}

// convert makes a value fit a scalar field, as omegaconf's typed nodes do: n
// itself where it fits already. Null is the caller's; class is what Python calls
// the type of n.
func (f field) convert(n *Node, class string) (*Node, error) {
	switch f.kind {
	case textField, optionalText:
		if n.container() || n.kind == Bytes {
			return nil, invalid(n, "Cannot convert '%s' to string: '%s'", class, pyStr(n))
		}
		if n.kind != String {
			return newText(pyStr(n)), nil
		}
	case optionalBool:
		return toBool(n, class)
	case intField, optionalInt:
		if n.kind == Int {
			return n, nil
		}
		if n.kind == String {
			if i, ok := intOf(n.text, 10); ok {
				return newBig(i), nil
			}
		}
		return nil, invalid(n, "Value '%s' of type '%s' could not be converted to Integer", pyStr(n), class)
	case modeField:
		if n.kind != String || n.text != "RUN" && n.text != "MULTIRUN" {
			return nil, invalid(n, "Invalid value '%s', expected one of [RUN, MULTIRUN]", pyStr(n))
		}
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

func toBool(n *Node, class string) (*Node, error) {
	switch n.kind {
	case Bool:
		return n, nil
	case Int:
		return newBool(n.big != nil || n.integer != 0), nil
	case String:
		if i, ok := intOf(n.text, 10); ok {
			return newBool(i.Sign() != 0), nil
		}
		switch strings.ToLower(n.text) {
		case "yes", "y", "on", "true":
			return newBool(true), nil
		case "no", "n", "off", "false":
			return newBool(false), nil
		}
	}
	return nil, invalid(n, "Value '%s' is not a valid bool (type %s)", pyStr(n), class)
}

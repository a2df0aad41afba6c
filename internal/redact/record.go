package redact

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// SecretNames are the variables of an environment that look secret, sorted.
func SecretNames(env []string) []string {
	var out []string
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); Secret(name, value) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Overrides takes the values of the secret variables below a key out of
// overrides, and every other place where such a value stands: an override may
// set them in a mapping further up. Env are the variables by name.
// args is not changed. key is a dotted key such as the one that holds the environment.
func Overrides(args []string, key string, env map[string]string, secret []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		name, _, ok := strings.Cut(arg, "=")
		at := strings.TrimLeft(name, "+~")
		if ok && slices.ContainsFunc(secret, func(s string) bool { return at == key+"."+s || at == key && strings.Contains(arg, s) }) {
			out[i] = name + "=" + Mark
		}
	}
	for _, name := range secret {
		for i := range out {
			if value := env[name]; value != "" && value != Mark {
				out[i] = strings.ReplaceAll(out[i], value, Mark)
			}
		}
	}
	return out
}

// YAML takes the values of keys below a dotted path out of a document. One
// without any stays as it is, byte for byte.
// A path or key that the document lacks is an error: a secret must not be missed.
func YAML(text []byte, path string, keys []string) ([]byte, error) {
	if len(keys) == 0 {
		return text, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("redact the configuration: %w", err)
	}
	at := &doc
	if len(doc.Content) == 1 {
		at = doc.Content[0]
	}
	for key := range strings.SplitSeq(path, ".") {
		if at = entry(at, key); at == nil {
			return nil, fmt.Errorf("redact the configuration: it has no %s", path)
		}
	}
	for _, key := range keys {
		value := entry(at, key)
		if value == nil {
			return nil, fmt.Errorf("redact the configuration: it has no %s.%s", path, key)
		}
		*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: Mark, Style: yaml.DoubleQuotedStyle}
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return nil, fmt.Errorf("redact the configuration: %w", err)
	}
	return b.Bytes(), e.Close()
}

// entry is the value of a key of a mapping; nil where there is none.
func entry(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

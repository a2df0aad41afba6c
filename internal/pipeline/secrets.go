package pipeline

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/redact"
	"github.com/deepprof/deepprof/internal/tool"
)

// envKey is the setting that gives the workload variables of its own.
const envKey = "pipeline.workload.env"

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// names are the names of the variables of an environment.
func names(env []string) []string {
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		out = append(out, name)
	}
	return out
}

// secretNames are the variables of an environment that look secret.
func secretNames(env []string) []string {
	var out []string
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); redact.Secret(name, value) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// line is a command to paste into a shell, without the values of secrets: what
// the configuration sets of them is left out.
func (r *run) line(c tool.Command) string {
	c.Env = slices.DeleteFunc(slices.Clone(c.Env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return redact.Secret(name, value)
	})
	return c.Line(os.Environ())
}

// commandFile is cmd.txt of a program that runs without a profiler.
func (r *run) commandFile(c tool.Command) []byte {
	return []byte(capture.Unrecorded(c.Env, redact.Secret) + r.line(c) + "\n")
}

// warnSecrets says once that a report cannot be given away: nsys stores the
// environment of every process it sees, and cleaning that of the workload does
// not help against it.
func (r *run) warnSecrets(report string) {
	found := secretNames(append(os.Environ(), r.env...))
	if len(found) == 0 || r.warned {
		return
	}
	r.warned = true
	const most = 5
	list := strings.Join(found[:min(most, len(found))], ", ")
	if len(found) > most {
		list += fmt.Sprintf(" and %d more", len(found)-most)
	}
	r.Say(fmt.Sprintf("note: %s holds the environment of this machine's processes, perhaps with %s: do not publish it; 'deepprof runs pack --redact' leaves it out", filepath.Base(report), list))
}

// secretEnv are the variables of the configuration whose values are not
// recorded.
func (r *run) secretEnv() []string {
	var out []string
	for _, name := range sortedKeys(r.Plan.Pipeline.Workload.Env) {
		if redact.Secret(name, r.Plan.Pipeline.Workload.Env[name]) {
			out = append(out, name)
		}
	}
	return out
}

// redactArgs takes the values of secrets out of overrides.
func redactArgs(args, secret []string) []string {
	out := slices.Clone(args)
	for i, arg := range out {
		key, _, ok := strings.Cut(arg, "=")
		at := strings.TrimLeft(key, "+~")
		if !ok || at != envKey && !strings.HasPrefix(at, envKey+".") {
			continue
		}
		if slices.ContainsFunc(secret, func(name string) bool { return at == envKey+"."+name || at == envKey && strings.Contains(arg, name) }) {
			out[i] = key + "=" + redact.Mark
		}
	}
	return out
}

// redactValues takes the values themselves out, wherever they stand: an override
// may set them in a mapping further up.
func redactValues(args []string, env map[string]string, secret []string) []string {
	out := slices.Clone(args)
	for _, name := range secret {
		for i := range out {
			if value := env[name]; value != "" && value != redact.Mark {
				out[i] = strings.ReplaceAll(out[i], value, redact.Mark)
			}
		}
	}
	return out
}

// redactConfig takes the values of secrets out of the workload's variables. A
// configuration without any stays as it is, byte for byte.
func redactConfig(text []byte, secret []string) ([]byte, error) {
	if len(secret) == 0 {
		return text, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("redact the configuration: %w", err)
	}
	env := &doc
	if len(doc.Content) == 1 {
		env = doc.Content[0]
	}
	for key := range strings.SplitSeq(envKey, ".") {
		if env = entry(env, key); env == nil {
			return nil, fmt.Errorf("redact the configuration: it has no %s", envKey)
		}
	}
	for _, name := range secret {
		value := entry(env, name)
		if value == nil {
			return nil, fmt.Errorf("redact the configuration: it has no %s.%s", envKey, name)
		}
		*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: redact.Mark, Style: yaml.DoubleQuotedStyle}
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return nil, fmt.Errorf("redact the configuration: %w", err)
	}
	return b.Bytes(), e.Close()
}

func entry(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// restoreSecrets gives a resumed run the values that were not recorded: they
// must be in the environment now.
func (r *run) restoreSecrets() error {
	env := r.Plan.Pipeline.Workload.Env
	for _, name := range sortedKeys(env) {
		if env[name] != redact.Mark {
			continue
		}
		value, ok := os.LookupEnv(name)
		if !ok {
			return fmt.Errorf("%s.%s is a secret and was not recorded; export %s before you resume", envKey, name, name)
		}
		env[name] = value
	}
	return nil
}

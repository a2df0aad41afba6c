package compare

import (
	"fmt"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/suggest"
)

// ParseRules reads a YAML file of rules:
//
//	rules:
//	  - stage:decode.time < +3%
//	  - rule: kernel:regex:gemm.*.time < +10%
//	    name: matrix products
//
// Unknown keys are errors; every error names its line.
func ParseRules(data []byte) ([]Rule, error) {
	var file struct {
		Rules []yaml.Node `yaml:"rules"`
	}
	var top map[string]yaml.Node
	if err := yaml.Unmarshal(data, &top); err != nil {
		return nil, err
	}
	for key := range top {
		if key != "rules" {
			return nil, fmt.Errorf("unknown key %q%s", key, suggest.OneOf(key, []string{"rules"}))
		}
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if len(file.Rules) == 0 {
		return nil, fmt.Errorf("it holds no rules; list them under the key rules")
	}
	var rules []Rule
	for _, n := range file.Rules {
		rule, err := ruleOf(&n)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// ruleOf reads a rule, alone or with a name.
func ruleOf(n *yaml.Node) (Rule, error) {
	if n.Kind == yaml.ScalarNode {
		return parseRule(n.Value)
	}
	var m map[string]string
	if err := n.Decode(&m); err != nil {
		return Rule{}, err
	}
	for key := range m {
		if key != "rule" && key != "name" {
			return Rule{}, fmt.Errorf("unknown key %q%s", key, suggest.OneOf(key, []string{"rule", "name"}))
		}
	}
	rule, err := parseRule(m["rule"])
	rule.Name = m["name"]
	return rule, err
}

// maxRules bounds a file of rules, in bytes.
const maxRules = 64 << 20

// LoadRules reads rules as a person gives them: each is one rule, or a YAML file of
// several.
func LoadRules(texts []string) ([]Rule, error) {
	var rules []Rule
	for _, text := range texts {
		if ext := filepath.Ext(text); ext != ".yaml" && ext != ".yml" {
			rule, err := parseRule(text)
			if err != nil {
				return nil, err
			}
			rules = append(rules, rule)
			continue
		}
		data, err := format.ReadFile(text, maxRules)
		if err != nil {
			return nil, err
		}
		more, err := ParseRules(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		rules = append(rules, more...)
	}
	return rules, nil
}

package runs

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/deepprof/deepprof/internal/fact"
)

// WriteConfig writes config.yaml: the configuration, composed and resolved. It
// refuses what is not YAML, because a run must be repeatable from it.
func (r *Run) WriteConfig(text []byte) error {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("write %s: %w", ConfigName, err)
	}
	return r.WriteFile(ConfigName, text)
}

// Source is what the run was opened from: its directory, or the pack file.
func (r *Run) Source() string { return r.source }

// Note says how the status was decided where it is not simply the manifest's.
func (r *Run) Note() string { return r.note }

// Warn adds a doubt about the whole run.
func (r *Run) Warn(text string) error {
	return r.Update(func(m *Manifest) error {
		m.Warnings = append(m.Warnings, fact.Stored{Fact: fact.FromText(text)})
		return nil
	})
}

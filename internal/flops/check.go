package flops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// Tolerance is how far a count may lie from torch's.
const Tolerance = 0.01

// A Comparison holds our counts against those of torch's FlopCounterMode over
// the same pass.
type Comparison struct {
	Schema    int          `json:"schema"`
	Tolerance float64      `json:"tolerance"`
	Agree     bool         `json:"agree"` // every stage within the tolerance
	Stages    []Difference `json:"stages"`
	Warnings  Facts        `json:"warnings,omitempty"`
}

// A Difference is one stage, or a part of one that is a module of its own.
type Difference struct {
	Stage    string  `json:"stage"`
	Ours     int64   `json:"ours"` // flops_torch of the report
	Torch    int64   `json:"torch"`
	Relative float64 `json:"relative"` // (ours - torch) / torch
	Agree    bool    `json:"agree"`
}

// torchFlops is flops.json: what a pass under FlopCounterMode gave.
type torchFlops struct {
	Schema int `json:"schema"`
	Stages map[string]struct {
		FLOPs    json.Number            `json:"flops"`
		ByModule map[string]json.Number `json:"by_module"`
	} `json:"stages"`
	Notes []string `json:"notes"`
}

// Check compares a report with the flops.json of a session of the same shape.
// Stages that torch did not count are warnings, and make the two disagree; no stage in common
// is an error.
func Check(r Report, flopsJSON io.Reader) (Comparison, error) {
	var t torchFlops
	d := json.NewDecoder(io.LimitReader(flopsJSON, maxConfig))
	if err := d.Decode(&t); err != nil {
		return Comparison{}, fmt.Errorf("read torch's FLOPs: %w", err)
	}
	c := Comparison{Schema: Schema, Tolerance: Tolerance, Agree: true}
	for _, text := range t.Notes {
		c.Warnings = append(c.Warnings, fact.New(OtherSource, fact.Vendor("text", text)))
	}
	add := func(name string, ours int64, n json.Number) error {
		torch, err := n.Int64()
		if err != nil || torch < 0 {
			return fmt.Errorf("read torch's FLOPs: stage %s has %q", name, n)
		}
		d := Difference{Stage: name, Ours: ours, Torch: torch}
		switch {
		case torch > 0:
			d.Relative = float64(ours-torch) / float64(torch)
			d.Agree = math.Abs(d.Relative) <= Tolerance
		default:
			d.Agree = ours == 0
		}
		c.Agree = c.Agree && d.Agree
		c.Stages = append(c.Stages, d)
		return nil
	}
	for _, s := range r.Stages {
		whole := s.Name
		if s.Within != "" {
			whole = s.Within
		}
		stage, ok := t.Stages[whole]
		if !ok {
			c.Warnings = append(c.Warnings, fact.New(StageNotCounted, fact.Stage("stage", whole)))
			c.Agree = false
			continue
		}
		n := stage.FLOPs
		if s.Within != "" {
			if n, ok = module(stage.ByModule, s.Module); !ok {
				c.Warnings = append(c.Warnings, fact.New(ModuleNotCounted, fact.Name("module", s.Module)))
				continue
			}
		}
		if err := add(s.Name, s.Torch, n); err != nil {
			return Comparison{}, err
		}
	}
	if len(c.Stages) == 0 {
		return Comparison{}, errors.New("compare with torch's FLOPs: no stage in common")
	}
	return c, nil
}

// module finds a module by its path. torch puts the name of the class, or of
// the model, before it; of several the one with the shortest name is meant.
func module(counts map[string]json.Number, path string) (json.Number, bool) {
	var names []string
	for name := range counts {
		if name == path || strings.HasSuffix(name, "."+path) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	slices.SortFunc(names, func(a, b string) int { return len(a) - len(b) })
	return counts[names[0]], true
}

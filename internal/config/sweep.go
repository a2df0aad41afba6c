package config

import (
	"fmt"
	"slices"
	"strings"
)

// sweep is a value that stands for several runs: a,b,c or a call such as
// range(3). deepprof performs one run at a time, so sweeps are read only to be
// refused with the runs to start instead.
type sweep struct {
	values []string // of a,b,c: each as it was written; nil for a call
}

// sweepFunctions are the calls that Hydra has for sweeps.
var sweepFunctions = []string{"choice", "glob", "interval", "range"}

// function parses name(args). Calls that describe a sweep are recognized; the
// others only rewrite a value, which can as well be written down.
func (p *overrideParser) function() (*sweep, error) {
	name := p.take()
	p.take()
	for first := true; !p.accept(tokParenClose); first = false {
		if !first && !p.accept(tokComma) {
			return nil, p.unexpected("',' or ')'")
		}
		if p.peek().typ == tokID && p.tokens[p.next+1].typ == tokEqual {
			p.take()
			p.take()
		}
		if _, err := p.element(); err != nil {
			return nil, err
		}
	}
	if slices.Contains(sweepFunctions, name.text) {
		return &sweep{}, nil
	}
	e := p.fail(name.pos, "the override function %s() is left out; write the value itself", name.text)
	e.Kind = "override-function"
	return nil, e
}

// isHydra tells whether an override is about hydra itself, not about the job.
func (o *override) isHydra() bool {
	return strings.HasPrefix(o.key, "hydra.") || strings.HasPrefix(o.key, "hydra/")
}

// maxSweepRuns bounds the list of runs that a sweep stands for.
const maxSweepRuns = 1000

// sweepRuns lists the overrides of every run that sweeps over a,b,c stand for;
// the last override varies fastest, and a later override of a key replaces an
// earlier one. Overrides of hydra itself are left out.
func sweepRuns(overrides []*override) ([][]string, error) {
	var keys []string
	values := map[string][]string{}
	for _, o := range overrides {
		switch {
		case o.isHydra() && o.sweep != nil:
			e := o.errorf("sweep-over-hydra", "Sweeping over Hydra's configuration is not supported : '%s'", o.line)
			e.Column = o.valuePos + 1
			return nil, e
		case o.isHydra():
			continue
		case o.sweep != nil && o.sweep.values == nil:
			return nil, o.errorf("sweep-unsupported", "the runs of '%s' cannot be listed; write the values with commas between", o.line)
		}
		key := strings.TrimPrefix(o.op, "=") + o.fullKey()
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		values[key] = []string{o.line}
		if o.sweep != nil {
			values[key] = nil
			for _, v := range o.sweep.values {
				values[key] = append(values[key], key+"="+v)
			}
		}
	}
	runs := [][]string{{}}
	for _, key := range keys {
		var next [][]string
		for _, run := range runs {
			for _, v := range values[key] {
				next = append(next, append(slices.Clone(run), v))
			}
		}
		if runs = next; len(runs) > maxSweepRuns {
			return nil, &Error{Kind: "sweep-unsupported", Message: fmt.Sprintf("the sweep has more than %d runs", maxSweepRuns)}
		}
	}
	return runs, nil
}

// refuseSweeps names the ways out of a value that is a sweep.
func refuseSweeps(overrides []*override) error {
	for _, o := range overrides {
		if o.sweep == nil {
			continue
		}
		e := o.errorf("sweep-needs-multirun", "Sweep parameters '%s' requires --multirun", o.line)
		if o.sweep.values != nil {
			e.Message = fmt.Sprintf("Ambiguous value for argument '%s'\n"+
				"1. To use it as a list, use key=[value1,value2]\n"+
				"2. To use it as string, quote the value: key=\\'value1,value2\\'\n"+
				"3. To sweep over it, add --multirun to your command line", o.line)
		}
		e.Column = o.valuePos + 1
		e.Hint = "deepprof does not sweep: start one run per value"
		if runs, err := sweepRuns(overrides); err == nil && len(runs) > 0 {
			e.Hint += fmt.Sprintf("; the first of %d has the overrides %s", len(runs), strings.Join(runs[0], " "))
		}
		return e
	}
	return nil
}

package config

import (
	"fmt"
	"math/big"
	"path"
	"strings"
)

// maxJobs bounds a sweep: a range can be of any length.
const maxJobs = 10_000

// sweepJob is the place of a config within a sweep.
type sweepJob struct {
	num int
}

// Job is one run of a sweep.
type Job struct {
	Overrides []string // of the job, with one value for each swept key
	Config    *Config
}

// Sweep composes one config for each combination of the swept values; the last
// override varies fastest. It is what --multirun asks of Hydra's basic sweeper.
func Sweep(o Options) ([]Job, error) {
	overrides, err := parseOverrides(o.Overrides)
	if err != nil {
		return nil, err
	}
	c := newComposer(o, overrides)
	if err := c.checkSources(); err != nil {
		return nil, err
	}
	if err := c.extendSearchPath(); err != nil {
		return nil, c.repo.withLine(err)
	}
	for _, o := range overrides {
		if o.value.sweep != nil && o.isHydra() {
			e := o.errorf("sweep-over-hydra", "Sweeping over Hydra's configuration is not supported : '%s'", o.line)
			e.Column = o.valuePos + 1
			return nil, e
		}
	}
	master, err := c.build(true)
	if err != nil {
		return nil, err
	}
	batches, err := c.batches(master)
	if err != nil {
		return nil, err
	}
	var jobs []Job
	for i, batch := range batches {
		job := o
		job.Now = c.opts.Now
		job.Overrides = append(append([]string{}, master.System...), batch...)
		parsed, err := parseOverrides(job.Overrides)
		if err != nil {
			return nil, err
		}
		cfg, err := compose(job, parsed, &sweepJob{num: i})
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, Job{Overrides: batch, Config: cfg})
	}
	return jobs, nil
}

func (o *override) isHydra() bool {
	return strings.HasPrefix(o.key, "hydra.") || strings.HasPrefix(o.key, "hydra/")
}

// batches multiplies the values of all overrides, those of
// hydra.sweeper.params before the command line's.
func (c *composer) batches(master *Config) ([][]string, error) {
	lines, err := sweeperParams(master)
	if err != nil {
		return nil, err
	}
	overrides, err := parseOverrides(append(lines, master.Task...))
	if err != nil {
		return nil, err
	}
	var keys []string
	values := map[string][]string{}
	for _, o := range overrides {
		key := strings.TrimPrefix(o.op, "=") + o.fullKey()
		if values[key] == nil {
			keys = append(keys, key)
		}
		texts, err := c.sweepTexts(o)
		if err != nil {
			return nil, err
		}
		values[key] = []string{}
		for _, text := range texts {
			values[key] = append(values[key], key+"="+text)
		}
	}
	batches := [][]string{{}}
	for _, key := range keys {
		var next [][]string
		for _, batch := range batches {
			for _, v := range values[key] {
				next = append(next, append(append([]string{}, batch...), v))
			}
			if len(next) > maxJobs {
				return nil, &Error{Kind: "sweep-unsupported", Message: fmt.Sprintf("the sweep has more than %d runs", maxJobs)}
			}
		}
		batches = next
	}
	return batches, nil
}

func sweeperParams(master *Config) ([]string, error) {
	params := master.Hydra.Lookup("sweeper.params")
	if params == nil || params.kind != Map {
		return nil, nil
	}
	r := master.resolver()
	var lines []string
	for _, e := range params.entries {
		v, err := r.deref(e.Value, nil)
		if err != nil {
			return nil, master.repo.withLine(at(err, e.Value))
		}
		lines = append(lines, pyStr(e.Key)+"="+pyStr(v))
	}
	return lines, nil
}

// sweepTexts lists the values of an override as they are written in one.
func (c *composer) sweepTexts(o *override) ([]string, error) {
	s := o.value.sweep
	if s == nil {
		if !o.hasValue {
			return []string{"null"}, nil
		}
		return []string{elementText(o.value)}, nil
	}
	var texts []string
	switch s.kind {
	case choiceSweep:
		for _, e := range s.list {
			texts = append(texts, elementText(e))
		}
		return texts, nil
	case rangeSweep:
		numbers, err := s.rangeValues(o)
		for _, n := range numbers {
			texts = append(texts, pyStr(n))
		}
		return texts, err
	case globSweep:
		for _, option := range c.repo.options(o.key) {
			if matchesAny(s.patterns, option) && !matchesAny(s.excluded, option) {
				texts = append(texts, option)
			}
		}
		return texts, nil
	}
	return nil, o.errorf("sweep-unsupported", "BasicSweeper does not support sweep type : INTERVAL_SWEEP")
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(strings.ReplaceAll(p, "[!", "[^"), name); ok && err == nil {
			return true
		}
	}
	return false
}

// rangeValues counts as Hydra does: whole numbers exactly, others as Python's
// decimals, whose sums are rounded.
func (s *sweep) rangeValues(o *override) ([]*Node, error) {
	var d [3]decimal
	whole := true
	for i, n := range s.numbers {
		whole = whole && n.kind != Float
		var ok bool
		if d[i], ok = decimalOf(n); !ok {
			return nil, o.errorf("sweep-unsupported", "a range needs finite numbers: '%s'", o.line)
		}
	}
	at, stop, step := d[0], d[1], d[2]
	if step.coefficient.Sign() == 0 {
		return nil, o.errorf("sweep-unsupported", "Invalid range values (start:%s, stop:%s, step:%s)", pyStr(s.numbers[0]), pyStr(s.numbers[1]), pyStr(s.numbers[2]))
	}
	var values []*Node
	for at.compare(stop)*step.coefficient.Sign() < 0 {
		if len(values) >= maxJobs {
			return nil, o.errorf("sweep-unsupported", "the range '%s' has more than %d values", o.line, maxJobs)
		}
		if whole {
			values = append(values, newBig(new(big.Int).Set(at.coefficient)))
			at.coefficient = new(big.Int).Add(at.coefficient, step.coefficient)
		} else {
			values = append(values, newFloat(at.float()))
			at = at.add(step)
		}
	}
	return values, nil
}

// elementText writes a value as an override that parses back to it.
func elementText(e element) string {
	switch {
	case e.isList:
		var items []string
		for _, item := range e.list {
			items = append(items, elementText(item))
		}
		return "[" + strings.Join(items, ",") + "]"
	case e.isDict:
		var items []string
		for _, p := range e.dict {
			items = append(items, elementText(element{scalar: p.key})+":"+elementText(p.value))
		}
		return "{" + strings.Join(items, ",") + "}"
	case e.quote != 0:
		return withQuotes(e.scalar.text, e.quote)
	case e.scalar.kind == Null:
		return "null"
	case e.scalar.kind != String:
		return pyStr(e.scalar)
	}
	var b strings.Builder
	for i := range len(e.scalar.text) {
		if strings.IndexByte(escapable, e.scalar.text[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(e.scalar.text[i])
	}
	return b.String()
}

// withQuotes is the inverse of unquote.
func withQuotes(text string, quote byte) string {
	var b strings.Builder
	b.WriteByte(quote)
	slashes := 0
	for i := range len(text) {
		c := text[i]
		if c == '\\' {
			slashes++
			b.WriteByte(c)
			continue
		}
		if c == quote {
			b.WriteString(strings.Repeat(`\`, slashes+1))
		}
		slashes = 0
		b.WriteByte(c)
	}
	b.WriteString(strings.Repeat(`\`, slashes))
	b.WriteByte(quote)
	return b.String()
}

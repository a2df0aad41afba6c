package tool

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Answer is yes, no, or that it could not be told.
type Answer int

const (
	Unknown Answer = iota
	No
	Yes
)

// Capabilities are what an installed ncu can do, as it says itself. A nil list was not
// answered; an empty one was.
type Capabilities struct {
	Tool     Tool
	Options  []string // long names with their dashes, sorted
	Sets     []string // section sets
	Sections []string // section identifiers

	// SetMetrics is how many metrics a set collects, as ncu estimates it.
	SetMetrics map[string]int

	sys System
}

// probeTimeout bounds one question: the tools answer in a second, a query of
// all metrics in some.
const probeTimeout = 60 * time.Second

// Probe asks ncu what it can do, or takes the answers it gave before. A
// question that fails leaves its list nil; all failures come back together
// with what was learnt.
func Probe(ctx context.Context, t Tool, sys System) (*Capabilities, error) {
	if t.Name != Ncu {
		return nil, fmt.Errorf("probe %s: only ncu is asked what it can do", t.Name)
	}
	c := &Capabilities{Tool: t, sys: sys}
	var problems []error
	ask := func(parse func(string) []string, args ...string) []string {
		text, err := sys.ask(ctx, t, args...)
		if err != nil {
			problems = append(problems, err)
			return nil
		}
		list := parse(text)
		if len(list) == 0 {
			problems = append(problems, fmt.Errorf("probe %s: nothing to read in the answer to %s", t.Name, strings.Join(args, " ")))
			return nil
		}
		return list
	}
	c.Options = ask(helpOptions, "--help")
	c.Sets = ask(func(text string) []string {
		c.SetMetrics = estimatedMetrics(text)
		return tableNames(text)
	}, "--list-sets")
	c.Sections = ask(tableNames, "--list-sections")
	return c, errors.Join(problems...)
}

// metric tells whether ncu can collect a metric on a chip such as gh100,
// without a GPU. Names are compared without the roll-ups (.sum, .avg.pct...)
// that follow a metric's base name.
func (c *Capabilities) metric(ctx context.Context, chip, metric string) (Answer, error) {
	if !chipName.MatchString(chip) {
		return Unknown, fmt.Errorf("query metrics: %q is not a chip of ncu", chip)
	}
	text, err := c.sys.ask(ctx, c.Tool, "--query-metrics", "--chips", chip)
	if err != nil {
		return Unknown, err
	}
	names := tableNames(text)
	if len(names) == 0 {
		return Unknown, nil
	}
	base, _, _ := strings.Cut(metric, ".")
	if slices.Contains(names, metric) || slices.Contains(names, base) {
		return Yes, nil
	}
	for _, prefix := range []string{"regex:", "group:", "breakdown:", "launch__", "device__", "profiler__", "source_", "inst_", "smsp__pcsamp", "numa__", "nvlink__", "pmsampling:"} {
		// Expanded or computed by ncu itself; the query does not list them.
		if strings.HasPrefix(metric, prefix) {
			return Unknown, nil
		}
	}
	return No, nil
}

var chipName = regexp.MustCompile(`^[a-z]{2}[0-9a-z]{2,6}$`)

// ask puts one question, through the cache.
func (s System) ask(ctx context.Context, t Tool, args ...string) (string, error) {
	question := strings.Join(args, " ")
	key, keyErr := fingerprint(t.Real)
	if keyErr == nil {
		if text, ok := s.cache().listing(key, question); ok {
			return text, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if t.Version.AtLeast(2023, 1) && args[0] != "--help" {
		args = append([]string{"--config-file=off"}, args...)
	}
	out, errs, exit, err := s.run(ctx, Command{Path: t.Path, Args: args, Env: Environ(s.environ(), "LC_ALL=C")})
	if err != nil {
		return "", fmt.Errorf("probe %s: %w", t.Name, err)
	}
	if !exit.OK() || exit.Truncated {
		return "", fmt.Errorf("probe %s: %s: %s: %s", t.Name, question, exit, firstLine(string(errs)+string(out)))
	}
	text := string(out)
	if slices.Contains(args, "--query-metrics") {
		text = shorten(text)
	}
	if keyErr == nil && !t.Version.IsZero() {
		s.cache().put(key, func(e *entry) {
			e.Name, e.Path, e.Version = t.Name, t.Real, t.Version
			if e.Listings == nil {
				e.Listings = map[string]string{}
			}
			e.Listings[question] = text
		})
	}
	return text, nil
}

// shorten keeps the first column of a table: the list of all metrics is a
// megabyte, and its names a tenth of that.
func shorten(text string) string {
	return "Identifier \n" + strings.Join(tableNames(text), "\n") + "\n"
}

// helpOption finds an option where the help text defines one: behind two blanks,
// perhaps after its short form. Deeper lines describe.
var helpOption = regexp.MustCompile(`(?m)^ {2}(?:-\w, |-\w \[ )?(--[a-z0-9-]+)`)

func helpOptions(help string) []string {
	var out []string
	for _, m := range helpOption.FindAllStringSubmatch(help, -1) {
		out = append(out, m[1])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// tableNames reads the first column of the tables that ncu prints. Lines that
// begin with a blank continue the row above.
func tableNames(text string) []string {
	out := []string{}
	body := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "Identifier ") || strings.HasPrefix(line, "Metric Name "):
			body = true
		case !body || line == "" || line[0] == ' ' || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "=="):
		default:
			name, _, _ := strings.Cut(line, " ")
			out = append(out, name)
		}
	}
	return out
}

// estimatedMetrics are the numbers in the last column of ncu's table of sets, by
// the name in the first.
func estimatedMetrics(text string) map[string]int {
	out := map[string]int{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || line[0] == ' ' {
			continue
		}
		if n, err := strconv.Atoi(words[len(words)-1]); err == nil {
			out[words[0]] = n
		}
	}
	return out
}

// chips are the chips that a compute capability names without doubt; others
// are shared by several that differ in their counters.
var chips = map[string]string{"7.0": "gv100", "8.0": "ga100", "9.0": "gh100", "10.0": "gb100"}

// CheckMetrics refuses metrics that the GPU of this machine cannot count; key is
// the setting that names them. Where its chip, or the answer, cannot be told, the
// capture itself shows.
func (c *Capabilities) CheckMetrics(ctx context.Context, smi Tool, key string, metrics []string) error {
	text, _, exit, err := Output(ctx, Command{Path: smi.Path, Args: []string{"--query-gpu=compute_cap", "--format=csv,noheader"}})
	if err != nil || !exit.OK() {
		return nil
	}
	caps := strings.Fields(string(text))
	slices.Sort(caps)
	if caps = slices.Compact(caps); len(caps) != 1 || chips[caps[0]] == "" {
		return nil
	}
	chip := chips[caps[0]]
	var problems []error
	for _, m := range metrics {
		if answer, err := c.metric(ctx, chip, m); err == nil && answer == No {
			problems = append(problems, fmt.Errorf("%s: %s does not count %q on %s; ncu --query-metrics --chips %s lists what it does", key, c.Tool, m, chip, chip))
		}
	}
	return errors.Join(problems...)
}

package compare

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/suggest"
)

// A Rule limits a change: 'stage:decode.time < +3%'. parseRule has the language.
type Rule struct {
	Text string // as it was written
	Name string // for people; Text where nobody gave one

	kind     Kind
	metric   Metric // "" takes whatever the kind has
	name     string
	pattern  *regexp.Regexp // in place of name
	op       string
	limit    float64 // of the change from BASE, in the unit of the metric or relative
	relative bool
}

// An Outcome is what came of a rule, and of all of them.
type Outcome string

// Outcomes. A rule that could not be evaluated never passes.
const (
	Pass    Outcome = "pass"
	Fail    Outcome = "fail"
	Unknown Outcome = "cannot-tell"
)

// A Gate is what came of all rules: the worst of them.
type Gate struct {
	Outcome Outcome      `json:"outcome"`
	Rules   []RuleResult `json:"rules"`
}

// A RuleResult is what came of one rule: the worst of its checks.
type RuleResult struct {
	Rule    string  `json:"rule"`
	Name    string  `json:"name,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Relative: the limit, and the changes of the checks, are shares of the base.
	Relative bool    `json:"relative"`
	Checks   []Check `json:"checks"`
}

// A Check holds a rule against one row.
type Check struct {
	Key
	Unit    string  `json:"unit"`
	Outcome Outcome `json:"outcome"`
	// Change, Low and High are relative, or in the unit of the metric where the rule
	// is absolute.
	Change *float64  `json:"change"`
	Low    *float64  `json:"low"`
	High   *float64  `json:"high"`
	Why    fact.Fact `json:"why,omitzero"`
}

// aliases are kinds of rules that name a metric of a stage.
var aliases = map[string]Metric{"launches": Launches, "time": Time, "gpu_time": GPUTime}

// noMetric are the kinds of which a rule names no metric.
var noMetric = []Kind{MFU, MBU, Workload}

// ruleForm is SELECTOR OP LIMIT; the unit belongs to the limit.
var ruleForm = regexp.MustCompile(`^(.+\S)\s*(<=|>=|<|>)\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*(%|ns|us|ms|s)?$`)

// timeUnits are how many ns each unit of a limit has; a limit without one is in the unit of
// the metric.
var timeUnits = map[string]float64{"": 1, "ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}

// parseRule reads a rule: SELECTOR OP LIMIT. The selector is KIND:NAME.METRIC,
// where the metric follows the last dot and the name may be regex:EXPR. The limit
// is the change from BASE: +3% relative, 0 or +1ms absolute.
// An absolute limit of a time without a unit is in ns. Errors name the rule and the
// nearest kind or metric.
func parseRule(text string) (Rule, error) {
	r := Rule{Text: strings.TrimSpace(text)}
	m := ruleForm.FindStringSubmatch(r.Text)
	if m == nil {
		return r, fmt.Errorf("rule %q: it is not of the form KIND:NAME.METRIC < LIMIT, for example 'stage:decode.time < +3%%'", text)
	}
	limit, err := strconv.ParseFloat(m[3], 64)
	if err != nil || math.IsInf(limit, 0) {
		return r, fmt.Errorf("rule %q: %s is no limit", text, m[3])
	}
	r.op, r.limit, r.relative = m[2], limit, m[4] == "%"
	if r.relative {
		r.limit /= 100
	} else {
		r.limit *= timeUnits[m[4]]
	}
	if err := r.selector(m[1]); err != nil {
		return r, fmt.Errorf("rule %q: %w", text, err)
	}
	if m[4] != "" && !r.relative && metrics[r.metric].unit != "ns" {
		return r, fmt.Errorf("rule %q: %s is no time", text, r.metric)
	}
	return r, nil
}

// selector reads KIND:NAME.METRIC.
func (r *Rule) selector(s string) error {
	kind, rest, named := strings.Cut(s, ":")
	if !named {
		kind, rest, _ = strings.Cut(s, ".")
		rest = "." + rest
	}
	if metric, ok := aliases[kind]; ok && named {
		r.kind, r.metric = Stage, metric
		return r.named(rest)
	}
	r.kind = Kind(kind)
	if !slices.Contains(kinds, r.kind) {
		return fmt.Errorf("there is no kind %q%s", kind, suggest.OneOf(kind, append(Kinds(), "launches")))
	}
	if !named && r.kind != Total {
		return fmt.Errorf("%s needs a name: %s:NAME.METRIC", kind, kind)
	}
	if slices.Contains(noMetric, r.kind) {
		return r.named(rest)
	}
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 {
		return fmt.Errorf("%s names no metric; it follows the last dot: %s.time", s, s)
	}
	r.metric = Metric(rest[dot+1:])
	if _, ok := metrics[r.metric]; !ok {
		return fmt.Errorf("there is no metric %q%s", rest[dot+1:], suggest.OneOf(rest[dot+1:], asTexts(metricNames())))
	}
	return r.named(rest[:dot])
}

// An empty name is allowed for totals only.
func (r *Rule) named(s string) (err error) {
	expr, isPattern := strings.CutPrefix(s, "regex:")
	if !isPattern {
		r.name = s
		if s == "" && r.kind != Total {
			return fmt.Errorf("%s names nothing", r.kind)
		}
		return nil
	}
	if r.pattern, err = regexp.Compile(expr); err != nil {
		return fmt.Errorf("regular expression %q: %w", expr, err)
	}
	return nil
}

// metricNames are those that rules may name, for suggestions.
func metricNames() []Metric {
	return []Metric{Time, GPUTime, LaunchTime, Launches, Kernels, CopyBytes, Throughput, Rate, Errors, Communication, Exposed, ModelFLOPs, ModelBytes}
}

// asTexts are names as texts.
func asTexts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = string(x)
	}
	return out
}

// Apply holds the rules against the comparison. A rule that names nothing that
// either side has is an error: most likely a typo.
// It sets c.Gate. Rules see every row, also those that are not shown.
func (c *Comparison) Apply(rules []Rule) error {
	g := &Gate{Outcome: Pass, Rules: []RuleResult{}}
	for _, rule := range rules {
		res := RuleResult{Rule: rule.Text, Name: rule.Name, Outcome: Pass, Relative: rule.relative, Checks: []Check{}}
		for i := range c.Rows {
			if r := &c.Rows[i]; rule.matches(r) {
				check := rule.check(r)
				res.Checks, res.Outcome = append(res.Checks, check), worse(res.Outcome, check.Outcome)
			}
		}
		if len(res.Checks) == 0 {
			return fmt.Errorf("rule %q: neither side has it%s", rule.Text, suggest.OneOf(rule.name, c.names(&rule)))
		}
		g.Rules, g.Outcome = append(g.Rules, res), worse(g.Outcome, res.Outcome)
	}
	c.Gate = g
	return nil
}

// names are those that a rule could have meant: of its kind and metric, with repetitions.
func (c *Comparison) names(rule *Rule) []string {
	var names []string
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Kind == rule.kind && (rule.metric == "" || r.Metric == rule.metric) {
			names = append(names, r.Name)
		}
	}
	return names
}

// worse: fail is worse than cannot-tell, which is worse than pass.
func worse(a, b Outcome) Outcome {
	for _, o := range []Outcome{Fail, Unknown} {
		if a == o || b == o {
			return o
		}
	}
	return Pass
}

// matches tells whether a rule is about a row; an expression may match a part of a name. A kernel with a row for each
// launch configuration is meant with all of them.
func (rule *Rule) matches(r *Row) bool {
	switch {
	case r.Kind != rule.kind || rule.metric != "" && r.Metric != rule.metric:
		return false
	case rule.pattern != nil:
		return rule.pattern.MatchString(r.Name)
	}
	return r.Name == rule.name || r.Kind == Kernel && strings.HasPrefix(r.Name, rule.name+" ")
}

// check passes where the whole interval keeps the rule, fails where the whole
// interval breaks it, and otherwise cannot tell.
func (rule *Rule) check(r *Row) Check {
	c := Check{Key: r.Key, Unit: r.Unit, Outcome: Unknown}
	switch {
	case r.Verdict == CannotTell && r.Low == nil, r.Why.Is(Forbidden):
		c.Why = fact.New(ruleNoInterval, fact.Because("why", r.Why))
		return c
	case rule.relative && r.Change == nil:
		c.Why = fact.New(ruleNoBase)
		return c
	case rule.relative:
		c.Change, c.Low, c.High = r.Change, r.Low, r.High
	default:
		c.Change, c.Low, c.High = r.absolute()
	}
	low, high := rule.keeps(*c.Low), rule.keeps(*c.High)
	switch {
	case low && high:
		c.Outcome = Pass
	case !low && !high:
		c.Outcome = Fail
	}
	return c
}

// absolute is the change in the unit of the metric. Something that a side lacks
// counts 0 there.
func (r *Row) absolute() (change, low, high *float64) {
	d := value(r.New) - value(r.Base)
	if r.exact() || r.Low == nil {
		return &d, &d, &d
	}
	return &d, new(*r.Low * *r.Base), new(*r.High * *r.Base)
}

// change is relative or in the unit of the metric, as the rule's limit.
func (rule *Rule) keeps(change float64) bool {
	switch rule.op {
	case "<":
		return change < rule.limit
	case "<=":
		return change <= rule.limit
	case ">":
		return change > rule.limit
	default:
		return change >= rule.limit
	}
}

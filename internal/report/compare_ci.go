package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/message"
)

// junitSuite is the part of JUnit's XML that CI systems read.
type junitSuite struct {
	XMLName xml.Name `xml:"testsuite"`
	Name    string   `xml:"name,attr"`
	// Tests counts all rules; Failures and Errors are among them.
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

// junitCase is one rule. CI systems count Failure and Error apart; Out is shown on request.
type junitCase struct {
	Name string `xml:"name,attr"`
	// Class is the same for all rules: CI systems group by it.
	Class   string      `xml:"classname,attr"`
	Failure *junitCause `xml:"failure,omitempty"`
	Error   *junitCause `xml:"error,omitempty"` // it could not be evaluated
	Out     string      `xml:"system-out,omitempty"`
}

// junitCause has a line for lists and the whole text.
type junitCause struct {
	// Message is one line; Text may have several.
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// GateJUnit writes the rules as test cases: one that fails is a failure, one that
// cannot be told an error.
// Without rules it is a suite without cases.
func GateJUnit(w io.Writer, c *compare.Comparison) error {
	suite := junitSuite{Name: "deepprof compare"}
	for _, r := range gateTexts(c) {
		one := junitCase{Name: r.name, Class: "deepprof.compare"}
		cause := &junitCause{Message: r.short, Text: r.text}
		switch r.outcome {
		case compare.Fail:
			suite.Failures++
			one.Failure = cause
		case compare.Unknown:
			suite.Errors++
			one.Error = cause
		default:
			one.Out = r.text
		}
		suite.Tests++
		suite.Cases = append(suite.Cases, one)
	}
	out, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, out)
	return err
}

// A gateText is what came of a rule, in words.
type gateText struct {
	// name is the rule, short one line with its outcome, text a line a check, "" where none
	// decided.
	name, short, text string
	outcome           compare.Outcome
}

// gateTexts has one text for each rule, in the order of the file of rules; none where no
// rules were given. Of the checks of a rule it tells those that decided its outcome.
func gateTexts(c *compare.Comparison) []gateText {
	if c.Gate == nil {
		return nil
	}
	var out []gateText
	for i := range c.Gate.Rules {
		r := &c.Gate.Rules[i]
		t := gateText{name: ruleName(r), outcome: r.Outcome}
		var lines []string
		for j := range r.Checks {
			if check := &r.Checks[j]; check.Outcome == r.Outcome {
				l := gateLine(r, check)
				lines = append(lines, message.Phrase("gate-check", check.Name, l.Change, l.Between, l.Why))
			}
		}
		t.text = strings.Join(lines, "\n")
		first, _, _ := strings.Cut(t.text, "\n")
		t.short = message.Phrase("gate-rule", message.Label("compare.outcome", string(r.Outcome)), r.Rule, first)
		out = append(out, t)
	}
	return out
}

// GateGitHub prints rules that did not pass as annotations of GitHub Actions.
func GateGitHub(w io.Writer, c *compare.Comparison) error {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, r := range gateTexts(c) {
		kind := map[compare.Outcome]string{compare.Fail: "error", compare.Unknown: "warning"}[r.outcome]
		if kind == "" {
			continue
		}
		text := message.Phrase("gate-rule", message.Label("compare.outcome", string(r.outcome)), cmp.Or(r.text, r.name), "")
		if _, err := fmt.Fprintf(w, "::%s title=%s::%s\n", kind, property.Replace(message.Phrase("compare-heading", r.name)), data.Replace(text)); err != nil {
			return err
		}
	}
	return nil
}

// gitLabIssue is an entry of a code quality report.
type gitLabIssue struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	// Fingerprint is the same for the same rule in every run, so that GitLab follows it.
	Fingerprint string `json:"fingerprint"`
	// Severity is one of GitLab's: major for a failure, minor for what cannot be told.
	Severity string `json:"severity"`
	// Location must be there; a rule is about no file, so that it is always the same.
	Location struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// GateGitLab writes rules that did not pass as a code quality report, which GitLab
// shows in merge requests.
// The report is a list in any case: GitLab refuses null.
func GateGitLab(w io.Writer, c *compare.Comparison) error {
	issues := []gitLabIssue{}
	for _, r := range gateTexts(c) {
		severity := map[compare.Outcome]string{compare.Fail: "major", compare.Unknown: "minor"}[r.outcome]
		if severity == "" {
			continue
		}
		sum := sha256.Sum256([]byte(r.name))
		issue := gitLabIssue{Description: r.short, CheckName: "deepprof compare", Fingerprint: hex.EncodeToString(sum[:16]), Severity: severity}
		issue.Location.Path, issue.Location.Lines.Begin = "deepprof", 1
		issues = append(issues, issue)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(issues)
}

// Package message turns facts into words: every sentence that deepprof shows
// about a result, for the terminal, Markdown and the page alike, stands in the
// tables of this package.
//
// A template names parameters in braces: "{stage} waits for {gap}". A value is
// written by its kind: a duration as "207.6 ms", a share as "89 %".
//
//	{n:launch|launches}   a count with its noun, in the right number
//	{more.}               facts as sentences, each with its full stop
//	{why!}                what to do about facts
//	[ because {why}]      left out where a parameter in the brackets is absent
//	{{ }} [[ ]]           a brace, a bracket
//
// Nearly all lines are the words themselves, one line a code.
package message

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// words are what is text of one code. Only Text is required.
type words struct {
	Text  string // for an engineer: a sentence
	Short string // for a table cell or a list, without a full stop; "" takes Text
	Plain string // for readers who do not know GPUs; "" takes Text
	Next  string // what to do about it
}

// tables has one table per area of the program; a code stands in one of them.
var tables = []map[fact.Code]words{causes, methodWords, modelWords, ofTimeline, ofAnalysis, ofPick, limiterWords, evidenceWords, findingWords, headlineWords, rankWords, utilizationWords, changeWords, assumptionWords, adviceWords, compareWords,
	verdictWords, profilerWords, captureWords, pipelineWords, serverWords, experimentWords, annotationWords, toldWords, sessionWords, sessionFailures, doctorWords, damageWords, pageWords, runWords}

// find looks through all tables; a code stands in one of them, which a test holds.
func find(code fact.Code) (words, bool) {
	for _, t := range tables {
		if w, ok := t[code]; ok {
			return w, true
		}
	}
	return words{}, false
}

// codesOnly is set by CodesOnly, for tests alone.
var codesOnly bool

// CodesOnly makes every message its code, and every label its ID, until restore
// is called. It is for tests that nothing depends on words; no other goroutine
// may word a fact meanwhile.
func CodesOnly() (restore func()) {
	codesOnly = true
	return func() { codesOnly = false }
}

// Known reports whether there are words for a code.
func Known(code fact.Code) bool {
	_, ok := find(code)
	return ok
}

// Text is the fact as a sentence for an engineer.
func Text(f fact.Fact) string {
	return say(f, func(w words) string { return w.Text })
}

// Short is the fact for a table cell or a list, without a full stop.
func Short(f fact.Fact) string {
	return say(f, func(w words) string { return or(w.Short, w.Text) })
}

// Plain is the fact for readers who do not know GPUs.
func Plain(f fact.Fact) string {
	return say(f, func(w words) string { return or(w.Plain, w.Text) })
}

// Next is what to do about the fact; "" where nothing is to be done.
func Next(f fact.Fact) string {
	w, ok := find(f.Code)
	if !ok || w.Next == "" {
		return ""
	}
	return say(f, func(w words) string { return w.Next })
}

// Texts are several facts, each with what to do about it.
func Texts(facts []fact.Fact) []string {
	all := make([]string, len(facts))
	for i, f := range facts {
		all[i] = Text(f)
		if next := Next(f); next != "" {
			all[i] += "; " + next
		}
	}
	return all
}

// Join says several facts in one line.
func Join(facts []fact.Fact) string {
	all := make([]string, len(facts))
	for i, f := range facts {
		all[i] = Short(f)
	}
	return strings.Join(all, "; ")
}

// or is a, or b where a is "".
func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// say is a fact in the variant that pick takes; "" for the zero fact, raw for an unknown code.
func say(f fact.Fact, pick func(words) string) string { return sayEnding(f, pick, "") }

// sayEnding writes end after each sentence of the template.
func sayEnding(f fact.Fact, pick func(words) string, end string) string {
	if f.IsZero() {
		return ""
	}
	w, ok := find(f.Code)
	if !ok || codesOnly {
		return raw(f)
	}
	e, t := expander{params: f.Params, pick: pick, end: end}, pick(w)
	s := e.expand(t)
	if e.beginsWithProgram(t) { // names of stages stay as they are
		return "T" + s[1:]
	}
	return s
}

// Sentences says several facts, each as a sentence.
func Sentences(facts []fact.Fact) string {
	return sentences(facts, func(w words) string { return w.Text }, " ")
}

// SentencesOf is Text, a sentence an entry, for a reader with little room. What the
// values of parameters hold is never split.
func SentencesOf(f fact.Fact) []string {
	var out []string
	for part := range strings.SplitSeq(sayEnding(f, func(w words) string { return w.Text }, sentenceEnd), sentenceEnd) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, stop(part))
		}
	}
	return out
}

// sentences are facts, each with its full stop; those that say nothing are left out.
func sentences(facts []fact.Fact, pick func(words) string, between string) string {
	all := make([]string, 0, len(facts))
	for _, f := range facts {
		if s := say(f, pick); s != "" {
			all = append(all, stop(s))
		}
	}
	return strings.Join(all, between)
}

// stop ends a sentence.
func stop(s string) string {
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// raw is a fact without words: one of a newer version, or of a test.
func raw(f fact.Fact) string {
	var b strings.Builder
	b.WriteString(string(f.Code))
	for i, key := range slices.Sorted(maps.Keys(f.Params)) {
		sep := ", "
		if i == 0 {
			sep = " ("
		}
		fmt.Fprintf(&b, "%s%s %s", sep, key, Value(f.Params[key]))
	}
	if len(f.Params) > 0 {
		b.WriteString(")")
	}
	return b.String()
}

// An expander fills templates with the parameters of a fact. Facts among them are
// text in the variant that it picks.
type expander struct {
	// params are those of the fact, or the values of a phrase by the names of its places.
	params fact.Params
	// pick chooses the variant (Text, Short, ...) of facts among the parameters; nil for phrases,
	// which have none.
	pick func(words) string
	end  string // written after each full stop of a template and each fact of a list; "" usually
	// zeroAbsent: a count of 0 leaves out the brackets around it. A fact that states 0 says so.
	zeroAbsent bool
}

// sentenceEnd separates sentences while one is made; no text holds it.
const sentenceEnd = "\x1e"

// literal is a piece of a template as it is written.
func (e expander) literal(s string) string {
	if e.end == "" {
		return s
	}
	s = strings.ReplaceAll(s, ". ", "."+e.end+" ")
	if strings.HasSuffix(s, ".") {
		s += e.end
	}
	return s
}

// beginsWithProgram tells whether a template begins with the stage of a program
// that has none.
func (e expander) beginsWithProgram(t string) bool {
	t, ok := strings.CutPrefix(t, "{")
	name, _, _ := strings.Cut(t, "}")
	v, has := e.params[name]
	return ok && has && v.Kind == fact.KindStage && v.Text == "" && v.List == nil
}

// expand fills a template. A parameter that is absent outside brackets is shown
// as its name in braces, so that a wrong template is seen; a test walks them.
func (e expander) expand(t string) string {
	s, _ := e.fill(&t, false)
	return s
}

// fill expands up to the end, or to the bracket that closes; whole tells that
// every parameter was there.
func (e expander) fill(t *string, inside bool) (s string, whole bool) {
	var b strings.Builder
	whole = true
	for *t != "" {
		i := strings.IndexAny(*t, "{}[]")
		if i < 0 {
			b.WriteString(e.literal(*t))
			*t = ""
			break
		}
		b.WriteString(e.literal((*t)[:i]))
		c := (*t)[i]
		rest := (*t)[i+1:]
		if rest != "" && rest[0] == c && c != ']' || strings.HasPrefix(rest, "]") && c == ']' && !inside {
			b.WriteByte(c)
			*t = rest[1:]
			continue
		}
		*t = rest
		switch c {
		case '{':
			name, after, _ := strings.Cut(*t, "}")
			*t = after
			text, ok := e.param(name)
			whole = whole && ok
			b.WriteString(text)
		case '[':
			if part, ok := e.fill(t, true); ok {
				b.WriteString(part)
			}
		case ']':
			if inside {
				return b.String(), whole
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), whole
}

// nexts is what to do about facts, each advice once.
func nexts(facts []fact.Fact) string {
	var all []string
	for _, f := range facts {
		if next := Next(f); next != "" && !slices.Contains(all, next) {
			all = append(all, next)
		}
	}
	return strings.Join(all, "; ")
}

// param writes "gain", "n:launch|launches", "more." or "why!".
func (e expander) param(name string) (string, bool) {
	if key, ok := strings.CutSuffix(name, "!"); ok {
		next := nexts(e.params[key].Facts)
		return next, next != ""
	}
	name, whole := strings.CutSuffix(name, ".")
	key, nouns, counted := strings.Cut(name, ":")
	v, ok := e.params[key]
	there := !e.zeroAbsent || v.Kind != fact.KindCount || v.Number != 0
	switch {
	case !ok:
		return "{" + key + "}", false
	case whole:
		return sentences(v.Facts, e.pick, e.end+" "), true
	case !counted:
		return Value(v), there
	}
	one, many, _ := strings.Cut(nouns, "|")
	if v.Number == 1 {
		return "1 " + one, true
	}
	return Value(v) + " " + many, there
}

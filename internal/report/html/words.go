package html

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/report"
)

// notes are the keys whose facts stay objects, with text and next beside the
// code. Elsewhere a fact becomes its text, and a list of facts one text.
var notes = []string{"findings", "warnings", "missing", "ladder", "assumptions", "annotation", "left_out", "cut_off"}

// prose are the keys whose facts become sentences, one after the other, not a list.
var prose = []string{"how", "assumption", "text"}

// withWords puts the words into a result, because the page has none of its own.
// Beside a fact whose short form is another, KEY_short holds that.
func withWords(result []byte, python bool) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(result))
	d.UseNumber() // times are larger than a float holds exactly
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("put words into the result: %w", err)
	}
	worder(python).object(tree)
	return tree, nil
}

// A worder tells whether host code is Python's.
type worder bool

// object words an object in place: its own facts become texts, and what is nested in it.
func (python worder) object(x map[string]any) {
	python.limiter(x)
	wordPeak(x)
	wordNumbers(x)
	for key, v := range x {
		switch v := v.(type) {
		case map[string]any:
			if f, ok := factOf(v); ok {
				x[key] = message.Text(f)
				if s := message.Short(f); s != x[key] {
					x[key+"_short"] = s
				}
				continue
			}
			python.object(v)
		case []any:
			if key == "names" || key == "rank_names" { // of the boxes of the timeline
				for i := range v {
					id, _ := v[i].(string)
					v[i] = message.Label("gpu-work", id)
				}
			}
			x[key] = python.list(key, v)
		}
	}
}

// namesOfWork puts words in place of the IDs of GPU work that has no name.
func namesOfWork(ids []string) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = message.Label("gpu-work", id)
	}
	return names
}

// list words the elements of a list, and gives what stands in its place: facts become one
// text, or stay objects with their words where notes has the key.
func (python worder) list(key string, list []any) any {
	var facts []fact.Fact
	for _, v := range list {
		switch v := v.(type) {
		case []any:
			python.list("", v)
		case map[string]any:
			f, ok := factOf(v)
			switch {
			case !ok:
				python.row(key, v)
				python.object(v)
			case slices.Contains(notes, key):
				delete(v, "params")
				if step, ok := v["step"].(string); ok {
					f = (&analysis.Note{Fact: f, Step: step}).AsFact()
				}
				v["text"], v["plain"] = message.Text(f), message.Plain(f)
				if next := message.Next(f); next != "" {
					v["next"] = next
				}
			default:
				facts = append(facts, f)
			}
		}
	}
	switch {
	case len(facts) == 0 || len(facts) < len(list):
		return list
	case key == "thresholds":
		rows := make([]analysis.Fact, len(facts)) // the page shows a table
		for i, f := range facts {
			rows[i] = analysis.Fact{Name: message.Short(f), Value: message.Text(f)}
		}
		return rows
	case slices.Contains(prose, key):
		return message.Sentences(facts)
	}
	return message.Join(facts)
}

// limiter names the limiter in an object that is one.
func (python worder) limiter(x map[string]any) {
	list, ok := x["units"]
	if !ok {
		return
	}
	var units []string
	if all, ok := list.([]any); ok {
		for _, u := range all {
			units = append(units, fmt.Sprint(u))
		}
	}
	kind, _ := x["kind"].(string)
	x["label"] = message.Limiter(kind, units)
	if detail, ok := x["detail"].(string); ok {
		x["detail"] = message.LimiterDetail(kind, detail)
	}
	if level, ok := x["level"].(json.Number); ok {
		id := "level-use"
		if kind == "small" { // of one wave of blocks
			id = "level-wave"
		}
		x["level_label"] = message.Phrase(id, unbroken(report.LevelText(kind, numberOf(level))))
	}
	if why, ok := x["why"].([]any); ok {
		x["why"] = python.list("how", why)
	}
}

// wordPeak names the limit of a GPU in an object that is one.
func wordPeak(x map[string]any) {
	if _, ok := x["measured"]; ok {
		id, _ := x["id"].(string)
		x["label"] = message.Label("peak", id)
		if _, ok := x["basis"]; !ok {
			x["basis"] = ""
		}
	}
}

// wordNumbers puts KEY_text beside the numbers of an object that have a unit, as
// the reports write them.
func wordNumbers(x map[string]any) {
	kind, _ := x["kind"].(string)
	unit, _ := x["unit"].(string)
	_, told := x["text"]
	for key, v := range x {
		if bounds, ok := v.([]any); ok && key == "bounds" { // of a histogram
			texts := make([]string, len(bounds))
			for i, b := range bounds {
				texts[i] = unbroken(report.QuantityText("ns", numberOf(b)))
			}
			x["bounds_text"] = texts
			continue
		}
		n, ok := v.(json.Number)
		switch {
		case !ok:
		case key == "value" && !told:
			x["value_text"] = unbroken(report.CounterText(numberOf(n), unit))
		case key == "flops" && x["intensity"] != nil: // a point of the roofline
			x["flops_text"] = unbroken(report.CounterText(numberOf(n), "flop/s"))
		case key == "level":
			x["level_text"] = unbroken(report.LevelText(kind, numberOf(n)))
		case report.HasText(key):
			x[key+"_text"] = unbroken(report.QuantityText(key, numberOf(n)))
		}
	}
}

// numberOf is a number of the tree; NaN, which reads "n/a", where it is none. Whole numbers
// above 2^53 lose digits, which no text shows.
func numberOf(v any) float64 {
	n, _ := v.(json.Number)
	if x, err := n.Float64(); err == nil {
		return x
	}
	return math.NaN()
}

// unbroken keeps a number and its unit on one line.
func unbroken(text string) string { return strings.ReplaceAll(text, " ", "\u00a0") }

// row names what the rows of some lists have an ID for. list is the key of the list: the same
// ID means other things elsewhere.
func (python worder) row(list string, x map[string]any) {
	switch list {
	case "shape":
		id, _ := x["name"].(string)
		name := message.Label("shape", id)
		if x["name"], x["title"] = name, name; name != id { // a name out of a program stays as it is
			x["title"] = strings.ToUpper(name[:1]) + name[1:]
		}
	case "software":
		id, _ := x["name"].(string)
		x["name"] = message.Label("software", id)
	case "kernels":
		if id, _ := x["attained_of"].(string); id != "" {
			x["attained_label"] = message.Label("peak", id)
		}
	case "metrics": // there are many: the page gets the text in place of the number
		if text, _ := x["text"].(string); text == "" {
			unit, _ := x["unit"].(string)
			x["text"] = unbroken(report.CounterText(numberOf(x["value"]), unit))
		}
		delete(x, "value")
		delete(x, "unit")
	case "counters": // lanes of sampled counters
		id, _ := x["metric"].(string)
		x["label"] = message.Label("sampled", id)
	case "stalls":
		id, _ := x["reason"].(string)
		x["label"] = message.Label("stall", id)
	case "categories", "busy":
		id, _ := x["id"].(string)
		label, _ := x["label"].(string)
		x["label"] = message.Part(id, cmp.Or(label, id))
	case "next_token_parts":
		id, _ := x["part"].(string)
		x["label"] = message.Label("next_token", id)
	case "idle":
		id, _ := x["id"].(string)
		x["label"] = message.Idle(id, bool(python))
	}
}

// factOf is the fact in an object that has a code.
func factOf(x map[string]any) (f fact.Fact, ok bool) {
	if _, ok := x["code"].(string); !ok {
		return f, false
	}
	data, err := json.Marshal(x)
	return f, err == nil && json.Unmarshal(data, &f) == nil
}

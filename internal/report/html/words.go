package html

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/message"
)

// notes are the keys whose facts stay objects, with text and next beside the
// code. Elsewhere a fact becomes its text, and a list of facts one text.
var notes = []string{"warnings", "missing", "ladder", "assumptions", "left_out", "cut_off"}

// withWords puts the words into a result, because the page has none of its own.
// Beside a fact whose short form is another, KEY_short holds that.
func withWords(result []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(result))
	d.UseNumber() // times are larger than a float holds exactly
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("put words into the result: %w", err)
	}
	wordObject(tree)
	return json.Marshal(tree)
}

func wordObject(x map[string]any) {
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
			wordObject(v)
		case []any:
			x[key] = wordList(key, v)
		}
	}
}

func wordList(key string, list []any) any {
	var facts []fact.Fact
	for _, v := range list {
		switch v := v.(type) {
		case []any:
			wordList("", v)
		case map[string]any:
			f, ok := factOf(v)
			switch {
			case !ok:
				wordObject(v)
			case slices.Contains(notes, key):
				delete(v, "params")
				v["text"] = message.Text(f)
				if next := message.Next(f); next != "" {
					v["next"] = next
				}
			default:
				facts = append(facts, f)
			}
		}
	}
	if len(facts) > 0 && len(facts) == len(list) {
		return message.Join(facts)
	}
	return list
}

// factOf is the fact in an object that has a code.
func factOf(x map[string]any) (f fact.Fact, ok bool) {
	if _, ok := x["code"].(string); !ok {
		return f, false
	}
	data, err := json.Marshal(x)
	return f, err == nil && json.Unmarshal(data, &f) == nil
}

package message

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// Phrase is a heading, a label or a sentence around what a result says, by its ID:
// what Markdown, the terminal and their tables of two columns need besides facts.
// Its template is written as those of facts are. Values fill its places in the order
// in which the template first names them: a whole number is a count, anything else is
// text that the caller has escaped for where it stands. 0, "" and nil leave out the
// brackets around their place. The words of the page (PageTexts) are found too. An
// unknown ID is returned as it is; a test finds those.
func Phrase(id string, values ...any) string {
	text, ok := phrases[id]
	if !ok {
		if text, ok = pageTexts[id]; !ok {
			return id
		}
	}
	if codesOnly {
		return strings.TrimSpace(id + " " + fmt.Sprintln(values...))
	}
	params := fact.Params{}
	for i, name := range places(text) {
		if i < len(values) && values[i] != nil && values[i] != "" {
			params[name] = valueOf(values[i])
		}
	}
	return expander{params: params, zeroAbsent: true}.expand(text)
}

// placeName is the name of a place of a template; a noun or a mark may follow it.
var placeName = regexp.MustCompile(`\{(\w+)`)

// places are the names of a template's places, each once, in their order.
func places(template string) (names []string) {
	for _, m := range placeName.FindAllStringSubmatch(template, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// valueOf is a value of a phrase as a parameter.
func valueOf(v any) fact.Value {
	if n := reflect.ValueOf(v); n.CanInt() && n.Type().Name() != "Duration" {
		return fact.Count("", n.Int()).Value
	}
	return fact.Name("", fmt.Sprint(v)).Value
}

// phrases are all of them.
var phrases = func() map[string]string {
	all := maps.Clone(pagePhrases)
	maps.Copy(all, tablePhrases)
	return all
}()

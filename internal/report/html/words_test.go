package html

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/deepprof/deepprof/internal/message"
)

// TestCodesOnly: the data of a page has the same keys and numbers whatever its
// words are.
func TestCodesOnly(t *testing.T) {
	shape := func() any {
		_, text := data(t, write(t, sample()))
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}
		return withoutTexts(tree)
	}
	want := shape()
	defer message.CodesOnly()()
	if got := shape(); !reflect.DeepEqual(got, want) {
		t.Error("the data of the page depends on words")
	}
}

// withoutTexts empties every string, and leaves out short forms, which are there
// only where they differ.
func withoutTexts(x any) any {
	switch x := x.(type) {
	case string:
		return ""
	case []any:
		for i := range x {
			x[i] = withoutTexts(x[i])
		}
	case map[string]any:
		for key, v := range x {
			if x[key] = withoutTexts(v); strings.HasSuffix(key, "_short") {
				delete(x, key)
			}
		}
	}
	return x
}

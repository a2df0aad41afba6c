package nvtx

import "testing"

func TestPath(t *testing.T) {
	for _, c := range []struct {
		stack []Range
		want  string
	}{
		{nil, ""},
		{[]Range{{Name: "decode"}}, "decode"},
		{[]Range{{Name: "decode"}, {Name: "step"}}, "decode/step"},
		{[]Range{{Name: "a/b"}, {Name: `c\d`}}, `a\/b/c\\d`},
		{[]Range{{Name: "step", Domain: "LLM"}}, "LLM@step"},
		{[]Range{{Name: ""}, {Name: "x"}}, "<unnamed>/x"},
	} {
		if got := Path(c.stack); got != c.want {
			t.Errorf("Path(%v) = %q, want %q", c.stack, got, c.want)
		}
	}
}

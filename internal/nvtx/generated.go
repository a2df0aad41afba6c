package nvtx

import (
	"regexp"
	"strconv"
	"strings"
)

// ids are what tools append to the name of a range and what changes from one
// instance to the next: numbers of operators and sequences of autograd, and
// addresses.
var ids = regexp.MustCompile(`(?:, (?:seq|op_id) = -?\d+)+|\b0x[0-9a-fA-F]{4,}\b`)

// WithoutIDs takes generated ids out of the name of a range: "aten::linear, op_id
// = 314279" becomes "aten::linear".
func WithoutIDs(name string) string {
	if !strings.Contains(name, "op_id = ") && !strings.Contains(name, "seq = ") && !strings.Contains(name, "0x") {
		return name
	}
	return ids.ReplaceAllStringFunc(name, func(id string) string {
		if strings.HasPrefix(id, "0x") {
			return "0x#"
		}
		return ""
	})
}

// operatorName is how autograd and the profilers of PyTorch call operators.
var operatorName = regexp.MustCompile(`^(?:aten|prim|c10d|nccl|FSDP2?|DDP|torch_\w+|autograd|_C\w*|vllm|sgl_kernel)::[\w.]+`)

// IsOperator tells the range of an operator or of a wrapper of PyTorch: its name
// has a namespace of theirs, or ids of autograd.
func IsOperator(name string) bool {
	return operatorName.MatchString(name) || strings.Contains(name, ", op_id = ")
}

// number is one at the end of a word: of "step12", not of "layers.3", "conv2d" or
// "v1.5".
var number = regexp.MustCompile(`(^|[^0-9.])(\d+)($|[^0-9A-Za-z.])`)

// A Grouper finds names that differ by a number alone: step0, step1, ... are one
// group, "step#". Names of one parent are added first.
type Grouper struct {
	patterns map[string]*numbers
}

type numbers struct {
	low, high int64
	seen      map[int64]bool
}

// numbered is the name with its last number as "#"; ok is false where it has none.
func numbered(name string) (p string, n int64, ok bool) {
	all := number.FindAllStringSubmatchIndex(name, -1)
	if len(all) == 0 {
		return name, 0, false
	}
	at := all[len(all)-1]
	n, err := strconv.ParseInt(name[at[4]:at[5]], 10, 64)
	return name[:at[4]] + "#" + name[at[5]:], n, err == nil
}

// Add takes a name under a parent.
func (g *Grouper) Add(parent, name string) {
	p, n, ok := numbered(WithoutIDs(name))
	if !ok {
		return
	}
	if g.patterns == nil {
		g.patterns = map[string]*numbers{}
	}
	key := parent + "\x00" + p
	x := g.patterns[key]
	if x == nil {
		x = &numbers{low: n, high: n, seen: map[int64]bool{}}
		g.patterns[key] = x
	}
	x.low, x.high = min(x.low, n), max(x.high, n)
	x.seen[n] = true
}

// Group is the group of a name under a parent; the name without its ids where it
// is alone. Numbers of a group follow each other, so that fp8, fp16 and fp32 stay
// apart: there are at least three, and no more are left out than are there.
func (g *Grouper) Group(parent, name string) string {
	plain := WithoutIDs(name)
	p, _, ok := numbered(plain)
	x := g.patterns[parent+"\x00"+p]
	if !ok || x == nil || len(x.seen) < 3 || x.high-x.low+1 > 2*int64(len(x.seen)) {
		return plain
	}
	return p
}

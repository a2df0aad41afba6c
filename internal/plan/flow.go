package plan

import (
	"math"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/config"
)

// Flow writes a value on one line, as YAML would in its flow style but with
// plain strings left unquoted: for people, not for parsers.
func Flow(n *config.Node) string {
	if n == nil {
		return ""
	}
	switch n.Kind() {
	case config.Null:
		return "null"
	case config.Bool:
		b, _ := n.Bool()
		return strconv.FormatBool(b)
	case config.Int:
		return n.Digits()
	case config.Float:
		v, _ := n.Float()
		return flowFloat(v)
	case config.List:
		var parts []string
		for _, item := range n.Items() {
			parts = append(parts, Flow(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case config.Map:
		var parts []string
		for _, e := range n.Entries() {
			parts = append(parts, Flow(e.Key)+": "+Flow(e.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	text, _ := n.Text()
	return text
}

// flowFloat keeps a float apart from an integer.
func flowFloat(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if math.Trunc(v) == v && !strings.ContainsAny(text, "e.I") {
		text += ".0"
	}
	return strings.ToLower(strings.TrimPrefix(text, "+"))
}

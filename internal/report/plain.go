package report

import (
	"cmp"
	"math"
	"slices"
)

// Plain is the value of a cell for programs: nil, a string, an int64, a float64
// or a bool.
// Pointers are followed; a number above 2^63 becomes a float64.
func Plain(v any) any {
	switch x := deref(v).(type) {
	case nil, string, int64, float64, bool:
		return x
	case int:
		return int64(x)
	case int32:
		return int64(x)
	case uint32:
		return int64(x)
	case uint64:
		if x > math.MaxInt64 {
			return float64(x)
		}
		return int64(x)
	default:
		return plain(x)
	}
}

// ZeroOf is a value of the type that Plain gives for a column of the view: "",
// int64(0), float64(0) or false. It is asked of an empty row.
func (c *Column[Row]) ZeroOf() any {
	switch v := c.Value(new(Row)).(type) {
	case int, int32, int64, uint32, uint64, *int, *int32, *int64, *uint32:
		return int64(0)
	case float64, *float64:
		return float64(0)
	case bool:
		return false
	default:
		if v == nil && c.Unit != NoUnit {
			return float64(0)
		}
		return ""
	}
}

// AppendCSV appends a cell as WriteCSV writes it.
func AppendCSV(b []byte, v any) []byte {
	if s, ok := v.(string); ok {
		return appendCell(b, s)
	}
	return appendField(b, plain(v))
}

// Renamed is the view under other column keys; those that are renamed to "" are
// left out.
func (v View[Row]) Renamed(keys map[string]string) View[Row] {
	v.Columns = slices.DeleteFunc(slices.Clone(v.Columns), func(c Column[Row]) bool { to, ok := keys[c.Key]; return ok && to == "" })
	for i := range v.Columns {
		v.Columns[i].Key = cmp.Or(keys[v.Columns[i].Key], v.Columns[i].Key)
	}
	return v
}

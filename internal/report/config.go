package report

import "encoding/json"

// A Value is one value of a configuration and where it was written.
type Value struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value"`
	Origin string          `json:"origin"`
}

// Values shows a configuration with the origin of each value.
func Values(rows []Value) Printable {
	return &Table[Value]{
		Schema: "config_values", Version: 1, Everything: "--json", Rows: Slice(rows),
		Columns: []Column[Value]{
			{Name: "key", Get: func(r *Value) any { return r.Key }},
			{Name: "value", Kind: Name, Get: func(r *Value) any { return string(r.Value) }},
			{Name: "origin", Minor: 1, Get: func(r *Value) any { return r.Origin }},
		},
	}
}

// An Option is one file of a config group.
type Option struct {
	Group   string `json:"group"`
	Option  string `json:"option"`
	Comment string `json:"comment"`
	File    string `json:"file"`
}

// Options shows config groups with their options.
func Options(rows []Option) Printable {
	return &Table[Option]{
		Schema: "config_options", Version: 1, Everything: "--json", Rows: Slice(rows),
		Columns: []Column[Option]{
			{Name: "group", Kind: ID, Get: func(r *Option) any { return r.Group }},
			{Name: "option", Kind: ID, Get: func(r *Option) any { return r.Option }},
			{Name: "comment", Title: "what it is for", Kind: Words, Get: func(r *Option) any { return r.Comment }},
			{Name: "file", Detail: true, Get: func(r *Option) any { return r.File }},
		},
	}
}

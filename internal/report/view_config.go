package report

import "encoding/json"

// A Value is one value of a configuration and where it was written.
type Value struct {
	Key string `json:"key"`
	// Value is JSON as the plan has it; Origin is FILE:LINE, or the override.
	Value  json.RawMessage `json:"value"`
	Origin string          `json:"origin"`
}

// ValueView is a configuration with the origin of each value.
var ValueView = View[Value]{
	Name: "config_values", Order: Order{Words: "the configuration"}, Everything: "--json",
	Columns: []Column[Value]{
		{Key: "key", Value: func(r *Value) any { return r.Key }},
		{Key: "value", Format: Name, Value: func(r *Value) any { return string(r.Value) }},
		{Key: "origin", Priority: 1, Value: func(r *Value) any { return r.Origin }},
	},
}

// An Option is one file of a config group.
type Option struct {
	Group string `json:"group"`
	// Option is what is written after the group: group=option.
	Option string `json:"option"`
	// Comment is what the file says of itself; "" where it says nothing.
	Comment string `json:"comment"`
	File    string `json:"file"`
}

// OptionView is config groups with their options.
var OptionView = View[Option]{
	Name: "config_options", Order: Order{Key: "group"}, Everything: "--json",
	Columns: []Column[Option]{
		{Key: "group", Format: ID, Value: func(r *Option) any { return r.Group }},
		{Key: "option", Format: ID, Value: func(r *Option) any { return r.Option }},
		{Key: "comment", Title: "what it is for", Format: Words, Value: func(r *Option) any { return r.Comment }},
		{Key: "file", Detail: true, Value: func(r *Option) any { return r.File }},
	},
}

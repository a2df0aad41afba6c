// Package web answers the views of deepprof for programs: agents over the Model
// Context Protocol, and browsers and scripts over REST. What can be asked, with
// which parameters, is declared by internal/show; this package reads the
// parameters, bounds the rows and hands over what the view says.
//
// REST takes 670 lines, uploads that are not trusted 240, tiles of timelines 170, MCP 200.
package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/compare"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/internal/suggest"
)

// Rows of an answer: those that come unless another number is asked for, and the most that
// can be asked for. An agent reads every row, and pays for it.
const (
	defaultRows = 50
	mostRows    = 1000
)

// Options are what answers need, over REST and MCP alike.
type Options struct {
	Store   string        // folder that holds the runs; it need not exist yet
	Analyze show.Analyzer // makes the result of captures that have none
	Version string        // of the program
}

// questions are all views: those of a path, and those of the store. The slice is new each
// time, and callers may change it.
func questions() []show.View { return append(show.StoreViews(), show.Views()...) }

// pathKey is the parameter that names what a view is about; "" for a view of the store.
func pathKey(v *show.View) string {
	switch {
	case v.Store:
		return ""
	case v.Many:
		return "paths"
	}
	return "path"
}

// params are the parameters of a view that make rows: not those that print pages.
// A view of sums has one more, which asks for each.
func params(v *show.View) []show.Param {
	out := slices.DeleteFunc(slices.Clone(v.Params), func(p show.Param) bool { return slices.Contains(v.Pages, p.Name) })
	if !slices.ContainsFunc(out, func(p show.Param) bool { return p.Name == "top" }) {
		out = append(out, show.Param{Name: "top", Help: "keep the first N rows", Value: func(r *show.Request) any { return &r.Top }})
	}
	if v.Sums {
		out = append(out, show.Param{Name: "all", Help: "each row, not their sums", Value: func(r *show.Request) any { return &r.All }})
	}
	return out
}

// A schema is a JSON schema of a parameter: what MCP and OpenAPI say of it, and what the
// values of an address are read by.
type schema struct {
	Type string `json:"type"`
	// Items is that of an array; nil for others.
	Items       *schema `json:"items,omitempty"`
	Description string  `json:"description,omitempty"`
	// Default is left out where it is the zero value.
	Default any      `json:"default,omitempty"`
	Enum    []string `json:"enum,omitempty"`
	// Bounds of an integer, both included; nil where it has none.
	Minimum *int `json:"minimum,omitempty"`
	Maximum *int `json:"maximum,omitempty"`
}

// schemaOf describes a parameter; its default is that of a new request.
// r is a request with the defaults; it is not changed.
func schemaOf(p show.Param, r *show.Request) *schema {
	s := &schema{Description: strings.ReplaceAll(p.Help, "`", "")}
	switch v := p.Value(r).(type) {
	case *string:
		s.Type = "string"
		if *v != "" {
			s.Default = *v
		}
	case *bool:
		s.Type = "boolean"
	case *int:
		s.Type = "integer"
	case *int64:
		s.Type = "integer"
		if *v != 0 {
			s.Default = *v
		}
	case *[]int:
		s.Type, s.Items = "array", &schema{Type: "integer"}
	case *[]string:
		s.Type, s.Items = "array", &schema{Type: "string"}
	default:
		panic(fmt.Sprintf("parameter %s has a type that no schema has", p.Name))
	}
	switch p.Name {
	case "sort":
		for _, key := range runs.Orders() {
			s.Enum = append(s.Enum, key, "-"+key)
		}
	case "status":
		for _, status := range runs.Statuses {
			s.Items.Enum = append(s.Items.Enum, string(status))
		}
	case "of":
		s.Enum = compare.Kinds()
	case "top":
		s.Default, s.Minimum, s.Maximum = defaultRows, new(1), new(mostRows)
		s.Description = "keep the first N rows; rows_left_out counts the others"
	}
	return s
}

// request reads the parameters of a view out of JSON values.
// Unknown parameters are errors that name the known ones; the first wrong one in the
// order of names is reported.
func (o *Options) request(v *show.View, args map[string]json.RawMessage) (*show.Request, error) {
	r := show.NewRequest()
	r.Listing.Store, r.Analyze, r.Data = o.Store, o.Analyze, true
	known := map[string]any{}
	for _, p := range params(v) {
		known[p.Name] = p.Value(r)
	}
	if key := pathKey(v); key != "" {
		known[key] = &r.Paths
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		target, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("%s has no parameter %q%s; it has: %s", v.Name, name, suggest.DidYouMean(name, slices.Collect(maps.Keys(known))), strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if err := readValue(args[name], target); err != nil {
			return nil, fmt.Errorf("%s: parameter %s: %w", v.Name, name, err)
		}
		r.Given[name] = true
	}
	if key := pathKey(v); key != "" && len(r.Paths) == 0 {
		return nil, fmt.Errorf("%s: parameter %s is missing: name a run, or \"latest\"; the view runs lists them", v.Name, key)
	}
	if len(r.Paths) > 1 && !v.Many {
		return nil, fmt.Errorf("%s: %d paths are given, and it takes one", v.Name, len(r.Paths))
	}
	if r.Given["top"] && (r.Top < 1 || r.Top > mostRows) {
		return nil, fmt.Errorf("%s: parameter top is %d; an answer has 1 to %d rows", v.Name, r.Top, mostRows)
	}
	return r, nil
}

// readValue takes a JSON value; for a list also one value alone.
func readValue(text json.RawMessage, target any) error {
	if list, ok := target.(*[]string); ok && bytes.HasPrefix(bytes.TrimSpace(text), []byte(`"`)) {
		*list = []string{""}
		target = &(*list)[0]
	}
	if list, ok := target.(*[]int); ok && !bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		*list = []int{0}
		target = &(*list)[0]
	}
	var wrong *json.UnmarshalTypeError
	err := json.Unmarshal(text, target)
	if errors.As(err, &wrong) {
		return fmt.Errorf("a %s is given and a %s is wanted", wrong.Value, wrong.Type)
	}
	return err
}

// A layout writes an answer as JSON: rows as --json of the command line has them, or
// the cells of a page.
type layout func(report.Printable, io.Writer) error

// asRows gives schema, rows, rows_left_out and warnings.
func asRows(p report.Printable, w io.Writer) error { return p.WriteJSON(w) }

// answer asks a view and gives its JSON. What the rows lack is a warning.
// Without top an answer has defaultRows rows; damage of the input is a warning, not an
// error, because part of an answer helps an agent more than none.
func answer(ctx context.Context, v *show.View, r *show.Request, write layout) (json.RawMessage, error) {
	a, err := v.Answer(ctx, r)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	switch own := slices.ContainsFunc(v.Params, func(p show.Param) bool { return p.Name == "top" }); {
	case !r.Given["top"]:
		a.First(defaultRows)
	case !own:
		a.First(r.Top)
	}
	var out bytes.Buffer
	if err := write(a, &out); err != nil {
		return nil, err
	}
	notes, err := a.After()
	if err != nil {
		notes = append(notes, err.Error())
	}
	return withNotes(out.Bytes(), notes)
}

// withNotes adds what is known only after the rows were written to the warnings of an answer.
func withNotes(text []byte, notes []string) (json.RawMessage, error) {
	if len(notes) == 0 {
		return text, nil
	}
	var object map[string]json.RawMessage
	var warnings []string
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(object["warnings"], &warnings); err != nil {
		return nil, err
	}
	var err error
	if object["warnings"], err = json.Marshal(append(warnings, notes...)); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

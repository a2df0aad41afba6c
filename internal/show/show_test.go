package show

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// TestViews checks the table that commands and services are made from.
func TestViews(t *testing.T) {
	names := map[string]bool{}
	for _, v := range Views() {
		if v.Name == "" || v.Short == "" || v.Example == "" || len(v.Tables) == 0 || v.answer == nil || names[v.Name] {
			t.Errorf("view %q is incomplete, or there twice", v.Name)
		}
		names[v.Name] = true
		r, seen := NewRequest(), map[string]bool{}
		for _, p := range v.Params {
			if p.Help == "" || seen[p.Name] {
				t.Errorf("%s: parameter %q has no help, or is there twice", v.Name, p.Name)
			}
			seen[p.Name] = true
			switch p.Value(r).(type) {
			case *string, *bool, *int, *int64, *[]int:
			default:
				t.Errorf("%s: parameter %s is a %T", v.Name, p.Name, p.Value(r))
			}
		}
		for _, table := range v.Tables {
			if info := table.Info(); info.Name != v.Name {
				t.Errorf("%s has a table of %s", v.Name, info.Name)
			}
		}
	}
}

// TestWrongRequests: the caller's errors are told apart from those of files.
func TestWrongRequests(t *testing.T) {
	views := Views()
	for _, c := range []struct {
		view string
		ask  func(*Request)
	}{
		{"kernels", func(r *Request) { r.Top = -1 }},
		{"kernels", func(r *Request) { r.Kernel = "(" }},
		{"regions", func(r *Request) { r.By = "color" }},
		{"launches", func(r *Request) { r.Region = "[" }},
		{"metrics", func(r *Request) { r.Metric = "(" }},
		{"metrics", func(r *Request) { r.Dump, r.Raw = true, true }},
		{"flops", func(r *Request) { r.Shape.Batch = 0 }},
		{"info", func(*Request) {}}, // there is no such file
	} {
		r := NewRequest()
		r.Paths = []string{"missing.sqlite"}
		c.ask(r)
		v := views[slices.IndexFunc(views, func(v View) bool { return v.Name == c.view })]
		_, err := v.Answer(context.Background(), r)
		if wrong := (*UsageError)(nil); !errors.As(err, &wrong) {
			t.Errorf("%s: %v is not the caller's", c.view, err)
		}
	}
}

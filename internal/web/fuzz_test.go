package web

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/deepprof/deepprof/internal/show"
)

// FuzzFromQuery: whatever stands in an address, it becomes parameters of a view
// that are JSON, or is refused.
func FuzzFromQuery(f *testing.F) {
	for _, query := range []string{"top=5&sort=gpu_time", "region=a&region=b", "top=x", "all=true&%zz"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		for _, v := range show.Views() {
			args, err := fromQuery(&v, values)
			if err != nil {
				continue
			}
			for name, text := range args {
				if !json.Valid(text) {
					t.Errorf("%s: %s is %s", v.Name, name, text)
				}
			}
			_, _ = (&Options{}).request(&v, args)
		}
	})
}

package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/report/html"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/internal/suggest"
)

// api is the prefix of every route, with its version.
const api = "/api/v1"

// A route is one path of the API. OpenAPI describes it by short and view.
type route struct {
	// path has {run} in the place of the name of a run.
	method, path string
	short        string
	view         *show.View // whose parameters and rows it has; nil for others
	// answer has written nothing where it returns an error.
	answer handler
}

// A handler answers a request. It returns an error before it has written anything.
type handler func(http.ResponseWriter, *http.Request) error

// bounded lets a handler wait for one of the slots; it is for those that read captures.
func (s *server) bounded(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		give, err := s.take(r.Context())
		if err != nil {
			return err
		}
		defer give()
		return h(w, r)
	}
}

// ofRun gives a handler the folder of the run that the path names, which lies in the store.
func (s *server) ofRun(h func(w http.ResponseWriter, r *http.Request, dir string) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		dir, err := s.inStore(r.PathValue("run"))
		if err != nil {
			return err
		}
		return h(w, r, dir)
	}
}

// routes is the table of the API; OpenAPI describes the same rows, and so does MCP the views
// among them. Every view has a route: of a run below it, of the store beside it.
func (s *server) routes() []route {
	list := []route{
		{http.MethodGet, api + "/openapi.json", "This description", nil, s.openAPI},
		{http.MethodGet, api + "/views", "The views with their columns", nil, listViews},
		{http.MethodPost, api + "/runs", "Upload a packed run, or files of nsys and ncu as a run", nil, s.bounded(s.upload)},
		{http.MethodGet, api + "/runs/{run}", "One run: steps, outcomes, files, tags", nil, s.ofRun(detail)},
		{http.MethodDelete, api + "/runs/{run}", "Delete a run that is not running", nil, s.remove},
		{http.MethodPut, api + "/runs/{run}/tags", "Replace the tags and the comment of a run", nil, s.ofRun(setTags)},
		{http.MethodGet, api + "/runs/{run}/report", "The report of a run as a page", nil, s.bounded(s.ofRun(s.report))},
		{http.MethodGet, api + "/runs/{run}/timeline", "A tile of the timeline of a run", nil, s.bounded(s.ofRun(s.tile))},
	}
	compared := show.CompareView()
	list = append(list, route{http.MethodGet, api + "/compare/report", "A comparison as a page", &compared, s.bounded(s.compareReport)})
	for _, v := range questions() {
		path := api + "/runs/{run}/" + v.Name
		if v.Store {
			path = api + "/" + v.Name
		}
		list = append(list, route{http.MethodGet, path, v.Short, &v, s.bounded(func(w http.ResponseWriter, r *http.Request) error { return s.view(w, r, &v) })})
	}
	return list
}

// A problem is an error of the API (RFC 9457): code is for programs and stays, detail for
// people.
type problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Error is the detail, for logs.
func (p *problem) Error() string { return p.Detail }

// refused: code is for programs and stays, the text is for people.
func refused(status int, code, format string, args ...any) error {
	return &problem{status, code, fmt.Sprintf(format, args...)}
}

// statusOf gives an error its status.
// Everything that is not told apart is "unreadable": the input is at fault, not the
// server.
func statusOf(err error) *problem {
	var p *problem
	var wrong *show.UsageError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, fs.ErrNotExist):
		return &problem{http.StatusNotFound, "not-found", err.Error()}
	case errors.Is(err, runs.ErrRunning):
		return &problem{http.StatusConflict, "running", err.Error()}
	case errors.Is(err, runs.ErrTags), errors.As(err, &wrong):
		return &problem{http.StatusBadRequest, "usage", err.Error()}
	case errors.As(err, &large):
		return &problem{http.StatusRequestEntityTooLarge, "too-large", fmt.Sprintf("an upload may have %d bytes", large.Limit)}
	case errors.Is(err, context.Canceled):
		return &problem{499, "canceled", "the client went away"}
	}
	return &problem{http.StatusUnprocessableEntity, "unreadable", err.Error()}
}

// writeError must be called before anything else was written.
func writeError(w http.ResponseWriter, err error) {
	p := statusOf(err)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the client may have gone
}

// writeJSON encodes before it writes, so an error can still change the status.
// An error of the client, which went away, is returned too; nothing can be done about it.
func writeJSON(w http.ResponseWriter, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(data)
	return err
}

// layoutParam asks for another layout of an answer; layouts are its values.
const layoutParam = "as"

// layouts are those of an answer: rows as JSON has them, or a page's cells in words.
var layouts = map[string]layout{"": asRows, "rows": asRows, "page": func(p report.Printable, w io.Writer) error { return p.WritePage(w) }}

// view answers a view. The whole answer is made before the first byte is written, so that an
// error has a status of its own.
func (s *server) view(w http.ResponseWriter, r *http.Request, v *show.View) error {
	query := r.URL.Query()
	write, ok := layouts[query.Get(layoutParam)]
	if !ok {
		return refused(http.StatusBadRequest, "usage", "%s: parameter %s: %q is neither rows nor page", v.Name, layoutParam, query.Get(layoutParam))
	}
	query.Del(layoutParam)
	request, err := s.asked(r, v, query)
	if err != nil {
		return err
	}
	text, err := answer(r.Context(), v, request, write)
	if err != nil {
		return err
	}
	return writeJSON(w, text)
}

// asked reads what is asked of a view. Clients name runs of the store and never
// files.
// Errors are problems with a status of their own.
func (s *server) asked(r *http.Request, v *show.View, query url.Values) (*show.Request, error) {
	args, err := fromQuery(v, query)
	if err != nil {
		return nil, err
	}
	if key := pathKey(v); key != "" {
		if args[key], err = json.Marshal([]string{r.PathValue("run")}); err != nil {
			return nil, err
		}
	}
	request, err := s.request(v, args)
	if err != nil {
		return nil, refused(http.StatusBadRequest, "usage", "%v", err)
	}
	request.Resolve = s.inStore
	return request, nil
}

// inStore never leads out of the store, whatever the name holds.
func (s *server) inStore(name string) (string, error) { return runs.InStore(s.Store, name) }

// fromQuery reads the parameters of a view out of an address. Only those of the view are
// allowed; the error for another one suggests the nearest.
func fromQuery(v *show.View, values url.Values) (map[string]json.RawMessage, error) {
	args, defaults := map[string]json.RawMessage{}, show.NewRequest()
	all := params(v)
	for name, given := range values {
		i := slices.IndexFunc(all, func(p show.Param) bool { return p.Name == name })
		if i < 0 {
			var names []string
			for _, p := range all {
				names = append(names, p.Name)
			}
			return nil, refused(http.StatusBadRequest, "usage", "%s has no parameter %q%s; it has: %s", v.Name, name, suggest.DidYouMean(name, names), strings.Join(names, ", "))
		}
		text, err := rawValue(schemaOf(all[i], defaults), given)
		if err != nil {
			return nil, refused(http.StatusBadRequest, "usage", "%s: parameter %s: %v", v.Name, name, err)
		}
		args[name] = text
	}
	return args, nil
}

// rawValue writes values of an address as JSON, by the schema of the parameter. One that is no
// list may be given once.
func rawValue(s *schema, given []string) (json.RawMessage, error) {
	if s.Type == "array" {
		list := make([]json.RawMessage, len(given))
		for i, g := range given {
			var err error
			if list[i], err = rawValue(s.Items, []string{g}); err != nil {
				return nil, err
			}
		}
		return json.Marshal(list)
	}
	if len(given) != 1 {
		return nil, fmt.Errorf("it is given %d times", len(given))
	}
	switch s.Type {
	case "integer":
		n, err := strconv.ParseInt(given[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no whole number", given[0])
		}
		return json.Marshal(n)
	case "boolean":
		b, err := strconv.ParseBool(given[0])
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", given[0])
		}
		return json.Marshal(b)
	}
	return json.Marshal(given[0])
}

// A viewInfo describes a view to a page that draws it: the parameters make its form, the
// tables its columns.
type viewInfo struct {
	Name  string `json:"name"`
	Short string `json:"short"`
	// Path is that of the API; it has {run} for a view of a run.
	Path   string             `json:"path"`
	Params map[string]*schema `json:"params"`
	// Tables are report.ViewInfo: an answer has the columns of one of them.
	Tables []any `json:"tables"`
}

// listViews is what the page builds its tables and forms from.
func listViews(w http.ResponseWriter, _ *http.Request) error {
	var out []viewInfo
	defaults := show.NewRequest()
	for _, v := range questions() {
		info := viewInfo{Name: v.Name, Short: v.Short, Path: api + "/runs/{run}/" + v.Name, Params: map[string]*schema{}}
		if v.Store {
			info.Path = api + "/" + v.Name
		}
		for _, p := range params(&v) {
			info.Params[p.Name] = schemaOf(p, defaults)
		}
		for _, t := range v.Tables {
			info.Tables = append(info.Tables, t.Info())
		}
		out = append(out, info)
	}
	return writeJSON(w, map[string]any{"views": out})
}

// detail describes a run. Files are compared by presence and size only.
func detail(w http.ResponseWriter, r *http.Request, dir string) error {
	run, err := runs.Open(r.Context(), dir)
	if err != nil {
		return err
	}
	defer run.Close()
	return writeJSON(w, struct {
		runs.Detail
		runs.Tags
	}{runs.Show(run), runs.ReadTags(dir)})
}

// remove deletes a run; one that is running is a conflict.
func (s *server) remove(w http.ResponseWriter, r *http.Request) error {
	if err := runs.Delete(s.Store, r.PathValue("run")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// setTags answers with the tags as they are stored, sorted.
func setTags(w http.ResponseWriter, r *http.Request, dir string) error {
	var t runs.Tags
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&t); err != nil {
		return refused(http.StatusBadRequest, "usage", "read tags: %v", err)
	}
	if err := runs.WriteTags(dir, t); err != nil {
		return err
	}
	return writeJSON(w, runs.ReadTags(dir))
}

// reportPolicy shuts a report off: its script runs without an origin, so that
// names in an uploaded run, whatever they hold, reach neither the API nor a cookie.
const reportPolicy = "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// report draws the page anew from the numbers: HTML out of a pack is never served. A result
// that cannot be read is made again from the captures.
func (s *server) report(w http.ResponseWriter, r *http.Request, dir string) error {
	result, err := folder.Read(dir + "/" + runs.ResultName)
	if err != nil {
		if result, err = s.Analyze(r.Context(), "serve", []string{dir}); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Security-Policy", reportPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return html.Write(w, result)
}

// compareReport draws a comparison as a page. The sides are given as for the view; the page
// shows the first run of each.
func (s *server) compareReport(w http.ResponseWriter, r *http.Request) error {
	v := show.CompareView()
	request, err := s.asked(r, &v, r.URL.Query())
	if err != nil {
		return err
	}
	made, base, fresh, err := show.CompareSides(r.Context(), request)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", reportPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return html.WriteCompare(w, made, base[0].Result, fresh[0].Result)
}

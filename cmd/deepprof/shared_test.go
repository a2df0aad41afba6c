package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepprof/deepprof/internal/report/folder"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/show"
	"github.com/deepprof/deepprof/internal/web"
	"github.com/deepprof/deepprof/recordings"
)

// A sharedStore is a store that is asked in three ways. It holds a recorded run of
// an H200 and a baseline of it.
type sharedStore struct {
	store, run string // run is its id
	rest       *httptest.Server
	agent      *mcp.ClientSession
}

func newSharedStore(t *testing.T) *sharedStore {
	t.Helper()
	ctx, temp := t.Context(), t.TempDir()
	pack := filepath.Join(temp, "llm"+runs.PackExt)
	check(t, os.WriteFile(pack, recordings.LLM, 0o666))
	r, err := runs.OpenWith(ctx, pack, runs.UnpackOptions{CacheDir: filepath.Join(temp, "cache")})
	check(t, err)
	defer r.Close()
	s := &sharedStore{store: filepath.Join(temp, "runs"), run: r.ID()}
	check(t, os.CopyFS(s.dir(), os.DirFS(r.Dir())))
	result, err := analyzeFiles(ctx, "test", []string{s.dir()})
	check(t, err)
	_, err = folder.Write(s.dir(), result)
	check(t, err)
	s.command(t, "baseline", "set", "main", s.run, "--store", s.store)

	o := web.Options{Store: s.store, Analyze: analyzeFiles, Version: "test"}
	s.rest = httptest.NewServer(web.Handler(web.ServeOptions{Options: o}))
	t.Cleanup(s.rest.Close)
	fromAgent, toServer := io.Pipe()
	fromServer, toAgent := io.Pipe()
	ended := make(chan error, 1)
	serving, stop := context.WithCancel(context.Background())
	go func() { ended <- web.Agents(serving, o, fromAgent, toAgent) }()
	s.agent, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	check(t, err)
	t.Cleanup(func() { s.agent.Close(); stop(); <-ended })
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *sharedStore) dir() string { return filepath.Join(s.store, s.run) }

// command runs deepprof, which must succeed.
func (s *sharedStore) command(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, told bytes.Buffer
	if err := run(t.Context(), args, &out, &told); err != nil {
		t.Fatalf("deepprof %q: %v\n%s", args, err, &told)
	}
	return out.Bytes()
}

// rows are those of an answer, and how many there are in all.
type rows struct {
	Rows    []map[string]any `json:"rows"`
	LeftOut int              `json:"rows_left_out"`
}

func (r *rows) first(n int) {
	if len(r.Rows) > n {
		r.LeftOut += len(r.Rows) - n
		r.Rows = r.Rows[:n]
	}
}

func decodeRows(t *testing.T, what string, text []byte) (r rows) {
	t.Helper()
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%s: %v: %.300s", what, err, text)
	}
	return r
}

// commandOf is the command line of a view, without the flags of its parameters.
func (s *sharedStore) commandOf(v *show.View) []string {
	switch v.Name {
	case "runs":
		return []string{"runs", "list", "--store", s.store}
	case "baselines":
		return []string{"baseline", "list", "--store", s.store}
	case "compare":
		return []string{"compare", "--store", s.store}
	}
	return []string{"show", v.Name, s.dir()}
}

// sides are the parameters that a comparison cannot do without.
func (s *sharedStore) sides(v *show.View) url.Values {
	if v.Name == "compare" {
		return url.Values{"base": {"main"}, "new": {s.run}}
	}
	return url.Values{}
}

func (s *sharedStore) asCommand(t *testing.T, v *show.View, params url.Values) ([]byte, error) {
	args := append(s.commandOf(v), "--json")
	for name, values := range params {
		for _, value := range values {
			args = append(args, "--"+name+"="+value)
		}
	}
	var out, told bytes.Buffer
	err := run(t.Context(), args, &out, &told)
	return out.Bytes(), err
}

func (s *sharedStore) asREST(t *testing.T, v *show.View, params url.Values) (int, []byte) {
	t.Helper()
	path := "/api/v1/runs/" + s.run + "/" + v.Name
	if v.Store {
		path = "/api/v1/" + v.Name
	}
	resp, err := http.Get(s.rest.URL + path + "?" + params.Encode())
	check(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	check(t, err)
	return resp.StatusCode, text
}

func (s *sharedStore) asAgent(t *testing.T, v *show.View, params url.Values) (text []byte, failed bool) {
	t.Helper()
	args := map[string]any{}
	switch {
	case v.Many:
		args["paths"] = []string{s.run}
	case !v.Store:
		args["path"] = s.run
	}
	for name, values := range params {
		switch name {
		case "base", "new":
			args[name] = values
		case "top":
			args[name] = 7
		default:
			args[name] = values[0]
		}
	}
	got, err := s.agent.CallTool(t.Context(), &mcp.CallToolParams{Name: v.Name, Arguments: args})
	check(t, err)
	return []byte(got.Content[0].(*mcp.TextContent).Text), got.IsError
}

// TestShared asks one store in three ways.
func TestShared(t *testing.T) {
	s := newSharedStore(t)
	t.Run("rows", s.testRows)
	t.Run("parameters", s.testParameters)
	t.Run("errors", s.testErrors)
	t.Run("next", s.testNext)
}

func allViews() []show.View { return append(show.StoreViews(), show.Views()...) }

// testRows walks every view and compares the rows that the command line,
// REST and MCP give.
func (s *sharedStore) testRows(t *testing.T) {
	for _, v := range allViews() {
		params := s.sides(&v)
		cli, err := s.asCommand(t, &v, params)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		want := decodeRows(t, v.Name, cli)
		want.first(7)
		params.Set("top", "7")
		status, text := s.asREST(t, &v, params)
		if status != http.StatusOK {
			t.Errorf("%s: REST answers %d: %s", v.Name, status, text)
			continue
		}
		rest := decodeRows(t, v.Name, text)
		told, failed := s.asAgent(t, &v, params)
		if failed {
			t.Errorf("%s: MCP answers %s", v.Name, told)
			continue
		}
		agent := decodeRows(t, v.Name, told)
		if !reflect.DeepEqual(rest, want) || !reflect.DeepEqual(agent, want) {
			t.Errorf("%s: the command line has %d rows and %d more, REST %d and %d, MCP %d and %d, or they differ", v.Name, len(want.Rows), want.LeftOut, len(rest.Rows), rest.LeftOut, len(agent.Rows), agent.LeftOut)
		}
		if empty := []string{"ranks", "requests", "samples"}; len(want.Rows) == 0 && !slices.Contains(empty, v.Name) { // the run has one process, no server and no sampled counters
			t.Errorf("%s: no rows to compare", v.Name)
		}
	}
}

// testParameters: every parameter of a view is a flag of its command, of the
// description of REST and of the tool.
func (s *sharedStore) testParameters(t *testing.T) {
	list, err := s.agent.ListTools(t.Context(), nil)
	check(t, err)
	for _, v := range allViews() {
		args := slices.DeleteFunc(s.commandOf(&v), func(a string) bool { return a == "--store" || strings.HasPrefix(a, s.store) })
		help := string(s.command(t, append(args, "--help")...))
		i := slices.IndexFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == v.Name })
		if i < 0 {
			t.Errorf("no tool %s", v.Name)
			continue
		}
		properties := list.Tools[i].InputSchema.(map[string]any)["properties"].(map[string]any)
		for _, p := range v.Params {
			if !strings.Contains(help, "--"+p.Name+" ") {
				t.Errorf("deepprof %q has no flag --%s", args, p.Name)
			}
			if properties[p.Name] == nil && !slices.Contains(v.Pages, p.Name) {
				t.Errorf("the tool %s has no parameter %s", v.Name, p.Name)
			}
		}
	}
}

// testErrors: what is wrong is said in the same words everywhere.
func (s *sharedStore) testErrors(t *testing.T) {
	for _, c := range []struct{ view, name, value string }{
		{"kernels", "kernel", "("}, {"kernels", "by", "nosuch"}, {"regions", "region", "("}, {"gaps", "min-gap", "long"}, {"launches", "part", "nosuch"},
		{"runs", "sort", "nosuch"}, {"runs", "since", "yesterday"}, {"runs", "status", "gone"}, {"compare", "min-effect", "much"},
	} {
		all := allViews()
		v := &all[slices.IndexFunc(all, func(v show.View) bool { return v.Name == c.view })]
		params := s.sides(v)
		params.Set(c.name, c.value)
		_, err := s.asCommand(t, v, params)
		status, text := s.asREST(t, v, params)
		var problem struct{ Code, Detail string }
		check(t, json.Unmarshal(text, &problem))
		told, failed := s.asAgent(t, v, params)
		if err == nil || status != http.StatusBadRequest || problem.Code != "usage" || !failed || err.Error() != problem.Detail || string(told) != problem.Detail {
			t.Errorf("%s %s=%s:\ncommand line %v\nREST         %d %s\nMCP          %s", c.view, c.name, c.value, err, status, text, told)
		}
	}
}

// testNext: the command lines that are proposed are planned without an
// error. A shell takes them apart, as it would for the person who pastes them.
func (s *sharedStore) testNext(t *testing.T) {
	var next struct {
		Rows []struct {
			Run  *string
			Code string
		}
	}
	check(t, json.Unmarshal(s.command(t, "show", "next", s.dir(), "--json"), &next))
	if len(next.Rows) < 3 {
		t.Fatalf("only %d proposals", len(next.Rows))
	}
	t.Chdir(t.TempDir())
	for _, row := range next.Rows {
		if row.Run == nil {
			t.Errorf("%s: no command line", row.Code)
			continue
		}
		words, err := exec.Command("sh", "-c", "set -- "+*row.Run+`; printf '%s\0' "$@"`).Output()
		check(t, err)
		args := strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")
		if args[0] != "deepprof" || args[1] != "run" {
			t.Errorf("%s: %q", row.Code, args)
			continue
		}
		out := s.command(t, append([]string{"run", "--dry-run", "--ignore-blockers"}, args[2:]...)...)
		if !bytes.Contains(out, []byte("--spec")) {
			t.Errorf("%s: %s plans nothing: %s", row.Code, *row.Run, out)
		}
	}
}

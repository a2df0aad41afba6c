package web

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepprof/deepprof/internal/show"
)

// connect gives a client of the SDK over a connection in memory.
func connect(t *testing.T, o *Options) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	server, err := agentServer(o).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Wait() })
	return client
}

// A reply is what every view answers.
type reply struct {
	Schema   string            `json:"schema"`
	Rows     []map[string]any  `json:"rows"`
	Raw      []json.RawMessage `json:"-"`
	LeftOut  int               `json:"rows_left_out"`
	Warnings []string          `json:"warnings"`
}

// ask calls a tool; an error of the tool is the text.
func ask(t *testing.T, c *mcp.ClientSession, name string, args map[string]any) (reply, string) {
	t.Helper()
	got, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	text := got.Content[0].(*mcp.TextContent).Text
	if got.IsError {
		return reply{}, text
	}
	var r reply
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	structured, err := json.Marshal(got.StructuredContent)
	if err != nil || !json.Valid(structured) || len(structured) < 2 {
		t.Errorf("%s: structured content %s, %v", name, structured, err)
	}
	return r, ""
}

// TestTools: one tool for each view, described well enough to be called.
func TestTools(t *testing.T) {
	list, err := connect(t, options(t)).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		in, ok := tool.InputSchema.(map[string]any)
		if !ok || in["type"] != "object" || in["additionalProperties"] != false {
			t.Errorf("%s takes %v", tool.Name, tool.InputSchema)
		}
		if !tool.Annotations.ReadOnlyHint || tool.Description == "" {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
	}
	for _, v := range questions() {
		if !slices.Contains(names, v.Name) {
			t.Errorf("no tool %s among %v", v.Name, names)
		}
	}
	if len(names) != len(questions()) || len(names) < 6 {
		t.Errorf("%d tools for %d views", len(names), len(questions()))
	}
}

// TestNoStore: agents are answered where there is no store yet.
func TestNoStore(t *testing.T) {
	o := options(t)
	o.Store = filepath.Join(t.TempDir(), "none")
	c := connect(t, o)
	if got, failed := ask(t, c, "runs", nil); failed != "" || len(got.Rows) != 0 {
		t.Errorf("runs: %v %s", got.Rows, failed)
	}
	if _, failed := ask(t, c, "kernels", map[string]any{"path": "latest"}); failed == "" {
		t.Error("kernels of no run were answered")
	}
}

// TestRefusals: a question that cannot be answered is told, with the culprit.
func TestRefusals(t *testing.T) {
	c := connect(t, options(t))
	for _, q := range []struct {
		tool  string
		args  map[string]any
		names string // what the reason must name
	}{
		{"kernels", nil, "path"},
		{"kernels", map[string]any{"path": "nosuchrun"}, "nosuchrun"},
		{"kernels", map[string]any{"path": recorded.run, "kernl": "x"}, "kernel"},
		{"kernels", map[string]any{"path": recorded.run, "top": "many"}, "top"},
		{"kernels", map[string]any{"path": recorded.run, "top": 100000}, "1000"},
		{"kernels", map[string]any{"path": recorded.run, "kernel": "("}, "("},
		{"kernels", map[string]any{"path": []string{recorded.timeline, recorded.timeline}}, "one"},
		{"gaps", map[string]any{"path": recorded.counts}, "timeline"},
		{"metrics", map[string]any{"path": recorded.timeline}, "counters"},
		{"metrics", map[string]any{"path": recorded.run, "dump": true}, "dump"},
		{"runs", map[string]any{"status": []string{"gone"}}, "gone"},
		{"runs", map[string]any{"since": "yesterday"}, "yesterday"},
		{"compare", map[string]any{"base": []string{recorded.run}}, "new"},
	} {
		if _, failed := ask(t, c, q.tool, q.args); !strings.Contains(failed, q.names) {
			t.Errorf("%s %v: %q does not name %q", q.tool, q.args, failed, q.names)
		}
	}
}

// TestBounded: rows are bounded, and what is left out is counted.
func TestBounded(t *testing.T) {
	c := connect(t, options(t))
	all, _ := ask(t, c, "launches", map[string]any{"path": recorded.run})
	if len(all.Rows) != defaultRows || all.LeftOut == 0 {
		t.Errorf("%d rows, %d left out", len(all.Rows), all.LeftOut)
	}
	for _, v := range show.Views() {
		args := map[string]any{pathKey(&v): recorded.run}
		whole, failed := ask(t, c, v.Name, with(args, "top", mostRows))
		if failed != "" {
			t.Errorf("%s: %s", v.Name, failed)
			continue
		}
		one, _ := ask(t, c, v.Name, with(args, "top", 1))
		if got, want := len(one.Rows)+one.LeftOut, len(whole.Rows)+whole.LeftOut; got != want || len(one.Rows) > 1 {
			t.Errorf("%s: %d rows and %d left out, of %d", v.Name, len(one.Rows), one.LeftOut, want)
		}
	}
}

func with(args map[string]any, key string, value any) map[string]any {
	out := map[string]any{key: value}
	for k, v := range args {
		out[k] = v
	}
	return out
}

// TestAgentHangsUp: calls that came before the end of the input are answered,
// also one that was cancelled, and input that is no message is an error.
func TestAgentHangsUp(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n"
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}` + "\n"
	for range 5 {
		for _, in := range []string{initialize + list, initialize + list + cancel} {
			var out strings.Builder
			if err := Agents(t.Context(), Options{Store: t.TempDir()}, io.NopCloser(strings.NewReader(in)), nopCloser{&out}); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(out.String(), "\n"); n != 2 {
				t.Fatalf("%d answers to 2 calls:\n%s", n, out.String())
			}
		}
	}
	if err := Agents(t.Context(), Options{Store: t.TempDir()}, io.NopCloser(strings.NewReader("garbage\n")), nopCloser{io.Discard}); err == nil {
		t.Error("garbage was accepted")
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// TestPortInUse: the error names the flag that chooses another port.
func TestPortInUse(t *testing.T) {
	l, err := Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(l.Addr().String(), ""); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("%v", err)
	}
}

package web

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/show"
)

// instructions are what an agent reads before its first call: what can be asked, and in
// which order to ask it.
const instructions = `deepprof profiles CUDA programs with Nsight Systems and Nsight Compute. Every tool reads recorded runs; none starts a profiler.
Begin with runs, which finds them, and findings, which says what matters with the evidence. stages, regions, layers and steps say where the time goes, gaps why the GPU waits,
kernels, launches, metrics and roofline what limits the kernels. next proposes the run to make, with its exact command line; compare tells two sides apart afterwards.
A path is a run by its id, "latest", a packed run, or a file of nsys or ncu. Times are nanoseconds where a key ends in _ns, shares are 0 to 1, percentages end in _pct.
rows_left_out counts rows beyond top. warnings say what the numbers rest on and why something is absent: repeat them.`

// Agents serves the views to an agent until it hangs up or ctx ends.
// in and out carry nothing but the protocol. Calls may run at the same time.
func Agents(ctx context.Context, o Options, in io.ReadCloser, out io.WriteCloser) error {
	return agentServer(&o).Run(ctx, draining{&mcp.IOTransport{Reader: in, Writer: out}})
}

// agentServer offers every view as a tool, by the table of internal/show.
func agentServer(o *Options) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "deepprof", Title: "deepprof", Version: o.Version}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{},
	})
	for _, v := range questions() {
		s.AddTool(tool(&v), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := o.call(ctx, &v, req.Params.Arguments)
			if err != nil { // an agent can do something about it: it is told, not the protocol
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: text}, nil
		})
	}
	return s
}

// tool describes a view.
// Every tool is read-only; unknown arguments are refused.
func tool(v *show.View) *mcp.Tool {
	type object struct {
		Type       string             `json:"type"`
		Properties map[string]*schema `json:"properties"`
		Required   []string           `json:"required,omitempty"`
		Additional bool               `json:"additionalProperties"`
	}
	in, defaults := object{Type: "object", Properties: map[string]*schema{}}, show.NewRequest()
	for _, p := range params(v) {
		in.Properties[p.Name] = schemaOf(p, defaults)
	}
	switch key := pathKey(v); key {
	case "path":
		in.Properties[key] = &schema{Type: "string", Description: `a run by its id, "latest", a packed run, or a file of nsys or ncu`}
		in.Required = []string{key}
	case "paths":
		in.Properties[key] = &schema{Type: "array", Items: &schema{Type: "string"}, Description: `a run by its id or "latest", or the files of one capture`}
		in.Required = []string{key}
	}
	text := v.Short
	if v.Long != "" {
		text += ". " + strings.ReplaceAll(v.Long, "\n", " ")
	}
	return &mcp.Tool{
		Name: v.Name, Description: message.Phrase("tool-columns", text, columns(v)), InputSchema: in,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)},
	}
}

// columns names what the rows of a view hold, with the meaning where the name
// does not tell it.
func columns(v *show.View) string {
	var out []string
	for _, t := range v.Tables {
		var names []string
		for _, c := range t.Info().Columns {
			name := c.Key
			if c.Help != "" {
				name += " (" + c.Help + ")"
			}
			names = append(names, name)
		}
		out = append(out, strings.Join(names, ", "))
	}
	return message.Or(out)
}

// call answers a tool. An agent works for the person at this machine: it may name
// files as well as runs.
// Errors are worded for the agent.
func (o *Options) call(ctx context.Context, v *show.View, arguments json.RawMessage) (json.RawMessage, error) {
	var args map[string]json.RawMessage
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &args); err != nil {
			return nil, err
		}
	}
	r, err := o.request(v, args)
	if err != nil {
		return nil, err
	}
	r.Resolve = func(name string) (string, error) { return runs.Resolve(o.Store, name) }
	return answer(ctx, v, r, asRows)
}

package timeline

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// A launchText is what launches of one kind share in JSON.
type launchText struct{ names, needs []byte }

func newLaunchText(r *LaunchRow) *launchText {
	o := object{sep: ','}
	o.text("kernel", r.Kernel)
	o.text("short_name", r.Short)
	o.dim("grid", r.Grid)
	o.dim("block", r.Block)
	o.int("context", int64(r.Context))
	o.int("stream", int64(r.Stream))
	o.int("device", int64(r.Device))
	o.text("nvtx", r.NVTX)
	if len(r.NVTXAll) > 0 {
		o.key("nvtx_all")
		for i, path := range r.NVTXAll {
			o.b = append(o.b, "[,"[min(i, 1)])
			o.b = appendText(o.b, path)
		}
		o.b = append(o.b, ']')
	}
	o.int("process", int64(r.Process))
	if r.Thread != nil {
		o.int("thread", int64(*r.Thread))
	}
	t := &launchText{names: o.b}
	o.b = nil
	o.int("registers", int64(r.Registers))
	o.int("static_shared_bytes", int64(r.StaticShared))
	o.int("dynamic_shared_bytes", int64(r.DynamicShared))
	t.needs = o.b
	return t
}

// AppendJSON writes the row as encoding/json does. Rows of launches and gaps come by
// the million.
// Names and sizes come from the text that the stream made: changes of these fields do not show.
func (r *LaunchRow) AppendJSON(b []byte) []byte {
	t := r.text
	if t == nil {
		t = newLaunchText(r)
	}
	o := object{b: b, sep: '{'}
	o.int("id", int64(r.ID))
	o.b = append(o.b, t.names...)
	o.int("start_ns", r.StartNS)
	o.int("duration_ns", r.DurationNS)
	o.optional("launch_ns", r.LaunchNS)
	o.optional("queue_ns", r.QueueNS)
	o.b = append(o.b, t.needs...)
	if r.Correlation != nil {
		o.int("correlation", int64(*r.Correlation))
	}
	if r.GraphNode != 0 {
		o.int("graph_node", r.GraphNode)
	}
	if r.Graph != 0 {
		o.int("graph", r.Graph)
	}
	return append(o.b, '}')
}

// A gapText is what rows of one kind share in JSON, with the keys of the times that
// come between.
type gapText struct{ place, names, calls, seen []byte }

func newGapText(r *GapRow) *gapText {
	o := object{sep: '{'}
	o.int("device", int64(r.Device))
	for _, place := range []struct {
		key   string
		value *int
	}{{"process", r.Process}, {"context", r.Context}, {"stream", r.Stream}} {
		if place.value != nil {
			o.int(place.key, int64(*place.value))
		}
	}
	t := &gapText{place: o.b}
	o.b = nil
	o.text("before", r.Before)
	o.text("after", r.After)
	o.text("nvtx", r.NVTX)
	t.names = o.b
	o.b = nil
	if r.Host != "" {
		o.text("host_nvtx", r.Host)
	}
	if len(r.Python) > 0 {
		o.key("python")
		frames, _ := json.Marshal(r.Python) // strings and numbers always marshal
		o.b = append(o.b, frames...)
	}
	t.seen = o.b
	for _, c := range r.Calls {
		call := object{b: t.calls, sep: '{'}
		call.text("name", c.Name)
		call.key("ns")
		t.calls = append(call.b, 0) // ends the name
	}
	return t
}

// AppendJSON writes the row as encoding/json does.
func (r *GapRow) AppendJSON(b []byte) []byte {
	t := r.text
	if t == nil {
		t = newGapText(r)
	}
	o := object{b: append(b, t.place...), sep: ','}
	o.int("start_ns", r.StartNS)
	o.int("end_ns", r.EndNS)
	o.int("duration_ns", r.DurationNS)
	o.b = append(o.b, t.names...)
	if len(r.Calls) > 0 {
		o.key("calls")
		rest := t.calls
		for i, c := range r.Calls {
			end := bytes.IndexByte(rest, 0) // which JSON escapes in names
			o.b = append(append(o.b, "[,"[min(i, 1)]), rest[:end]...)
			rest = rest[end+1:]
			call := object{b: strconv.AppendInt(o.b, c.NS, 10), sep: ','}
			call.int("calls", c.Calls)
			o.b = append(call.b, '}')
		}
		o.b = append(o.b, ']')
	}
	o.optional("host_ns", r.HostNS)
	return append(append(o.b, t.seen...), '}')
}

// An object is one of JSON under way.
type object struct {
	b   []byte
	sep byte // before the next key
}

func (o *object) key(name string) {
	o.b = append(append(append(o.b, o.sep, '"'), name...), '"', ':')
	o.sep = ','
}

func (o *object) int(name string, v int64) {
	o.key(name)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) optional(name string, v *int64) {
	if v != nil {
		o.int(name, *v)
	}
}

func (o *object) text(name, v string) {
	o.key(name)
	o.b = appendText(o.b, v)
}

func (o *object) dim(name string, v [3]int32) {
	o.key(name)
	for i, n := range v {
		o.b = strconv.AppendInt(append(o.b, "[,"[min(i, 1)]), int64(n), 10)
	}
	o.b = append(o.b, ']')
}

const hex = "0123456789abcdef"

// appendText quotes a text. Names of kernels hold < and >, which encoding/json
// escapes; what else it escapes is left to it.
func appendText(b []byte, s string) []byte {
	start := len(b)
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == '<' || c == '>' || c == '&':
			b = append(append(b, s[from:i]...), '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			from = i + 1
		case c < ' ' || c == '"' || c == '\\' || c >= 0x7f:
			text, _ := json.Marshal(s) // a string always marshals
			return append(b[:start], text...)
		}
	}
	return append(append(b, s[from:]...), '"')
}

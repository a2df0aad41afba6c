package ncurep

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Dump prints what is left in r readably and stably: one fact a line, indented
// by what it belongs to, texts quoted. What the Options of r left out is absent.
// It reads r to its end.
func Dump(w io.Writer, r *Reader) error {
	d := &dumper{w: bufio.NewWriter(w)}
	d.info(r.Info())
	for res := range r.All() {
		d.result(res)
	}
	if r.opts.Sources {
		for _, s := range r.sources() {
			d.line(0, "source %d: %d bytes, binary %d, code %d, files %d, sm %d", s.Reference, s.Size, s.BinarySize, s.CodeSize, s.FilesSize, s.SMRevision)
		}
	}
	for _, x := range r.Warnings() {
		d.line(0, "warning at %d, line %d: %s, lost %d", x.Offset, x.Line, x.What.Code, x.Lost)
	}
	return d.w.Flush()
}

// A dumper prints lines; the first error of the writer stays in w.
type dumper struct{ w *bufio.Writer }

// line indents by two blanks a level. Errors of the writer are told by Flush.
func (d *dumper) line(depth int, format string, args ...any) {
	d.w.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(d.w, format, args...)
	d.w.WriteByte('\n')
}

// text prints a field unless it is empty.
func (d *dumper) text(depth int, name, value string) {
	if value != "" {
		d.line(depth, "%s %q", name, value)
	}
}

// info prints what the headers say; the environment only as present.
func (d *dumper) info(i *Info) {
	s := &i.Session
	d.line(0, "report version %d: %d results, %d sources", i.Version, i.Results, i.NumSource)
	d.line(0, "session")
	d.text(1, "command", s.CommandLine)
	d.text(1, "executable", s.Executable)
	d.text(1, "arguments", s.Arguments)
	d.text(1, "directory", s.WorkDirectory)
	d.text(1, "comments", s.Comments)
	if s.HasEnvironment {
		d.line(1, "environment present")
	}
	if s.CreationTime != 0 {
		d.line(1, "created %d", s.CreationTime)
	}
	d.system("host", &s.Host)
	d.system("target", &s.Target)
	for _, p := range s.Versions {
		d.line(1, "version %q %q", p.Name, p.Value)
	}
	for _, p := range s.Properties {
		d.line(1, "property %q %q", p.Name, p.Value)
	}
	for _, g := range s.Devices {
		d.line(1, "device %d %q: %d attributes", g.ID, g.Name, g.Attributes)
	}
	for _, p := range i.Processes {
		d.line(0, "process %d %q on %q", p.ID, p.Name, p.Host)
	}
}

// system prints nothing for a machine that the file does not describe.
func (d *dumper) system(what string, s *System) {
	if *s != (System{}) {
		d.line(1, "%s %q %q %q %q %q", what, s.OS, s.Build, s.Processor, s.Architecture, s.Name)
	}
}

// result prints metrics in file order, with every occurrence of a name.
func (d *dumper) result(r *Result) {
	d.line(0, "%s %d", r.Kind, r.ID)
	d.text(1, "name", r.DemangledName)
	d.text(1, "function", r.FunctionName)
	d.text(1, "mangled", r.MangledName)
	d.text(1, "display", r.DisplayName)
	if r.Kind == Kernel || !r.Grid.IsZero() {
		d.line(1, "grid %s block %s", r.Grid, r.Block)
	}
	stream := "none"
	if r.HasStream {
		stream = strconv.FormatUint(uint64(r.StreamID), 10)
	}
	d.line(1, "process %d thread %d context %d stream %s device %d", r.Process.ID, r.ThreadID, r.ContextID, stream, r.Device)
	d.text(1, "context name", r.ContextName)
	d.text(1, "stream name", r.StreamName)
	d.text(1, "comments", r.Comments)
	if r.LostFields > 0 {
		d.line(1, "lost %d fields", r.LostFields)
	}
	d.nvtx(&r.NVTX)
	for _, f := range r.CPUStack {
		d.line(1, "frame %#x %q %q %q:%d", f.PC, f.Module, f.Function, f.File, f.Line)
	}
	for i := range r.Metrics {
		d.metric(&r.Metrics[i])
	}
	for i := range r.Sections {
		d.section(&r.Sections[i])
	}
	for i := range r.Rules {
		d.rule(&r.Rules[i])
	}
}

// nvtx prints the stacks of all threads, outermost range first.
func (d *dumper) nvtx(n *NVTX) {
	for _, s := range n.Stacks {
		d.line(1, "nvtx stack thread %d domain %q", s.Thread, s.Domain)
		for i := range s.Ranges {
			d.line(2, "push %s", s.Ranges[i].dump())
		}
	}
	for i := range n.Open {
		o := &n.Open[i]
		d.line(1, "nvtx start %d domain %q %s", o.ID, o.Domain, o.dump())
	}
}

// dump leaves out attributes that the program did not give.
func (rg *NVTXRange) dump() string {
	s := strconv.Quote(rg.Name)
	for _, a := range [][2]string{{"payload " + rg.PayloadType, rg.Payload}, {"color", rg.Color}, {"message " + rg.MessageType, rg.Message}} {
		if a[1] != "" {
			s += fmt.Sprintf(" %s %q", a[0], a[1])
		}
	}
	if rg.Category != 0 {
		s += fmt.Sprintf(" category %d", rg.Category)
	}
	return s
}

// metric tells the type of the value too: files of one metric differ in it.
func (d *dumper) metric(m *Metric) {
	value := m.Value.Kind().String()
	switch {
	case m.Value.IsNumber():
		value += " " + m.Value.String()
	case !m.Value.IsZero():
		value += " " + strconv.Quote(m.Value.Text())
	}
	if u := m.Unit(); u != "" {
		value += " " + u
	}
	if m.NumInstances > 0 {
		value += fmt.Sprintf(" [%d]", m.NumInstances)
	}
	d.line(1, "metric %s = %s", printable(m.Name), value)
	for _, in := range m.Instances {
		if in.ID.IsZero() {
			d.line(2, "instance %s", printable(in.Value.String()))
		} else {
			d.line(2, "instance %s: %s", printable(in.ID.String()), printable(in.Value.String()))
		}
	}
}

// printable quotes a text only if it needs it.
func printable(s string) string {
	if strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0xfffd || c == '"' }) {
		return strconv.Quote(s)
	}
	return s
}

// section prints the header table; of the body only how many metrics it names.
func (d *dumper) section(s *Section) {
	d.line(1, "section %s %q order %d: %d metrics", s.Identifier, s.DisplayName, s.Order, len(s.Metrics))
	for _, h := range s.Header {
		d.line(2, "header %s %q", h.Name, h.Label)
	}
}

// rule prints texts with the vendor's markup; NaN for a focus without a number.
func (d *dumper) rule(r *RuleResult) {
	d.line(1, "rule %s %q section %s", r.Identifier, r.DisplayName, r.Section)
	for i := range r.Messages {
		m := &r.Messages[i]
		d.line(2, "%s %q %q", m.Type, m.Title, m.Text)
		if m.Speedup != nil {
			d.line(3, "speedup %s %g%%", m.Speedup.Type, m.Speedup.Value)
		}
		for _, f := range m.Focus {
			d.line(3, "focus %s = %g severity %d %q", f.Name, f.Value, f.Severity, f.Info)
		}
	}
}

package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Facts are what is known of a capture, in the order in which it is shown.
type Facts []Fact

// Add appends a value; one that is empty as a text is not known, and is left out.
func (f *Facts) Add(section, name string, value any) {
	if text := fmt.Sprint(value); text != "" {
		*f = append(*f, Fact{section, name, text})
	}
}

// TimelineFacts lists what a capture says about itself.
func TimelineFacts(info *timeline.Info) (facts Facts) {
	add := facts.Add
	add("file", "path", info.Source.Path)
	add("file", message.Phrase("exported-to"), info.Source.SQLite)
	add("file", "bytes", info.Source.Bytes)
	add("file", message.Phrase("environment-nsys"), info.Source.Tool)
	add("file", "schema", info.Source.Schema)
	add("file", "command", info.Source.Command)
	add("session", message.Phrase("start-utc"), info.Session.StartUTC)
	add("session", message.Phrase("events-span"), time.Duration(info.Session.LastNS-info.Session.FirstNS))
	add("session", message.Phrase("info-profiler-overhead"), time.Duration(info.OverheadNS))
	for _, g := range info.GPUs {
		add("GPU", fmt.Sprint(g.ID), gpuFacts(g))
	}
	for _, d := range info.Devices {
		add("device", fmt.Sprint(d.Device), message.Phrase("info-device", d.Kernels, streams(&d),
			time.Duration(d.KernelNS), time.Duration(d.BusyNS), time.Duration(d.LastNS-d.FirstNS)))
	}
	for _, p := range info.Processes {
		add("process", fmt.Sprint(p.PID), message.Phrase("info-process", p.Name, p.Kernels, p.Calls, p.Ranges, p.Threads))
	}
	if len(info.Domains) > 0 {
		add("NVTX", "domains", strings.Join(info.Domains, ", "))
	}
	c := info.Counts
	for _, n := range []struct {
		name  string
		count int
	}{
		{"kernels", c.Kernels}, {message.Phrase("kernel-names"), c.KernelNames}, {message.Phrase("kernels-of-cuda-graphs"), c.GraphKernels}, {message.Phrase("cuda-graph-launches"), c.GraphLaunches},
		{message.Phrase("memory-copies"), c.Copies}, {message.Phrase("count-memory-sets"), c.Sets}, {"synchronizations", c.Syncs}, {message.Phrase("cuda-calls"), c.Calls},
		{message.Phrase("nvtx-ranges"), c.Ranges}, {message.Phrase("nvtx-ranges-never-closed"), c.Unclosed}, {message.Phrase("nvtx-marks"), c.Marks},
	} {
		add("events", n.name, n.count)
	}
	for _, p := range info.System {
		add("system", p.Name, p.Value)
	}
	for _, p := range info.Capture {
		add("capture", p.Name, p.Value)
	}
	for _, t := range info.Tables {
		text := fmt.Sprintf("%d rows", t.Rows)
		if t.Skipped > 0 {
			text += fmt.Sprintf(", %d skipped", t.Skipped)
		}
		add("table", t.Name, text)
	}
	for _, d := range info.Diagnostics {
		add("diagnostic", [...]string{1: "information", 2: "warning", 3: "error"}[min(max(d.Severity, 1), 3)], d.Text)
	}
	return facts
}

// streams counts those with kernels, and those with copies or sets alone.
func streams(d *timeline.DeviceInfo) string {
	text := plural(d.KernelStreams, "stream")
	if others := d.Streams - d.KernelStreams; others > 0 {
		text += message.Phrase("info-streams-without-kernels", others)
	}
	return text
}

// gpuFacts describes a GPU by what its timeline tells: 0 stands for unknown.
func gpuFacts(g timeline.GPU) string {
	parts := phrases{g.Name}
	parts.add(g.SMs > 0, "gpu-sms", g.SMs)
	parts.add(g.ComputeMajor > 0, "gpu-compute", g.ComputeMajor, g.ComputeMinor)
	parts.add(g.MemoryBytes > 0, "gpu-gigabytes", float64(g.MemoryBytes)/1e9)
	parts.add(g.MemoryBandwidth > 0, "gpu-gigabytes-per-second", float64(g.MemoryBandwidth)/1e9)
	return parts.text()
}

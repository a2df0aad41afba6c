package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/timeline"
)

// Facts are what is known of a capture, in the order in which it is shown.
type Facts []Fact

// Add appends a value; one that is empty as a text is not known, and is left out.
// 0 is known, and is added.
func (f *Facts) Add(section, name string, value any) {
	if text := fmt.Sprint(value); text != "" {
		*f = append(*f, Fact{section, name, text})
	}
}

// TimelineFacts lists what a capture says about itself.
// Sections and names stay; values are texts for people, with their units.
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
		add("device", fmt.Sprint(d.Device), message.Phrase("info-device", d.Kernels, d.KernelStreams, d.Streams-d.KernelStreams,
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
		add("table", t.Name, message.Phrase("info-table", t.Rows, t.Skipped))
	}
	for _, d := range info.Diagnostics {
		add("diagnostic", message.Label("severity", strconv.Itoa(min(max(d.Severity, 1), 3))), d.Text)
	}
	return facts
}

// gpuFacts describes a GPU by what its timeline tells: 0 stands for unknown.
func gpuFacts(g timeline.GPU) string {
	compute := when(g.ComputeMajor > 0, fmt.Sprintf("%d.%d", g.ComputeMajor, g.ComputeMinor))
	memory := when(g.MemoryBytes > 0, fmt.Sprintf("%.1f GB", float64(g.MemoryBytes)/1e9))
	bandwidth := when(g.MemoryBandwidth > 0, fmt.Sprintf("%.0f GB/s", float64(g.MemoryBandwidth)/1e9))
	return message.Phrase("info-gpu", g.Name, g.SMs, compute, memory, bandwidth)
}

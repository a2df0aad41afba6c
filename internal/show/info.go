package show

import (
	"context"
	"fmt"
	"time"

	"github.com/deepprof/deepprof/internal/message"
	"github.com/deepprof/deepprof/internal/ncurep"
	"github.com/deepprof/deepprof/internal/report"
	"github.com/deepprof/deepprof/internal/timeline"
)

// showInfo lists what a capture says about itself. A run without a timeline still has the
// facts of its counters.
func showInfo(ctx context.Context, path string, _ timeline.Query, more *Request) (report.Printable, error) {
	switch kind, err := Recognize(path); {
	case err != nil:
		return nil, err
	case kind == Counters:
		return infoOfCounters(path, more)
	}
	f, src, err := openTimeline(ctx, path, "info", more)
	if err != nil {
		if counters, cerr := locate(ctx, path, Counters); cerr == nil && counters.dir != "" { // a run without a timeline
			defer counters.done()
			return report.FactView.Table(reportsOf(counters.dir, path), counters.notes()...), nil
		}
		return nil, err
	}
	defer src.done()
	info, err := f.Info(ctx)
	if err != nil {
		return nil, err
	}
	facts := report.TimelineFacts(&info)
	if src.dir != "" {
		facts = append(facts, reportsOf(src.dir, path)...)
	}
	return report.FactView.Table(facts, append(src.notes(), message.Texts(info.Warnings)...)...), nil
}

// reportsOf lists the reports of counters of a run; one that cannot be read has its error as
// the value. A run may have none.
func reportsOf(dir, path string) []report.Fact {
	files, err := find(dir, path, Counters)
	if err != nil {
		return nil
	}
	var facts []report.Fact
	for _, file := range files {
		fact := report.Fact{Section: "counters", Name: within(dir, file)}
		if r, err := ncurep.Open(file, ncurep.Options{NoMetrics: true}); err != nil {
			fact.Value = err.Error()
		} else {
			info := r.Info()
			r.Close()
			fact.Value = message.Phrase("bytes-results", fmt.Sprint(info.Size), fmt.Sprint(info.Results))
		}
		facts = append(facts, fact)
	}
	return facts
}

// infoOfCounters reads the whole report, because damage inside results is found only there.
// Metrics are not decoded. What is lost makes After fail unless Partial is set.
func infoOfCounters(path string, more *Request) (report.Printable, error) {
	r, err := ncurep.Open(path, ncurep.Options{NoMetrics: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info := r.Info()
	var facts report.Facts
	facts.Add("file", "path", path)
	facts.Add("file", "bytes", info.Size)
	facts.Add("file", message.Phrase("container-version"), info.Version)
	facts.Add("file", "results", info.Results)
	facts.Add("file", message.Phrase("embedded-cubins-and-sources"), info.NumSource)
	addSession(&facts, &info.Session)
	for _, p := range info.Processes {
		facts.Add("process", fmt.Sprint(p.ID), p.Name)
	}
	for range r.All() { // damage within results is found by visiting them
	}
	more.losses = append(more.losses, func() []string { return remarks(r.Lost()) })
	return report.FactView.Table(facts, remarks(r.Warnings())...), nil
}

// addSession adds what a report says about the session that made it.
func addSession(facts *report.Facts, s *ncurep.Session) {
	add := facts.Add
	if s.CreationTime > 0 {
		add("session", message.Phrase("created-utc"), time.Unix(int64(s.CreationTime), 0).UTC().Format(time.DateTime))
	}
	add("session", message.Phrase("command-line"), s.CommandLine)
	add("session", "executable", s.Executable)
	add("session", "arguments", s.Arguments)
	add("session", message.Phrase("working-directory"), s.WorkDirectory)
	add("session", "comments", s.Comments)
	for _, p := range s.Versions {
		add("version", p.Name, p.Value)
	}
	for _, p := range s.Properties {
		add("property", p.Name, p.Value)
	}
	for _, d := range s.Devices {
		add("device", fmt.Sprint(d.ID), message.Phrase("info-attributes", d.Name, d.Attributes))
	}
}

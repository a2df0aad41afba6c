package capture

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/tool"
)

// A Tool is what was run, as far as its messages and files differ.
type Tool string

const (
	Nsys       Tool = "nsys" // nsys profile
	Ncu        Tool = "ncu"  // ncu around a program
	NsysExport Tool = "nsys-export"
	NsysStats  Tool = "nsys-stats"
	NsysImport Tool = "nsys-import" // QdstrmImporter
	NsysRecipe Tool = "nsys-recipe"
	NsysOther  Tool = "nsys-other" // status, sessions, start, stop, ...
	NcuImport  Tool = "ncu-import" // ncu --import and queries
)

// param names the tool in a fact.
func (t Tool) param() fact.Param { return fact.Name("tool", string(t)) }

// ofNsys also holds for what comes after a capture: export, import, stats.
func (t Tool) ofNsys() bool { return strings.HasPrefix(string(t), "nsys") }

// profiles reports whether the tool runs a workload and must leave a report.
func (t Tool) profiles() bool { return t == Nsys || t == Ncu }

// Evidence is everything that judge looks at.
type Evidence struct {
	Tool Tool

	// Code is the exit code as a shell shows it: 128+N where signal N ended the
	// process that was started. Killer is that signal.
	Code   int
	Killer int

	Stopped    tool.StopReason // we stopped the run
	TargetSeen bool            // the workload was seen alive
	Forked     []string        // processes of the workload that were forked and never called exec
	LastLine   string

	Stdout, Stderr string

	// Options are the names of the profiler's options on the command line,
	// without dashes: what it says of another one, the workload said. Nil is
	// unknown.
	Options []string

	// Ranks tells that a launcher started the profiler in each rank.
	Ranks bool

	Want  string // the report or file asked for; numbered ones stand beside it
	Files []File // what was found, at Want and wherever the output points to

	// Gated: a capture range was set. EndsTarget: the command line makes the
	// profiler end the workload (stop-shutdown, repeat-shutdown, duration).
	Gated, EndsTarget bool

	// Left are processes that outlived the profiler and were ended.
	Left []string

	// LowSpace names a file system that was nearly full during the run.
	LowSpace string

	// NotOpened: the user would not wait until the reports were read.
	NotOpened bool

	requests int // of the user to stop, so far

	Expect      Expect
	Content     *Content // of the reports, where a checker has opened them
	Diagnostics []Diagnostic
	notes       []fact.Fact // of the reading
}

// Expect says what a report must hold to be what was asked for.
type Expect struct {
	Reports  int      // for repeat:N; 0 means one
	Tables   []string // names that Content.Rows must have with at least one row
	Named    []string // names whose absence in Content.Rows is a warning
	Launches int      // profiled launches or ranges; 0 means at least one
}

// Content is what a checker found in the reports.
type Content struct {
	Rows     map[string]int64 // by table or kind of data
	Launches int              // ncu: results
	Warnings []fact.Fact      // of the reader
}

// A Diagnostic is one message that the profiler stored in its own report.
type Diagnostic struct {
	Level, Text string // Level: "Info", "Warning", "Error", "Verbose"
}

// serious tells what a user is shown; the rest is chatter of the profiler.
func (d Diagnostic) serious() bool { return d.Level == "Warning" || d.Level == "Error" }

// A Format is what the first bytes of a file say it is, or why there are none.
type Format = format.Kind

const (
	EmptyFile   = format.Empty
	NsysReport  = format.NsysReport
	Stream      = format.Stream    // complete: can be imported
	CutStream   = format.CutStream // the collection was cut: cannot
	NcuReport   = format.NcuReport
	SQLite      = format.SQLite
	OtherFile   = format.Unknown
	MissingFile = Format("missing")
	NotARegular = Format("not a file")
)

// A File is one file as it was found after the run.
type File struct {
	Path   string
	Size   int64
	Format Format
	Fresh  bool   // written since the run began
	Err    string // why a checker could not open it; "" where it could or none was asked
}

// sniff looks at the first bytes of a file. A file counts as fresh when it was
// changed at or after since; file systems with whole seconds round down.
func sniff(path string, since time.Time) File {
	f := File{Path: path}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		f.Format = MissingFile
		return f
	case !info.Mode().IsRegular():
		f.Format = NotARegular
		return f
	}
	f.Size, f.Fresh = info.Size(), !info.ModTime().Before(since.Truncate(time.Second))
	f.Format = sniffFormat(path)
	return f
}

// sniffFormat looks at the start of a file.
func sniffFormat(path string) Format {
	r, err := os.Open(path)
	if err != nil {
		return OtherFile
	}
	defer r.Close()
	head := make([]byte, recordedHead)
	n, _ := io.ReadFull(r, head)
	return format.Of(head[:n])
}

// stderrMark parts the two streams in the text that patterns are looked for in.
const stderrMark = "--- stderr"

// text joins the two streams in the way the patterns expect.
func (e *Evidence) text() string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(e.Stdout, "\r", "\n"))
	b.WriteString("\n" + stderrMark + "\n")
	b.WriteString(strings.ReplaceAll(e.Stderr, "\r", "\n"))
	for _, d := range e.Diagnostics {
		if d.serious() {
			b.WriteString("\n" + d.Text)
		}
	}
	return b.String()
}

// messages are the words of nsys about its own command line and of its
// diagnostics, for which standard output does not count: the workload has most of
// it.
func (e *Evidence) messages() string {
	own := Evidence{Stderr: e.Stderr, Diagnostics: e.Diagnostics}
	return own.text()
}

// report is the format that the tool must produce.
func (t Tool) report() Format {
	switch t {
	case Ncu:
		return NcuReport
	case NsysExport, NsysStats:
		return SQLite
	default:
		return NsysReport
	}
}

// fits reports whether a file is of the format asked for. An export to
// another type than SQLite only has to be there.
func (e *Evidence) fits(f File) bool {
	if e.Tool == NsysExport && format.Named(e.Want) != format.SQLite {
		return f.Size > 0 || f.Format == NotARegular
	}
	return f.Format == e.Tool.report()
}

// good lists the fresh files that are what the tool is to produce and that no
// checker objects to, those at the path asked for first.
func (e *Evidence) good() (here, elsewhere []File) {
	for _, f := range e.Files {
		if !e.fits(f) || !f.Fresh || f.Err != "" {
			continue
		}
		if e.atWant(f.Path) {
			here = append(here, f)
		} else {
			elsewhere = append(elsewhere, f)
		}
	}
	return here, elsewhere
}

// atWant reports whether path is the file asked for or one of its numbered
// siblings: NAME.nsys-rep, NAME.1.nsys-rep; behind a launcher also
// NAME.1.HOST.nsys-rep, and NAME1.ncu-rep, as ncu numbers ranks that it launches
// in step.
func (e *Evidence) atWant(path string) bool {
	if path == e.Want {
		return true
	}
	ext := filepath.Ext(e.Want)
	base := strings.TrimSuffix(e.Want, ext)
	mid, ok := strings.CutPrefix(strings.TrimSuffix(path, ext), base)
	if !e.Ranks && !strings.HasPrefix(mid, ".") {
		return false
	}
	mid = strings.TrimPrefix(mid, ".")
	if number, _, rank := strings.Cut(mid, "."); rank && e.Ranks {
		mid = number
	}
	return ok && strings.HasSuffix(path, ext) && mid != "" && strings.Trim(mid, "0123456789") == ""
}

// oldName reports whether path is the file asked for under the name that nsys
// before 2021.4 gives it.
func (e *Evidence) oldName(path string) bool {
	return path == strings.TrimSuffix(e.Want, filepath.Ext(e.Want))+".qdrep"
}

// beside reports whether path is another file of the same name: the SQLite
// export or the raw stream of a report.
func (e *Evidence) beside(path string) bool {
	base := strings.TrimSuffix(e.Want, filepath.Ext(e.Want))
	return e.Want != "" && (path == base+".sqlite" || path == base+".qdstrm")
}

// open lets our readers look into the good reports. A capture that was stopped
// is read all the same, until the user asks to stop for the second time: then the
// reports stay as they are, unopened.
func (c *Capture) open(ctx context.Context, e *Evidence) {
	reading, done := c.untilInsisted(ctx, e)
	defer done()
	e.Content, e.Diagnostics, e.notes = nil, nil, nil
	for i := range e.Files {
		f := &e.Files[i]
		if f.Format != e.Tool.report() || !f.Fresh {
			continue
		}
		if c.Check != nil {
			if !c.check(reading, e, f) {
				continue
			}
		}
		if c.Diagnostics != nil {
			list, err := c.Diagnostics(reading, f.Path)
			if err != nil {
				e.notes = append(e.notes, fact.New(warnUnread, errorText(err)))
			}
			e.Diagnostics = append(e.Diagnostics, list...)
		}
	}
}

// check opens one report and says whether that worked.
func (c *Capture) check(reading context.Context, e *Evidence, f *File) bool {
	if reading.Err() != nil {
		e.NotOpened = true
		return false
	}
	content, err := c.Check(reading, f.Path)
	switch {
	case err != nil && errors.Is(context.Cause(reading), errInsisted):
		e.NotOpened = true
		return false
	case err != nil:
		f.Err = err.Error()
		return false
	}
	e.addContent(content)
	return true
}

// errInsisted ends the reading of reports: the user does not want to wait for it.
var errInsisted = errors.New("asked to stop twice")

// repeatWindow is the time in which requests count as one key press.
const repeatWindow = 100 * time.Millisecond

// untilInsisted returns a context that outlives the end of ctx and ends with the
// second request to stop, those during the run included. The function that goes
// with it must be called when the reading is over; it notes in the evidence that
// there were requests.
func (c *Capture) untilInsisted(ctx context.Context, e *Evidence) (context.Context, func()) {
	reading, cancel := context.WithCancelCause(tool.WithLimits(context.WithoutCancel(ctx), c.Limits)) // it may start nsys export
	if e.requests >= 2 {
		cancel(errInsisted)
	}
	over, ended := make(chan struct{}), make(chan struct{})
	requests := e.requests
	go func() {
		defer close(ended)
		canceled := ctx.Done()
		if ctx.Err() != nil {
			canceled = nil // was counted by the run
		}
		var last time.Time
		for {
			select {
			case <-over:
				return
			case <-canceled:
				canceled = nil
				requests++
			case <-c.Interrupts:
				if time.Since(last) < repeatWindow {
					continue
				}
				last = time.Now()
				requests++
			}
			if requests >= 2 {
				cancel(errInsisted)
			}
		}
	}()
	return reading, func() {
		close(over)
		<-ended
		cancel(nil)
		if requests > e.requests && e.Stopped == tool.NotStopped {
			e.Stopped, e.LastLine = tool.Interrupted, ""
		}
		e.requests = requests
	}
}

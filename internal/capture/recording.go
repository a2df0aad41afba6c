package capture

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/tool"
)

// A Recording is one run of a profiler that can be played again without the
// profiler, the workload or a GPU: what it printed and when, how it ended, and
// the beginning and size of the files it left.
//
// As text it is an archive: "name: value" lines, then a part "events" with
// lines "SECONDS out|err TEXT", then a part "file NAME" for each file. In names
// and texts {output} stands for the path given with -o and {tmp} for TMPDIR.
type Recording struct {
	Tool   Tool
	Note   string
	Args   []string // of the profiler; not needed to play
	Exit   int
	Signal int  // ends the player by this signal instead
	Hang   bool // the run never ends by itself

	Events []RecordedLine
	Files  []RecordedFile

	// OnInterrupt is the exit code after SIGINT or SIGTERM; 0 means that the
	// player dies by the signal.
	OnInterrupt int
}

// A RecordedLine is a line of output with the time at which it came.
type RecordedLine struct {
	At     time.Duration
	Stderr bool
	Text   string
}

// recordedHead is how much of a file a recording keeps: enough to tell its
// format.
const recordedHead = 32

// A RecordedFile is a file as it was left: its first bytes, then zeros.
type RecordedFile struct {
	Name string
	Size int64
	Head []byte
}

// maxPlayed bounds a file that a recording asks for.
const maxPlayed = 1 << 30

// parseRecording reads the text form.
func parseRecording(text string) (Recording, error) {
	var r Recording
	head, parts := parseArchive(text)
	for n, line := range strings.Split(head, "\n") {
		if err := r.field(line); err != nil {
			return r, fmt.Errorf("read recording: line %d: %w", n+1, err)
		}
	}
	for _, p := range parts {
		var err error
		switch kind, name, _ := strings.Cut(p.name, " "); kind {
		case "events":
			err = r.events(p.data)
		case "file":
			err = r.file(name, p.data)
		default:
			err = fmt.Errorf("unknown part %q", p.name)
		}
		if err != nil {
			return r, fmt.Errorf("read recording: %w", err)
		}
	}
	if r.Tool == "" {
		return r, fmt.Errorf("read recording: no tool")
	}
	return r, nil
}

// field reads a line of the head. Unknown names are errors: a recording is not read in
// half.
func (r *Recording) field(line string) error {
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	name, value, ok := strings.Cut(line, ": ")
	if !ok {
		return fmt.Errorf("no value in %q", line)
	}
	var err error
	switch name {
	case "tool":
		r.Tool = Tool(value)
	case "note":
		r.Note = value
	case "args":
		r.Args = strings.Split(value, " ")
	case "exit":
		r.Exit, err = strconv.Atoi(value)
	case "signal":
		r.Signal, err = strconv.Atoi(value)
	case "hang":
		r.Hang, err = strconv.ParseBool(value)
	case "on-interrupt":
		r.OnInterrupt, err = strconv.Atoi(value)
	default:
		return fmt.Errorf("unknown field %q", name)
	}
	return err
}

// events reads lines "SECONDS out|err TEXT".
func (r *Recording) events(text string) error {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			continue
		}
		at, rest, _ := strings.Cut(line, " ")
		seconds, err := strconv.ParseFloat(at, 64)
		if err != nil || seconds < 0 || seconds > 1e6 {
			return fmt.Errorf("time in event %q", line)
		}
		stream, text, _ := strings.Cut(rest, " ")
		if stream != "out" && stream != "err" {
			return fmt.Errorf("stream in event %q", line)
		}
		r.Events = append(r.Events, RecordedLine{time.Duration(seconds * float64(time.Second)), stream == "err", text})
	}
	return nil
}

// file reads one recorded file: its size and the bytes at its beginning.
func (r *Recording) file(name, data string) error {
	f := RecordedFile{Name: name}
	for line := range strings.Lines(data) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		var err error
		switch key {
		case "":
		case "size":
			f.Size, err = strconv.ParseInt(value, 10, 64)
		case "head":
			f.Head, err = hex.DecodeString(value)
		default:
			err = fmt.Errorf("unknown field %q", key)
		}
		if err != nil {
			return fmt.Errorf("file %s: %w", name, err)
		}
	}
	if f.Size < int64(len(f.Head)) || f.Size > maxPlayed {
		return fmt.Errorf("file %s: size %d", name, f.Size)
	}
	r.Files = append(r.Files, f)
	return nil
}

// String is the text form.
func (r Recording) String() string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" && value != "0" && value != "false" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.ReplaceAll(value, "\n", " "))
		}
	}
	field("tool", string(r.Tool))
	field("note", r.Note)
	field("args", strings.Join(r.Args, " "))
	field("exit", strconv.Itoa(r.Exit))
	field("signal", strconv.Itoa(r.Signal))
	field("hang", strconv.FormatBool(r.Hang))
	field("on-interrupt", strconv.Itoa(r.OnInterrupt))
	b.WriteString("-- events --\n")
	for _, e := range r.Events {
		stream := "out"
		if e.Stderr {
			stream = "err"
		}
		fmt.Fprintf(&b, "%.3f %s %s\n", e.At.Seconds(), stream, e.Text)
	}
	for _, f := range r.Files {
		fmt.Fprintf(&b, "-- file %s --\nsize: %d\nhead: %s\n", f.Name, f.Size, hex.EncodeToString(f.Head))
	}
	return b.String()
}

// A Recorder makes a recording while a capture runs: its Line receives the
// output, Finish the rest.
type Recorder struct{ r Recording }

// Line keeps one line of output. Progress bars are thinned out to their ends.
func (k *Recorder) Line(l tool.Line) {
	if n := len(k.r.Events); n > 0 && nsysBar.MatchString(l.Text) && nsysBar.MatchString(k.r.Events[n-1].Text) {
		k.r.Events = k.r.Events[:n-1]
	}
	k.r.Events = append(k.r.Events, RecordedLine{l.At, l.Stderr, l.Text})
}

// Finish completes the recording with the end of the run and the files that
// were left, before anything was moved.
func (k *Recorder) Finish(c *Capture, ended tool.Ended, temp string, files []File) Recording {
	r := k.r
	place := placeholders(c.Output, temp)
	r.Tool, r.Exit, r.Signal = c.Tool, ended.Exit.Code, int(ended.Exit.Signal)
	if r.Signal != 0 {
		r.Exit = 0
	}
	for _, a := range c.optionArgs() {
		r.Args = append(r.Args, place.Replace(a))
	}
	for i := range r.Events {
		r.Events[i].Text = place.Replace(r.Events[i].Text)
	}
	for _, f := range files {
		if !f.Fresh || f.Format == NotARegular {
			continue
		}
		head := make([]byte, recordedHead)
		if file, err := os.Open(f.Path); err == nil {
			n, _ := file.Read(head)
			head = head[:n]
			file.Close()
		}
		r.Files = append(r.Files, RecordedFile{place.Replace(f.Path), f.Size, head})
	}
	return r
}

// placeholders make a recording independent of where it was made. The folder for temporary
// files comes first: it may lie in that of the output.
func placeholders(output, temp string) *strings.Replacer {
	pairs := []string{output, "{output}", filepath.Dir(output), "{dir}"}
	if temp != "" {
		pairs = append([]string{temp, "{tmp}"}, pairs...)
	}
	return strings.NewReplacer(pairs...)
}

// RecordInto writes what each profiler printed into a folder, in a form that can be
// played again. Warn hears of a recording that cannot be written.
func RecordInto(folder string, warn func(error)) (func(Tool, Recording), error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	count := map[Tool]int{}
	return func(profiler Tool, r Recording) {
		name := string(profiler)
		if count[profiler]++; count[profiler] > 1 {
			name += fmt.Sprintf(".%d", count[profiler])
		}
		if err := os.WriteFile(filepath.Join(folder, name+".rec"), []byte(r.String()), 0o666); err != nil {
			warn(err)
		}
	}, nil
}

// An archiveFile is one file of a text archive in the txtar layout: a line
// "-- name --" before each file, free text before the first.
type archiveFile struct{ name, data string }

// parseArchive never fails: text without a mark is one comment.
func parseArchive(text string) (comment string, files []archiveFile) {
	var b strings.Builder
	name := ""
	keep := func() {
		if name == "" {
			comment = b.String()
		} else {
			files = append(files, archiveFile{name, b.String()})
		}
		b.Reset()
	}
	for line := range strings.Lines(text) {
		next, ok := archiveName(line)
		if !ok {
			b.WriteString(line)
			continue
		}
		keep()
		name = next
	}
	keep()
	return comment, files
}

// archiveName is false for a line that is no mark, also for one without a name.
func archiveName(line string) (string, bool) {
	line = strings.TrimRight(line, "\r\n")
	name, ok := strings.CutPrefix(line, "-- ")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, " --")
	name = strings.TrimSpace(name)
	return name, ok && name != ""
}

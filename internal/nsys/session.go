package nsys

import (
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/tool"
)

// A Session is a process under nsys that is profiled in windows. Its name must
// be that of no other session of the user: `nsys start` makes a session of its
// own, empty, if the one that it is told does not exist.
// Building arguments is pure; package capture runs them. Launch, Start and Stop follow
// each other as nsys wants: trace options belong to Launch, sampling and the report to
// Start.
type Session struct {
	Name    string
	Options CaptureOptions // Output is not used
	Version tool.Version
}

// SessionName keeps of a text what nsys takes in the name of a session.
// Every other character becomes a dash, so that two texts can give the same name.
func SessionName(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '-'
	}, text)
}

// ofStart are options that belong to the start of a window; all others belong to
// the launch of the program.
var ofStart = []string{
	"gpu-metrics-device", "gpu-metrics-devices", "gpu-metrics-frequency", "gpu-metrics-set", "gpuctxsw", "backtrace", "cpu-core-events", "os-events",
	"event-sample", "event-sampling-interval", "ftrace", "ftrace-keep-user-config", "nic-metrics", "sampling-period", "samples-per-backtrace",
	"flush-on-cudaprofilerstop", "ib-switch-metrics-device",
}

// Launch are the arguments of nsys that start the program and collect nothing,
// and the variables that nsys and the program must find in their environment.
// The error is as that of Args.
func (s Session) Launch() (args, env []string, err error) {
	f := &tool.Flags{Tool: "nsys", Version: s.Version}
	f.Word("launch")
	f.Set("session-new", s.Name)
	s.Options.addTrace(f)
	s.Options.addGraphs(f)
	s.Options.addPython(f)
	s.Options.addDomains(f)
	f.Extra(s.extra(false), reservedArgs)
	f.Target(s.Options.Command, maxTarget)
	args, err = f.Args()
	return args, []string{"LC_ALL=C"}, err
}

// Start are the arguments that begin a window with that report.
// output is as CaptureOptions.Output; each window needs one of its own.
func (s Session) Start(output string) ([]string, error) {
	f := &tool.Flags{Tool: "nsys", Version: s.Version}
	f.Word("start")
	f.Set("session", s.Name)
	s.Options.addSampling(f)
	o := s.Options
	o.Output = output
	o.addSamples(f)
	o.addOutput(f)
	f.Extra(s.extra(true), reservedArgs)
	return f.Args()
}

// Stop are the arguments that end a window: nsys returns once its report is
// written.
func (s Session) Stop() []string { return []string{"stop", "--session=" + s.Name} }

// Shutdown are the arguments that end the session and send the program SIGTERM.
func (s Session) Shutdown() []string {
	return []string{"shutdown", "--session=" + s.Name, "--kill=sigterm"}
}

// List are the arguments that list all sessions.
func (s Session) List() []string { return []string{"sessions", "list"} }

// The states of a session, as nsys lists them.
const (
	SessionLaunched   = "Launched"
	SessionCollecting = "Collection"
)

// State reads what nsys lists: the state of this session, "" if it is gone.
// Names with blanks cannot be found, so Name must have none.
func (s Session) State(listed string) string {
	for line := range strings.SplitSeq(listed, "\n") {
		fields := strings.Fields(line) // ID TIME STATE LAUNCH NAME
		if len(fields) == 5 && fields[4] == s.Name {
			return fields[2]
		}
	}
	return ""
}

// extra are the further arguments of a window, or else those of the launch.
func (s Session) extra(start bool) []string {
	var out []string
	for _, arg := range s.Options.ExtraArgs {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if slices.Contains(ofStart, name) == start {
			out = append(out, arg)
		}
	}
	return out
}

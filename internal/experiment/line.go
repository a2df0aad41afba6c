package experiment

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/deepprof/deepprof/conf"
	"github.com/deepprof/deepprof/internal/analysis"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/redact"
)

// line is the command line of a run like the one that was analyzed, with
// overrides. Without any it is the same run again.
func line(r *analysis.Result, started, overrides []string) (string, fact.Fact) {
	args, command, why := again(r, started)
	if !why.IsZero() {
		return "", why
	}
	args = slices.DeleteFunc(args, func(a string) bool {
		return slices.ContainsFunc(overrides, func(o string) bool { return key(o) == key(a) })
	})
	words := append(append([]string{"deepprof", "run"}, args...), overrides...)
	if len(command) > 0 {
		words = append(append(words, "--"), command...)
	}
	return shellescape.QuoteCommand(words), fact.Fact{}
}

// key is that of an override, without the sign before it.
func key(override string) string {
	k, _, _ := strings.Cut(strings.TrimLeft(override, "+~"), "=")
	return k
}

// again gives the arguments of deepprof run, and the command behind them, that
// make the run again.
func again(r *analysis.Result, started []string) (args, command []string, why fact.Fact) {
	typed := len(started) > 1 && started[1] == "run" && strings.HasPrefix(filepath.Base(started[0]), "deepprof")
	if typed && !slices.ContainsFunc(started, redact.Marked) {
		args, command = split(started[2:])
		return args, command, fact.Fact{}
	}
	switch program := r.Workload.Command; {
	case shipped(r):
		return ofShipped(r)
	case typed, slices.ContainsFunc(program, redact.Marked):
		return nil, nil, fact.New(lineRemoved)
	case r.Workload.Kind == "command" && len(program) > 0 && !r.Source.Recorded: // that of a recording is how it was played
		return nil, program, fact.Fact{}
	}
	return nil, nil, fact.New(noCommand)
}

// split takes the command of a person apart, and leaves out what is for one run
// alone: its folder, and that nothing should be started.
func split(args []string) (settings, command []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		args, command = args[:i], args[i+1:]
	}
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "--record":
			i++ // its folder
		case key(a) == "hydra.run.dir", a == "--dry-run", a == "--first-answer", strings.HasPrefix(a, "--record="):
		default:
			settings = append(settings, a)
		}
	}
	return settings, command
}

// shapeKeys are the settings that make the shape of a shipped workload, by the
// names under which it tells them.
var shapeKeys = []struct{ name, key string }{
	{"batch_size", "infer.batch_size"}, {"prompt_length", "infer.prompt_length"}, {"new_tokens", "infer.max_new_tokens"},
}

// ofShipped asks for the model and the shape that a shipped workload told.
func ofShipped(r *analysis.Result) (args, command []string, why fact.Fact) {
	m := r.Workload.Model
	if m == nil {
		return nil, nil, fact.New(noCommand)
	}
	if _, err := fs.Stat(conf.FS, path.Join("model", m.Name+".yaml")); err != nil {
		return nil, nil, fact.New(ownModel, fact.Name("model", m.Name))
	}
	if r.Workload.Kind != "llm" {
		args = append(args, "workload="+r.Workload.Kind)
	}
	args = append(args, "model="+m.Name)
	for _, k := range shapeKeys {
		if v := shape(r, k.name); v != "" {
			args = append(args, k.key+"="+v)
		}
	}
	return args, nil, fact.Fact{}
}

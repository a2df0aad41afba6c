package capture

import (
	"bufio"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/tool"
)

// prepare finds what would make the run fail, before anything is started.
func (c *Capture) prepare() *Outcome {
	for _, check := range []func() *Outcome{
		c.checkArgs, c.checkNesting, c.checkTarget, c.checkOutput,
	} {
		if o := check(); o != nil {
			o.What = c.notStarted()
			return o
		}
	}
	return nil
}

// notStarted is what happened where a check before the start refused the capture.
func (c *Capture) notStarted() fact.Fact { return fact.New(toolNotStarted, c.Tool.param()) }

// refuse is the verdict on a run that is not started. A zero cause is that of the
// kind.
func refuse(kind Kind, evidence, cause fact.Fact) *Outcome {
	o := &Outcome{Kind: kind, Evidence: evidence, Cause: cause}
	if cause.IsZero() {
		o.Cause = kind.Cause()
	}
	return o
}

// given is an argument as evidence.
func given(text string) fact.Fact {
	return fact.New(givenArgument, fact.Name("text", tool.Quote(text)))
}

// maxTarget is the longest workload command line that nsys stores whole.
const maxTarget = 65000

// checkArgs refuses command lines that are accepted by the profiler and then
// do something else than they say.
func (c *Capture) checkArgs() *Outcome {
	if !c.Tool.profiles() {
		return refuse(ToolUsage, given(string(c.Tool)), fact.New(causeNotProfiler))
	}
	name := filepath.Base(c.want())
	if len(name) > 255 {
		return refuse(OutputUnwritable, given(name[:40]+"..."), fact.New(causeLongName))
	}
	if strings.Contains(name, "%") {
		return refuse(ToolUsage, given(name), fact.New(causePercent))
	}
	if c.Tool != Nsys {
		return nil
	}
	gate, trigger := "", false
	for i, arg := range c.optionArgs() {
		key, value, _ := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return refuse(ToolUsage, given(arg), fact.New(causeDashes))
		case key == "-e" || key == "--env-var":
			if value == "" && i+1 < len(c.Command.Args) {
				value = c.Command.Args[i+1]
			}
			if strings.Contains(value, ",") {
				return refuse(ToolUsage, given(arg), fact.New(causeCommas))
			}
		case key == "--capture-range" || key == "-c":
			gate = value
		case key == "--nvtx-capture" || key == "-p":
			trigger = true
		}
	}
	if gate == "nvtx" && !trigger {
		return refuse(ToolUsage, given("--capture-range=nvtx"), fact.New(causeNoTrigger))
	}
	if n := len(strings.Join(c.Target, " ")); n > maxTarget {
		return refuse(ToolUsage, fact.New(argumentBytes, fact.Count("n", n)), fact.New(causeLongCommand))
	}
	return nil
}

// shortOptions are the one-letter names of options whose values nsys checks.
var shortOptions = map[string]string{
	"-b": "backtrace", "-c": "capture-range", "-d": "duration", "-e": "env-var", "-f": "force-overwrite", "-n": "inherit-environment",
	"-o": "output", "-p": "nvtx-capture", "-s": "sample", "-t": "trace", "-w": "show-output", "-x": "stop-on-exit", "-y": "delay",
}

// options names the options of the command line, without dashes and values; nil
// where they are not on it.
func (c *Capture) options() []string {
	if c.Behind {
		return nil
	}
	names := []string{}
	for _, arg := range c.optionArgs() {
		key, _, _ := strings.Cut(arg, "=")
		if long, ok := strings.CutPrefix(key, "--"); ok {
			names = append(names, long)
		} else if len(key) >= 2 && shortOptions[key[:2]] != "" {
			names = append(names, shortOptions[key[:2]])
		}
	}
	return names
}

// optionArgs are the arguments before the workload.
func (c *Capture) optionArgs() []string {
	args := c.Command.Args
	if c.Behind {
		return nil
	}
	n := len(args) - len(c.Target)
	if n < 0 || !slices.Equal(args[n:], c.Target) {
		return args
	}
	return args[:n]
}

// injections are the variables by which a profiler enters a program.
var injections = []string{"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID", "NV_NSIGHT_INJECTION_TRANSPORT"}

func (c *Capture) checkNesting() *Outcome {
	for _, kv := range c.Command.Env {
		name, value, _ := strings.Cut(kv, "=")
		for _, in := range injections {
			if name == in && value != "" {
				return refuse(ProfilerConflict, given(kv), fact.New(causeNested, fact.Name("variable", name)))
			}
		}
	}
	if len(c.Target) > 0 {
		if base := filepath.Base(c.Target[0]); base == "nsys" || base == "ncu" {
			return refuse(ProfilerConflict, given(c.Target[0]), fact.New(causeIsProfiler, fact.Name("tool", base)))
		}
	}
	return nil
}

// checkTarget looks at the workload as execve would: nsys blames the script
// where its interpreter is missing.
func (c *Capture) checkTarget() *Outcome {
	if len(c.Target) == 0 {
		return nil
	}
	path, err := c.program()
	if err != nil {
		cause := fact.New(causeNotInPath)
		if info, err := os.Stat(filepath.Join(c.Command.Dir, path)); err == nil && !info.IsDir() {
			cause = ofFile(causeNotInPathHere, path)
		}
		return refuse(WorkloadMissing, fact.New(notInPath, fact.Name("program", path)), cause)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case info.IsDir():
		err = syscall.EISDIR
	case !info.Mode().IsRegular(): // to look into a pipe would wait for its writer
		err = syscall.EACCES
	}
	if err == nil {
		err = mayExecute(path)
	}
	if err == nil {
		return checkInterpreter(path)
	}
	var reason syscall.Errno
	errors.As(err, &reason)
	evidence := fact.New(fileError, fact.File("file", path), errorText(reason))
	switch reason {
	case syscall.ENOENT:
		return refuse(WorkloadMissing, evidence, fact.New(causeNoFile, fact.File("dir", cmp.Or(c.Command.Dir, "."))))
	case syscall.EISDIR:
		return refuse(WorkloadMissing, evidence, fact.New(causeFolder))
	case syscall.EACCES:
		return refuse(WorkloadMissing, evidence, fact.New(causeNotExec))
	}
	return refuse(WorkloadMissing, ErrorFact(err), fact.Fact{})
}

// program is the file that the first word of the workload stands for, for a
// relative path or entry of PATH from the working directory of the workload;
// the word itself with the error where no folder of PATH has it.
func (c *Capture) program() (string, error) {
	path := c.Target[0]
	if !strings.Contains(path, "/") {
		found, err := lookPath(path, c.Command.Dir, c.Command.Env)
		if err != nil {
			return path, err
		}
		path = found
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Command.Dir, path)
	}
	return path, nil
}

func lookPath(name, from string, env []string) (string, error) {
	for _, kv := range env {
		dirs, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(dirs) {
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(from, dir)
			}
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

func checkInterpreter(path string) *Outcome {
	f, err := os.Open(path)
	if err != nil {
		return nil // executable but not readable: execve may still do it
	}
	defer f.Close()
	first, _ := bufio.NewReaderSize(f, 256).Peek(256)
	head := string(first)
	if strings.HasPrefix(head, format.ELFMagic) {
		return nil
	}
	line, ok := strings.CutPrefix(head, "#!")
	if !ok {
		return refuse(WorkloadMissing, fact.New(notAProgram, fact.File("file", path), errorText(syscall.ENOEXEC)), fact.New(causeNoShebang))
	}
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	if _, err := os.Stat(words[0]); err != nil {
		return refuse(WorkloadMissing, fact.New(lostScript, fact.File("file", path), fact.Name("line", tool.Quote("#!"+line))), ofFile(causeInterpreter, path))
	}
	return nil
}

// checkOutput makes the directories, tries to write there and looks at the
// space. nsys finds out only after the run.
func (c *Capture) checkOutput() *Outcome {
	for _, dir := range []string{filepath.Dir(c.Output), c.Logs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return refuse(OutputUnwritable, ErrorFact(err), fact.Fact{})
		}
		if err := TryWrite(dir); err != nil {
			kind := OutputUnwritable
			if errors.Is(err, syscall.ENOSPC) {
				kind = DiskFull
			}
			return refuse(kind, ErrorFact(err), fact.Fact{})
		}
	}
	if info, err := os.Stat(c.want()); err == nil && info.IsDir() {
		return refuse(OutputUnwritable, ofFile(foundFile, c.want()), fact.New(causeOutputDir))
	}
	if free, err := format.FreeSpace(filepath.Dir(c.Output)); err == nil && free < c.MinFree {
		return refuse(DiskFull, shortOf(filepath.Dir(c.Output), free, c.MinFree), fact.New(causeOutputSpace))
	}
	return nil
}

// shortOf says that a file system has too little room, in bytes.
func shortOf(dir string, free, need int64) fact.Fact {
	return fact.New(spaceShort, fact.File("dir", dir), fact.Bytes("free", free), fact.Bytes("need", need))
}

// TryWrite makes and removes a file: rights alone do not tell on a full or read-only disk.
func TryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".deepprof-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close())
}

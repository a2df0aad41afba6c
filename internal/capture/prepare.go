package capture

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deepprof/deepprof/internal/tool"
)

// prepare finds what would make the run fail, before anything is started.
func (c *Capture) prepare() *Outcome {
	for _, check := range []func() *Outcome{
		c.checkArgs, c.checkNesting, c.checkTarget, c.checkOutput,
	} {
		if o := check(); o != nil {
			o.What = string(c.Tool) + " was not started"
			return o
		}
	}
	return nil
}

func refuse(kind Kind, evidence, cause, next string) *Outcome {
	o := &Outcome{}
	o.verdict(kind, nil)
	o.Evidence = tool.Quote(evidence)
	o.Cause, o.Next = or(cause, o.Cause), or(next, o.Next)
	return o
}

// maxTarget is the longest workload command line that nsys stores whole.
const maxTarget = 65000

// checkArgs refuses command lines that are accepted by the profiler and then
// do something else than they say.
func (c *Capture) checkArgs() *Outcome {
	if !c.Tool.profiles() {
		return refuse(ToolUsage, string(c.Tool), "only nsys and ncu make captures", "set Capture.Tool")
	}
	name := filepath.Base(c.want())
	if len(name) > 255 {
		return refuse(OutputUnwritable, name[:40]+"...", "the file name has more than 255 bytes", "choose a shorter name")
	}
	if strings.Contains(name, "%") {
		return refuse(ToolUsage, name, "the profiler replaces % in output names", "keep % out of the name")
	}
	if c.Tool != Nsys {
		return nil
	}
	gate, trigger := "", false
	for i, arg := range c.optionArgs() {
		key, value, _ := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return refuse(ToolUsage, "--", "nsys before 2025 does not understand --", "leave it out")
		case key == "-e" || key == "--env-var":
			if value == "" && i+1 < len(c.Command.Args) {
				value = c.Command.Args[i+1]
			}
			if strings.Contains(value, ",") {
				return refuse(ToolUsage, arg, "nsys splits the values of -e at commas and drops pieces", "set the variables in the environment of nsys")
			}
		case key == "--capture-range" || key == "-c":
			gate = value
		case key == "--nvtx-capture" || key == "-p":
			trigger = true
		}
	}
	if gate == "nvtx" && !trigger {
		return refuse(ToolUsage, "--capture-range=nvtx", "no range is named that opens the gate", "name it with --nvtx-capture")
	}
	if n := len(strings.Join(c.Target, " ")); n > maxTarget {
		return refuse(ToolUsage, fmt.Sprintf("%d bytes", n), "nsys cannot store a workload command line over 64 KiB; 2022.4 hangs on it", "pass arguments by file")
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
				return refuse(ProfilerConflict, kv, "this process already runs under a profiler, and only the inner one would see anything", "start deepprof outside of it, or unset "+name)
			}
		}
	}
	if len(c.Target) > 0 {
		if base := filepath.Base(c.Target[0]); base == "nsys" || base == "ncu" {
			return refuse(ProfilerConflict, c.Target[0], "the workload is itself a profiler", "name the program to profile, without "+base)
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
		next := "check the name, or give the path of the program"
		if info, err := os.Stat(filepath.Join(c.Command.Dir, path)); err == nil && !info.IsDir() {
			next = "write ./" + path + ": a bare name is looked up in PATH alone"
		}
		return refuse(WorkloadMissing, path+": not found in the PATH of the workload", "no such program in PATH", next)
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
	evidence := fmt.Sprintf("%s: %v", path, reason)
	switch reason {
	case syscall.ENOENT:
		return refuse(WorkloadMissing, evidence, "no such file", "check the path; a relative one begins in "+or(c.Command.Dir, "the working directory"))
	case syscall.EISDIR:
		return refuse(WorkloadMissing, evidence, "this is a directory", "name the program in it")
	case syscall.EACCES:
		return refuse(WorkloadMissing, evidence, "the file is not executable", "chmod +x, or put the interpreter before it")
	}
	return refuse(WorkloadMissing, err.Error(), "", "")
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

var elfMagic = "\x7fELF"

func checkInterpreter(path string) *Outcome {
	f, err := os.Open(path)
	if err != nil {
		return nil // executable but not readable: execve may still do it
	}
	defer f.Close()
	first, _ := bufio.NewReaderSize(f, 256).Peek(256)
	head := string(first)
	if strings.HasPrefix(head, elfMagic) {
		return nil
	}
	line, ok := strings.CutPrefix(head, "#!")
	if !ok {
		return refuse(WorkloadMissing, fmt.Sprintf("%s: %v: neither a program nor a script with a #! line", path, syscall.ENOEXEC), "a shell starts a script without a #! line; nsys and ncu cannot", "put the interpreter before it, or a #! line into it")
	}
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	if _, err := os.Stat(words[0]); err != nil {
		return refuse(WorkloadMissing, fmt.Sprintf("%s: its interpreter is not there: #!%s", path, line), "the interpreter of "+path+" does not exist", "correct the #! line or put the interpreter before the script")
	}
	return nil
}

// checkOutput makes the directories, tries to write there and looks at the
// space. nsys finds out only after the run.
func (c *Capture) checkOutput() *Outcome {
	for _, dir := range []string{filepath.Dir(c.Output), c.Logs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return refuse(OutputUnwritable, err.Error(), "", "")
		}
		if err := tryWrite(dir); err != nil {
			kind := OutputUnwritable
			if errors.Is(err, syscall.ENOSPC) {
				kind = DiskFull
			}
			return refuse(kind, err.Error(), "", "")
		}
	}
	if info, err := os.Stat(c.want()); err == nil && info.IsDir() {
		return refuse(OutputUnwritable, c.want(), "a directory stands where the report is to be written", "remove it or choose another output")
	}
	if free, err := freeSpace(filepath.Dir(c.Output)); err == nil && free < c.MinFree {
		return refuse(DiskFull, fmt.Sprintf("%s has %s free, %s are needed", filepath.Dir(c.Output), size(free), size(c.MinFree)), "", "free space, or set another output directory")
	}
	return nil
}

func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".deepprof-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close())
}

func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

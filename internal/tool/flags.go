package tool

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of a command line on Linux. A single argument may hold 128 KiB with
// its terminating zero, whatever the total.
const (
	maxArg         = 128<<10 - 1
	maxCommandLine = 1 << 20 // well under the usual 2 MiB, which the environment shares
)

// A Flags collects the options of a vendor tool in the one form that every
// version takes: --name=value, each name once unless said otherwise. The first
// problem sticks and is returned by Args.
type Flags struct {
	Tool    string // for messages
	Version Version

	args []string
	once map[string]bool // name -> added once and not repeatable
	err  error
}

// Fail records a problem; the first one counts.
func (f *Flags) Fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("build %s arguments: "+format, append([]any{f.Tool}, args...)...)
	}
}

// Word adds something that is not an option.
func (f *Flags) Word(w string) { f.args = append(f.args, w) }

// Set adds --name=value.
func (f *Flags) Set(name, value string) {
	f.mark(name, true)
	f.add("--" + name + "=" + value)
}

// Repeat adds --name=value for each value.
func (f *Flags) Repeat(name string, values []string) {
	for _, v := range values {
		f.mark(name, false)
		f.add("--" + name + "=" + v)
	}
}

// Switch adds --name.
func (f *Flags) Switch(name string) {
	f.mark(name, true)
	f.add("--" + name)
}

func (f *Flags) add(arg string) {
	if strings.ContainsRune(arg, 0) {
		f.Fail("%s: a NUL byte cannot be passed to a program", firstLine(arg))
	}
	if len(arg) > maxArg {
		f.Fail("%s: %d bytes, more than the %d that one argument can carry", firstLine(arg), len(arg), maxArg)
	}
	f.args = append(f.args, arg)
}

func (f *Flags) mark(name string, single bool) {
	if f.once == nil {
		f.once = map[string]bool{}
	}
	if f.once[name] {
		f.Fail("--%s is set twice", name)
	}
	f.once[name] = single
}

// Since refuses an option, or a value of one, that came with a later version.
func (f *Flags) Since(major, minor int, what string) bool {
	if f.Version.AtLeast(major, minor) {
		return true
	}
	if f.Version.IsZero() {
		f.Fail("%s needs %s %d.%d or later, and the version could not be told", what, f.Tool, major, minor)
		return false
	}
	f.Fail("%s needs %s %d.%d or later; this is %s", what, f.Tool, major, minor, f.Version)
	return false
}

// OneOf refuses a value that is none of the allowed ones.
func (f *Flags) OneOf(name, value string, allowed ...string) bool {
	if slices.Contains(allowed, value) {
		return true
	}
	f.Fail("%s: %q is none of %s", name, value, strings.Join(allowed, ", "))
	return false
}

// Extra adds what the user wants passed on. Each must be written --name or
// --name=value, may not repeat an option that is set already, and may not be
// one of reserved: options whose effect the caller depends on, with the reason.
func (f *Flags) Extra(extra []string, reserved map[string]string) {
	for _, arg := range extra {
		body, long := strings.CutPrefix(arg, "--")
		name, _, _ := strings.Cut(body, "=")
		switch {
		case arg == "--":
			f.Fail(`extra argument "--": versions before 2025 reject it; leave it out`)
		case !long || name == "":
			f.Fail("extra argument %q: write it as --name=value", arg)
		case reserved[name] != "":
			f.Fail("extra argument %q: %s", arg, reserved[name])
		case f.once[name]:
			f.Fail("extra argument %q: --%s is already set; change its config key instead", arg, name)
		default:
			_, known := f.once[name]
			f.mark(name, !known)
			f.add(arg)
		}
	}
}

// Target adds the program to profile and its arguments.
func (f *Flags) Target(command []string, limit int) {
	if len(command) == 0 || command[0] == "" {
		f.Fail("no program to profile; give one after --")
		return
	}
	if strings.HasPrefix(command[0], "-") {
		f.Fail("program %q begins with a dash, which %s takes for an option; write ./%s", command[0], f.Tool, command[0])
	}
	size := 0
	for _, a := range command {
		size += len(a) + 1
		f.add(a)
	}
	if limit > 0 && size > limit {
		f.Fail("the command line of the program is %d bytes; %s breaks above %d: pass arguments through a file", size, f.Tool, limit)
	}
}

// Args returns the arguments, or the first problem.
func (f *Flags) Args() ([]string, error) {
	if f.err != nil {
		return nil, f.err
	}
	size := 0
	for _, a := range f.args {
		size += len(a) + 1 + 8 // the pointer to it counts as well
	}
	if size > maxCommandLine {
		f.Fail("the whole command line is %d bytes, more than the %d that is safe", size, maxCommandLine)
		return nil, f.err
	}
	return f.args, nil
}

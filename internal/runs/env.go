package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/user"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/deepprof/deepprof/internal/redact"
)

// envSchemaVersion is the version of env.json that this package writes.
const envSchemaVersion = 1

// Env is env.json: the machine and the software that a run was made with. What
// could not be determined is absent, and Missing says why, by the field's path.
type Env struct {
	Schema      int                      `json:"schema" jsonschema:"version of this file's layout"`
	Collected   time.Time                `json:"collected" jsonschema:"when it was collected, UTC"`
	Host        Host                     `json:"host" jsonschema:"the machine"`
	Driver      *Driver                  `json:"driver,omitempty" jsonschema:"the NVIDIA driver"`
	GPUs        []GPU                    `json:"gpus,omitempty" jsonschema:"GPUs as nvidia-smi lists them"`
	Tools       []ToolInfo               `json:"tools,omitempty" jsonschema:"profilers and other programs that the run uses"`
	Python      *Python                  `json:"python,omitempty" jsonschema:"the workload's interpreter"`
	Git         *Git                     `json:"git,omitempty" jsonschema:"git state of the working directory"`
	Environment map[string]redact.EnvVar `json:"environment,omitempty" jsonschema:"environment variables, secrets removed"`
	Missing     map[string]string        `json:"missing,omitempty" jsonschema:"what could not be determined, by field, and why"`
}

// Host describes the machine. Memory is in bytes.
type Host struct {
	Name         string     `json:"name,omitempty" jsonschema:"host name"`
	User         string     `json:"user,omitempty" jsonschema:"login name"`
	Dir          string     `json:"dir,omitempty" jsonschema:"working directory"`
	OS           string     `json:"os,omitempty" jsonschema:"operating system"`
	Kernel       string     `json:"kernel,omitempty" jsonschema:"kernel release"`
	Arch         string     `json:"arch" jsonschema:"processor architecture"`
	CPU          string     `json:"cpu,omitempty" jsonschema:"processor model"`
	Sockets      int        `json:"sockets,omitempty" jsonschema:"processor sockets"`
	Cores        int        `json:"cores,omitempty" jsonschema:"physical cores"`
	Threads      int        `json:"threads,omitempty" jsonschema:"logical processors"`
	CPULimit     *float64   `json:"cpu_limit,omitempty" jsonschema:"processors that the control group allows; absent without a limit"`
	Memory       int64      `json:"memory_bytes,omitempty" jsonschema:"installed memory"`
	MemoryFree   int64      `json:"memory_available_bytes,omitempty" jsonschema:"memory available when collected"`
	MemoryLimit  *int64     `json:"memory_limit_bytes,omitempty" jsonschema:"memory that the control group allows; absent without a limit"`
	Container    *Container `json:"container,omitempty" jsonschema:"the container that the run was made in; absent when none was found"`
	PerfParanoid *int       `json:"perf_event_paranoid,omitempty" jsonschema:"kernel.perf_event_paranoid"`
}

// Container names what the run was made in, and how that was seen.
type Container struct {
	Kind     string `json:"kind" jsonschema:"docker, podman, kubernetes, apptainer, lxc and so on"`
	Evidence string `json:"evidence" jsonschema:"the variable that was set, or the file that was there, with its line if that names the engine"`
	Image    string `json:"image,omitempty" jsonschema:"image, if the container says"`
}

// ToolInfo is a program that the run uses. The caller finds it.
type ToolInfo struct {
	Name    string `json:"name" jsonschema:"name of the tool"`
	Path    string `json:"path,omitempty" jsonschema:"path of its binary"`
	Version string `json:"version,omitempty" jsonschema:"version; absent when it did not say"`
	Edition string `json:"edition,omitempty" jsonschema:"edition or build"`
	Missing string `json:"missing,omitempty" jsonschema:"why the tool or its version is not known"`
}

// Collector gathers an Env. Every access to the machine goes through a field;
// nil means the real thing, except for Output, without which nothing is
// started and what needs it is missing.
type Collector struct {
	// Output runs a program to its end and returns its standard output. Its
	// error should carry what the program said.
	Output   func(ctx context.Context, path string, args ...string) (stdout []byte, err error)
	ReadFile func(path string) ([]byte, error)
	// NAME=value, as os.Environ has them
	Environ   func() []string
	Hostname  func() (string, error)
	User      func() (string, error)
	Now       func() time.Time
	Dir       string        // working directory, for git; empty: the current one
	NvidiaSMI string        // path; empty: not found
	Git       string        // path; empty: not found
	Python    string        // the workload's interpreter; empty: not found
	Tools     []ToolInfo    // as found by the caller
	Timeout   time.Duration // of each program; 0 takes collectTimeout
}

// collectTimeout bounds each program that is asked; nvidia-smi takes seconds
// when no process keeps the driver loaded.
const collectTimeout = 30 * time.Second

// Collect asks for everything and never fails: what it cannot learn it names in
// Missing.
// It takes as long as the slowest program, Timeout at most, and starts nothing without
// Output. Secrets are removed from the environment before it is stored.
func (c Collector) Collect(ctx context.Context) Env {
	c.fill()
	env := Env{Schema: envSchemaVersion, Collected: c.Now().UTC(), Tools: c.Tools, Missing: map[string]string{}}
	c.host(&env)
	c.describe(ctx, &env)
	env.Environment = map[string]redact.EnvVar{}
	for _, kv := range c.Environ() {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			env.Environment[name] = redact.Variable(name, value)
		}
	}
	for _, t := range c.Tools {
		if t.Missing != "" {
			env.Missing["tools."+t.Name] = t.Missing
		}
	}
	if len(env.Missing) == 0 {
		env.Missing = nil
	}
	return env
}

// describe asks the programs that know the machine, all at once: a run waits for
// the slowest of them only.
func (c *Collector) describe(ctx context.Context, env *Env) {
	asked := []func(context.Context, *Env){c.gpus, c.python, c.git}
	parts := make([]Env, len(asked))
	var all sync.WaitGroup
	for i, ask := range asked {
		parts[i].Missing = map[string]string{}
		all.Go(func() { ask(ctx, &parts[i]) })
	}
	all.Wait()
	env.Driver, env.GPUs, env.Python, env.Git = parts[0].Driver, parts[0].GPUs, parts[1].Python, parts[2].Git
	for _, part := range parts {
		maps.Copy(env.Missing, part.Missing)
	}
}

// fill works on the copy that Collect was called on.
func (c *Collector) fill() {
	if c.ReadFile == nil {
		c.ReadFile = os.ReadFile
	}
	if c.Environ == nil {
		c.Environ = os.Environ
	}
	if c.Hostname == nil {
		c.Hostname = os.Hostname
	}
	if c.User == nil {
		c.User = func() (string, error) { return userName(user.Current()) }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout <= 0 {
		c.Timeout = collectTimeout
	}
	if c.Dir == "" {
		c.Dir, _ = os.Getwd()
	}
}

// userName takes the results of user.Current.
func userName(u *user.User, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

// ask runs a program under the collector's timeout.
func (c *Collector) ask(ctx context.Context, path string, args ...string) (string, error) {
	if c.Output == nil {
		return "", fmt.Errorf("%s was not asked", path)
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	out, err := c.Output(ctx, path, args...)
	if ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("no answer within %s", c.Timeout)
	}
	return string(out), err
}

// missing: field is the path of a JSON key, as in host.kernel or gpus[0].pci.
func (e *Env) missing(field string, why error) {
	if e.Missing == nil {
		e.Missing = map[string]string{}
	}
	e.Missing[field] = why.Error()
}

// host reads /proc and /sys, so most fields are missing outside Linux.
func (c *Collector) host(env *Env) {
	h := &env.Host
	h.Arch = runtime.GOARCH
	text := func(field string, dst *string, f func() (string, error)) {
		v, err := f()
		if err == nil && v == "" {
			err = fmt.Errorf("the system says nothing")
		}
		if err != nil {
			env.missing(field, err)
			return
		}
		*dst = v
	}
	text("host.name", &h.Name, c.Hostname)
	text("host.user", &h.User, c.User)
	text("host.dir", &h.Dir, func() (string, error) { return c.Dir, nil })
	text("host.os", &h.OS, c.osName)
	text("host.kernel", &h.Kernel, func() (string, error) { return c.line("/proc/sys/kernel/osrelease") })
	c.cpu(env)
	c.memory(env)
	h.Container = c.container()
	var paranoid int
	if s, err := c.line("/proc/sys/kernel/perf_event_paranoid"); err != nil {
		env.missing("host.perf_event_paranoid", err)
	} else if _, err := fmt.Sscan(s, &paranoid); err != nil {
		env.missing("host.perf_event_paranoid", fmt.Errorf("parse %q: %v", s, err))
	} else {
		h.PerfParanoid = &paranoid
	}
}

// readEnv reads env.json.
// An env.json of a newer schema is an error.
func (r *Run) readEnv() (Env, error) {
	var env Env
	err := readInto(r.Path(EnvName), json.Unmarshal, &env)
	if err == nil && env.Schema > envSchemaVersion {
		err = fmt.Errorf("read %s: schema %d is newer than this program, which reads up to %d", r.Path(EnvName), env.Schema, envSchemaVersion)
	}
	return env, err
}

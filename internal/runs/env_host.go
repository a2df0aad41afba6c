package runs

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// line reads a file of one line.
func (c *Collector) line(path string) (string, error) {
	b, err := c.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

// osName is the pretty name of the distribution, or its name and version.
func (c *Collector) osName() (string, error) {
	b, err := c.ReadFile("/etc/os-release")
	if err != nil {
		return "", err
	}
	fields := map[string]string{}
	for l := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(l), "="); ok {
			fields[k] = strings.Trim(v, `"'`)
		}
	}
	if v := fields["PRETTY_NAME"]; v != "" {
		return v, nil
	}
	if v := strings.TrimSpace(fields["NAME"] + " " + fields["VERSION"]); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("/etc/os-release names no system")
}

// cpu counts from /proc/cpuinfo: on ARM it names no sockets and cores, which are then
// missing.
func (c *Collector) cpu(env *Env) {
	b, err := c.ReadFile("/proc/cpuinfo")
	if err != nil {
		for _, f := range []string{"cpu", "sockets", "cores", "threads"} {
			env.missing("host."+f, err)
		}
		return
	}
	h := &env.Host
	sockets, cores := map[string]bool{}, map[string]bool{}
	var socket string
	for l := range strings.Lines(string(b)) {
		k, v, ok := strings.Cut(l, ":")
		k, v = strings.TrimSpace(k), strings.TrimSpace(v)
		if !ok || v == "" {
			continue
		}
		switch k {
		case "processor":
			h.Threads++
		case "model name", "Model", "cpu model":
			if h.CPU == "" {
				h.CPU = v
			}
		case "physical id":
			socket = v
			sockets[v] = true
		case "core id":
			cores[socket+"/"+v] = true
		}
	}
	h.Sockets, h.Cores = len(sockets), len(cores)
	for f, absent := range map[string]bool{"cpu": h.CPU == "", "threads": h.Threads == 0, "sockets": h.Sockets == 0, "cores": h.Cores == 0} {
		if absent {
			env.missing("host."+f, errors.New("/proc/cpuinfo does not say"))
		}
	}
	h.CPULimit = c.cpuLimit()
}

// cpuLimit reads the quota of control group v2 or v1; nil without one.
func (c *Collector) cpuLimit() *float64 {
	if s, err := c.line("/sys/fs/cgroup/cpu.max"); err == nil {
		quota, period, _ := strings.Cut(s, " ")
		return quotient(quota, period)
	}
	quota, err := c.line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
	if err != nil {
		return nil
	}
	period, err := c.line("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
	if err != nil {
		return nil
	}
	return quotient(quota, period)
}

// quotient is the number of processors; nil for "max" and for -1, which mean no limit.
func quotient(quota, period string) *float64 {
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 {
		return nil
	}
	return new(q / p)
}

// memory is in bytes; the kernel's kB are 1,024 each.
func (c *Collector) memory(env *Env) {
	b, err := c.ReadFile("/proc/meminfo")
	if err != nil {
		env.missing("host.memory_bytes", err)
		env.missing("host.memory_available_bytes", err)
		return
	}
	h := &env.Host
	sc := bufio.NewScanner(strings.NewReader(string(b)))
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 3 || f[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || n < 0 || n > 1<<50 {
			continue
		}
		switch f[0] {
		case "MemTotal:":
			h.Memory = n << 10
		case "MemAvailable:":
			h.MemoryFree = n << 10
		}
	}
	if h.Memory == 0 {
		env.missing("host.memory_bytes", errors.New("/proc/meminfo does not say"))
	}
	if h.MemoryFree == 0 {
		env.missing("host.memory_available_bytes", errors.New("/proc/meminfo does not say"))
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		s, err := c.line(path)
		if err != nil {
			continue
		}
		// v1 writes "no limit" as a number larger than any memory.
		if n, err := strconv.ParseInt(s, 10, 64); err == nil && n > 0 && n < 1<<60 {
			h.MemoryLimit = &n
		}
		break
	}
}

// container looks for the marks that container engines leave. None of them is
// certain to be there, so nil means "none found".
func (c *Collector) container() *Container {
	vars := map[string]string{}
	for _, kv := range c.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok {
			vars[k] = v
		}
	}
	switch {
	case vars["APPTAINER_CONTAINER"] != "":
		return &Container{"apptainer", "APPTAINER_CONTAINER", vars["APPTAINER_CONTAINER"]}
	case vars["SINGULARITY_CONTAINER"] != "":
		return &Container{"singularity", "SINGULARITY_CONTAINER", vars["SINGULARITY_CONTAINER"]}
	case vars["KUBERNETES_SERVICE_HOST"] != "":
		return &Container{Kind: "kubernetes", Evidence: "KUBERNETES_SERVICE_HOST"}
	}
	if b, err := c.ReadFile("/run/.containerenv"); err == nil {
		return &Container{"podman", "/run/.containerenv", containerImage(string(b))}
	}
	if _, err := c.ReadFile("/.dockerenv"); err == nil {
		return &Container{Kind: "docker", Evidence: "/.dockerenv"}
	}
	if k := vars["container"]; k != "" {
		return &Container{Kind: k, Evidence: "container"}
	}
	b, _ := c.ReadFile("/proc/1/cgroup")
	for l := range strings.Lines(string(b)) {
		for _, k := range []string{"docker", "kubepods", "containerd", "libpod", "lxc"} {
			if strings.Contains(l, "/"+k) {
				return &Container{Kind: strings.Replace(k, "kubepods", "kubernetes", 1), Evidence: "/proc/1/cgroup: " + strings.TrimSpace(l)}
			}
		}
	}
	return nil
}

// containerImage reads the file that podman leaves.
func containerImage(env string) string {
	for l := range strings.Lines(env) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(l), "image="); ok {
			return strings.Trim(v, `"`)
		}
	}
	return ""
}

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// describeMachine says where the numbers come from, without names.
func describeMachine() string {
	return fmt.Sprintf("- machine: %s, %d cores, %s GiB memory, %s/%s, Linux %s, %s\n- load average before: %s\n",
		field("/proc/cpuinfo", "model name"), runtime.NumCPU(), gibibytes(field("/proc/meminfo", "MemTotal")),
		runtime.GOOS, runtime.GOARCH, firstWord("/proc/sys/kernel/osrelease"), runtime.Version(), loadAverage())
}

func describeFile(path string) string {
	if path == "" {
		return "not given"
	}
	info, err := os.Stat(path)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s, %.1f MB", filepath.Base(path), float64(info.Size())/1e6)
}

func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:3], " ")
}

// field finds "name : value" in a file of the kernel.
func field(path, name string) string {
	file, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// gibibytes converts the kernel's "N kB".
func gibibytes(text string) string {
	var kilo float64
	if _, err := fmt.Sscanf(text, "%f kB", &kilo); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", kilo/(1<<20))
}

func firstWord(path string) string {
	data, err := os.ReadFile(path)
	if words := strings.Fields(string(data)); err == nil && len(words) > 0 {
		return words[0]
	}
	return "unknown"
}

func lookPath(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

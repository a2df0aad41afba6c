package tool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorded answers commands by their arguments.
func recorded(answers map[string]string) Runner {
	return func(_ context.Context, c Command) ([]byte, []byte, Exit, error) {
		text, ok := answers[strings.Join(c.Args, " ")]
		if !ok {
			return nil, []byte("no such question"), Exit{Code: 1}, nil
		}
		return []byte(text), nil, Exit{}, nil
	}
}

const ncuHelp = `usage: ncu [options] [program] [program-arguments]

General Options:
  -h [ --help ]                         Print this help message.
  --mode arg (=launch-and-attach)       Select the mode; see --hostname
  --nvtx                                Enable NVTX support.
  -k [ --kernel-name ] arg              Filter the kernel in one of the following ways:
                                          --not-an-option
`

const ncuSets = `---------- ------------------------------------ ------- -----------------
Identifier Sections                             Enabled Estimated Metrics
---------- ------------------------------------ ------- -----------------
basic      LaunchStats, Occupancy, SpeedOfLight yes     213
detailed   ComputeWorkloadAnalysis, MemoryWorkl no      906
           oadAnalysis
`

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "ncu")
	if err := os.WriteFile(bin, []byte("binary"), 0o755); err != nil {
		t.Fatal(err)
	}
	answers := map[string]string{
		"--help":                        ncuHelp,
		"--config-file=off --list-sets": ncuSets,
		"--config-file=off --query-metrics --chips gh100": "Chip gh100\nMetric Name  Metric Type\n-----\ndram__bytes  Counter\n",
	}
	sys := System{Run: recorded(answers), CacheDir: filepath.Join(dir, "cache")}
	ncu := Tool{Name: Ncu, Path: bin, Real: bin, Version: V(2024, 1, 1)}
	c, err := Probe(t.Context(), ncu, sys)
	if err == nil || !strings.Contains(err.Error(), "--list-sections: exit code 1: no such question") {
		t.Errorf("error %v", err)
	}
	if c.SetMetrics["basic"] != 213 || c.SetMetrics["detailed"] != 906 || len(c.SetMetrics) != 2 {
		t.Errorf("metrics of sets: %v", c.SetMetrics)
	}
	for what, got := range map[string]Answer{
		"yes option": c.Option("--kernel-name"), "yes help": c.Option("--help"), "no option": c.Option("--not-an-option"), "no seen": c.Option("--hostname"),
		"yes set": c.Set("detailed"), "no set": c.Set("full"), "could not tell section": c.Section("LaunchStats"),
	} {
		if !strings.HasPrefix(what, got.String()) {
			t.Errorf("%s: %s", what, got)
		}
	}
	for metric, want := range map[string]Answer{"dram__bytes": Yes, "dram__bytes.sum.per_second": Yes, "drum__bytes": No, "launch__grid_size": Unknown} {
		if got, err := c.metric(t.Context(), "gh100", metric); got != want || err != nil {
			t.Errorf("%s: %s %v", metric, got, err)
		}
	}
	if got, err := c.metric(t.Context(), "gh200; rm", "dram__bytes"); got != Unknown || err == nil {
		t.Errorf("%s %v", got, err)
	}
	if got, err := c.metric(t.Context(), "ga100", "dram__bytes"); got != Unknown || err == nil {
		t.Errorf("%s %v", got, err)
	}
	// What was answered is remembered; what failed is asked again.
	sys.Run = recorded(map[string]string{"--config-file=off --list-sections": "Identifier  Display\nLaunchStats  Launch\n"})
	c, err = Probe(t.Context(), ncu, sys)
	if err != nil || c.Section("LaunchStats") != Yes || c.Set("basic") != Yes {
		t.Errorf("%+v %v", c, err)
	}
	sys = System{CacheDir: "off"}
	sys.Run = func(context.Context, Command) ([]byte, []byte, Exit, error) {
		return nil, nil, Exit{}, errors.New("boom")
	}
	if n, err := Probe(t.Context(), ncu, sys); err == nil || n.Option("--nvtx") != Unknown {
		t.Errorf("%+v %v", n, err)
	}
	for _, name := range []string{Nsys, Python} {
		if _, err := Probe(t.Context(), Tool{Name: name}, sys); err == nil {
			t.Errorf("%s is probed", name)
		}
	}
}

func TestRealTools(t *testing.T) {
	folder := os.Getenv("DEEPPROF_NSIGHT")
	if folder == "" {
		t.Skip("DEEPPROF_NSIGHT is not set: needs the real tools of both versions")
	}
	sys := System{CacheDir: t.TempDir()}
	for _, tt := range []struct {
		dist, tool, version, edition string
		yes, no                      []string
	}{
		{"bookworm", Nsys, "2022.4.2", "df9881f", nil, nil},
		{"trixie", Nsys, "2023.4.4", "234433681190v0", nil, nil},
		{"bookworm", Ncu, "2022.3.0", "public-release", []string{"--nvtx", "--kernel-id"}, []string{"--config-file", "--graph-profiling"}},
		{"trixie", Ncu, "2024.1.1", "public-release", []string{"--nvtx", "--config-file", "--graph-profiling"}, []string{"--nvtx-push-pop-scope"}},
	} {
		for range 2 {
			x, err := Find(t.Context(), Spec{Name: tt.tool, Path: filepath.Join(folder, tt.dist, tt.tool), System: sys})
			if err != nil {
				t.Fatal(err)
			}
			if x.Version.String() != tt.version || x.Version.Edition != tt.edition {
				t.Errorf("%v %q", x, x.Version.Edition)
			}
			if tt.tool != Ncu {
				continue
			}
			c, err := Probe(t.Context(), x, sys)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range tt.yes {
				if c.Option(o) != Yes {
					t.Errorf("%s %s: %s: %s", tt.tool, tt.version, o, c.Option(o))
				}
			}
			for _, o := range tt.no {
				if c.Option(o) != No {
					t.Errorf("%s %s: %s: %s", tt.tool, tt.version, o, c.Option(o))
				}
			}
			if c.Section("LaunchStats") != Yes || c.Set("full") != Yes || c.Set("basic") == c.Set("default") {
				t.Errorf("%+v", c)
			}
		}
	}
	x, err := Find(t.Context(), Spec{Name: Ncu, Path: filepath.Join(folder, "trixie", "ncu"), System: sys})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := Probe(t.Context(), x, sys)
	for metric, want := range map[string]Answer{"dram__bytes.sum": Yes, "nosuch__metric.sum": No} {
		if got, err := c.metric(t.Context(), "gh100", metric); got != want || err != nil {
			t.Errorf("%s: %s %v", metric, got, err)
		}
	}
}

func (a Answer) String() string {
	return [...]string{"could not tell", "no", "yes"}[a]
}

// Option tells whether the tool knows an option, given as --name.
func (c *Capabilities) Option(name string) Answer { return has(c.Options, name) }

// Set tells whether ncu knows a section set.
func (c *Capabilities) Set(name string) Answer { return has(c.Sets, name) }

// Section tells whether ncu knows a section.
func (c *Capabilities) Section(name string) Answer { return has(c.Sections, name) }

func has(list []string, name string) Answer {
	switch {
	case list == nil:
		return Unknown
	case slices.Contains(list, name):
		return Yes
	}
	return No
}

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

const nsysHelp = `
	-t, --trace=

	   Possible values are 'cuda', 'nvtx',
	   'osrt', 'python-gil' or 'none'.
	   Default is 'cuda,nvtx,osrt,opengl'. See --sample.

	--nvtx-domain-[include|exclude]=

	(Experimental) --ib-switch-congestion-device=<IB switch GUID>
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
		"profile --help":                nsysHelp,
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
	nsys := Tool{Name: Nsys, Path: bin, Real: filepath.Join(dir, "none"), Version: V(2023, 4, 4)}
	sys = System{Run: recorded(answers), CacheDir: "off"}
	n, err := Probe(t.Context(), nsys, sys)
	if err != nil || n.Trace("python-gil") != Yes || n.Trace("gds") != No || n.Set("x") != Unknown {
		t.Errorf("%+v %v", n, err)
	}
	if want := []string{"--ib-switch-congestion-device", "--nvtx-domain-exclude", "--nvtx-domain-include", "--trace"}; !slices.Equal(n.Options, want) {
		t.Errorf("%q", n.Options)
	}
	sys.Run = func(context.Context, Command) ([]byte, []byte, Exit, error) {
		return nil, nil, Exit{}, errors.New("boom")
	}
	if n, err := Probe(t.Context(), nsys, sys); err == nil || n.Option("--trace") != Unknown {
		t.Errorf("%+v %v", n, err)
	}
	if _, err := Probe(t.Context(), Tool{Name: Python}, sys); err == nil {
		t.Error("python is probed")
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
		{"bookworm", Nsys, "2022.4.2", "df9881f", []string{"--trace", "--nvtx-domain-include"}, []string{"--python-sampling", "--gpu-metrics-devices"}},
		{"trixie", Nsys, "2023.4.4", "234433681190v0", []string{"--trace", "--python-sampling"}, []string{"--gpu-metrics-devices"}},
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
			if tt.tool == Ncu && (c.Section("LaunchStats") != Yes || c.Set("full") != Yes || c.Set("basic") == c.Set("default")) {
				t.Errorf("%+v", c)
			}
			if tt.tool == Nsys && (c.Trace("cuda") != Yes || (c.Trace("python-gil") == Yes) != (tt.dist == "trixie")) {
				t.Errorf("%q", c.Traces)
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

// Trace tells whether nsys can trace an API.
func (c *Capabilities) Trace(name string) Answer { return has(c.Traces, name) }

func has(list []string, name string) Answer {
	switch {
	case list == nil:
		return Unknown
	case slices.Contains(list, name):
		return Yes
	}
	return No
}

package runs

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Driver is the NVIDIA driver. CUDA is the newest CUDA version it supports, not
// the one that a program uses.
type Driver struct {
	Version string `json:"version,omitempty" jsonschema:"driver version"`
	CUDA    string `json:"cuda,omitempty" jsonschema:"newest CUDA version that the driver supports"`
}

// GPU is one device. A value that nvidia-smi does not give is absent.
type GPU struct {
	Index          int      `json:"index" jsonschema:"index as nvidia-smi counts"`
	Name           string   `json:"name" jsonschema:"product name"`
	UUID           string   `json:"uuid,omitempty" jsonschema:"UUID"`
	PCI            string   `json:"pci,omitempty" jsonschema:"PCI bus id"`
	VBIOS          string   `json:"vbios,omitempty" jsonschema:"VBIOS version"`
	ComputeCap     string   `json:"compute_capability,omitempty" jsonschema:"compute capability"`
	MemoryMiB      *float64 `json:"memory_mib,omitempty" jsonschema:"memory in MiB"`
	ClockSM        *float64 `json:"clock_sm_mhz,omitempty" jsonschema:"SM clock now, MHz"`
	ClockMem       *float64 `json:"clock_mem_mhz,omitempty" jsonschema:"memory clock now, MHz"`
	ClockSMMax     *float64 `json:"clock_sm_max_mhz,omitempty" jsonschema:"highest SM clock, MHz"`
	ClockMemMax    *float64 `json:"clock_mem_max_mhz,omitempty" jsonschema:"highest memory clock, MHz"`
	ClockAppSM     *float64 `json:"clock_app_sm_mhz,omitempty" jsonschema:"application clock of the SMs, MHz"`
	ThrottleReason string   `json:"clock_event_reasons,omitempty" jsonschema:"bit mask of what holds the clocks down"`
	PowerDraw      *float64 `json:"power_w,omitempty" jsonschema:"power now, W"`
	PowerLimit     *float64 `json:"power_limit_w,omitempty" jsonschema:"power limit in force, W"`
	PowerMax       *float64 `json:"power_max_w,omitempty" jsonschema:"highest power limit, W"`
	Temperature    *float64 `json:"temperature_c,omitempty" jsonschema:"temperature, degrees Celsius"`
	PState         string   `json:"pstate,omitempty" jsonschema:"performance state"`
	ECC            string   `json:"ecc,omitempty" jsonschema:"ECC mode"`
	MIG            string   `json:"mig,omitempty" jsonschema:"MIG mode"`
	MIGDevices     []string `json:"mig_devices,omitempty" jsonschema:"MIG instances, as nvidia-smi -L lists them"`
	Persistence    string   `json:"persistence,omitempty" jsonschema:"persistence mode"`
	ComputeMode    string   `json:"compute_mode,omitempty" jsonschema:"compute mode"`
}

// gpuField is a column asked for and its place in GPU.
type gpuField struct {
	query string
	json  string // empty: not a field of GPU
	text  func(*GPU) *string
	num   func(*GPU) **float64
}

// gpuFields are asked for together. Older drivers do not know them all; what
// they refuse is dropped and named.
var gpuFields = []gpuField{
	{query: "index"},
	{query: "driver_version"},
	{query: "name", json: "name", text: func(g *GPU) *string { return &g.Name }},
	{query: "uuid", json: "uuid", text: func(g *GPU) *string { return &g.UUID }},
	{query: "pci.bus_id", json: "pci", text: func(g *GPU) *string { return &g.PCI }},
	{query: "vbios_version", json: "vbios", text: func(g *GPU) *string { return &g.VBIOS }},
	{query: "compute_cap", json: "compute_capability", text: func(g *GPU) *string { return &g.ComputeCap }},
	{query: "memory.total", json: "memory_mib", num: func(g *GPU) **float64 { return &g.MemoryMiB }},
	{query: "clocks.sm", json: "clock_sm_mhz", num: func(g *GPU) **float64 { return &g.ClockSM }},
	{query: "clocks.mem", json: "clock_mem_mhz", num: func(g *GPU) **float64 { return &g.ClockMem }},
	{query: "clocks.max.sm", json: "clock_sm_max_mhz", num: func(g *GPU) **float64 { return &g.ClockSMMax }},
	{query: "clocks.max.mem", json: "clock_mem_max_mhz", num: func(g *GPU) **float64 { return &g.ClockMemMax }},
	{query: "clocks.applications.graphics", json: "clock_app_sm_mhz", num: func(g *GPU) **float64 { return &g.ClockAppSM }},
	{query: "clocks_throttle_reasons.active", json: "clock_event_reasons", text: func(g *GPU) *string { return &g.ThrottleReason }},
	{query: "power.draw", json: "power_w", num: func(g *GPU) **float64 { return &g.PowerDraw }},
	{query: "power.limit", json: "power_limit_w", num: func(g *GPU) **float64 { return &g.PowerLimit }},
	{query: "power.max_limit", json: "power_max_w", num: func(g *GPU) **float64 { return &g.PowerMax }},
	{query: "temperature.gpu", json: "temperature_c", num: func(g *GPU) **float64 { return &g.Temperature }},
	{query: "pstate", json: "pstate", text: func(g *GPU) *string { return &g.PState }},
	{query: "ecc.mode.current", json: "ecc", text: func(g *GPU) *string { return &g.ECC }},
	{query: "mig.mode.current", json: "mig", text: func(g *GPU) *string { return &g.MIG }},
	{query: "persistence_mode", json: "persistence", text: func(g *GPU) *string { return &g.Persistence }},
	{query: "compute_mode", json: "compute_mode", text: func(g *GPU) *string { return &g.ComputeMode }},
}

var (
	badField    = regexp.MustCompile(`Field "([^"]+)" is not a valid field to query`)
	cudaVersion = regexp.MustCompile(`CUDA (?:UMD )?Version\s*:\s*([0-9]+(?:\.[0-9]+)*)`)
)

// gpus asks nvidia-smi two or three times: fields, the CUDA version, MIG devices.
func (c *Collector) gpus(ctx context.Context, env *Env) {
	if c.NvidiaSMI == "" {
		env.missing("gpus", errors.New("nvidia-smi was not found"))
		env.missing("driver", errors.New("nvidia-smi was not found"))
		return
	}
	out, refused, err := c.queryGPUs(ctx)
	if err != nil {
		env.missing("gpus", fmt.Errorf("nvidia-smi: %v", err))
		env.missing("driver", fmt.Errorf("nvidia-smi: %v", err))
		return
	}
	if err := parseGPUs(env, out, refused); err != nil {
		env.missing("gpus", fmt.Errorf("nvidia-smi: %v", err))
	}
	if env.Driver == nil {
		env.missing("driver", errors.New("nvidia-smi names no driver version"))
		env.Driver = &Driver{}
	}
	c.cudaVersion(ctx, env)
	c.migDevices(ctx, env)
	if *env.Driver == (Driver{}) {
		env.Driver = nil
	}
}

// queryGPUs asks again without a field that this driver does not know. The
// message stands on standard output; an error may repeat it.
func (c *Collector) queryGPUs(ctx context.Context) (out string, refused []string, err error) {
	for range gpuFields {
		var names []string
		for _, f := range gpuFields {
			if !slices.Contains(refused, f.query) {
				names = append(names, f.query)
			}
		}
		out, err = c.ask(ctx, c.NvidiaSMI, "--query-gpu="+strings.Join(names, ","), "--format=csv,noheader,nounits")
		printed := out
		if err != nil {
			printed += err.Error()
		}
		m := badField.FindStringSubmatch(printed)
		if m == nil || slices.Contains(refused, m[1]) {
			break
		}
		refused = append(refused, m[1])
	}
	return out, refused, err
}

// A field that the driver refused is named as missing for each GPU.
func parseGPUs(env *Env, out string, refused []string) error {
	fields := slices.DeleteFunc(slices.Clone(gpuFields), func(f gpuField) bool { return slices.Contains(refused, f.query) })
	rd := csv.NewReader(strings.NewReader(out))
	rd.TrimLeadingSpace = true
	rd.FieldsPerRecord = len(fields)
	rows, err := rd.ReadAll()
	if err != nil {
		return fmt.Errorf("parse its answer: %w", err)
	}
	if len(rows) == 0 {
		return fmt.Errorf("it lists no GPU")
	}
	for n, row := range rows {
		g := GPU{Index: n}
		for i, f := range fields {
			g.set(env, n, f, strings.TrimSpace(row[i]))
		}
		for _, f := range gpuFields {
			if slices.Contains(refused, f.query) && f.json != "" {
				env.missing(gpuPath(n, f), fmt.Errorf("this nvidia-smi does not know %s", f.query))
			}
		}
		env.GPUs = append(env.GPUs, g)
	}
	return nil
}

func gpuPath(n int, f gpuField) string { return fmt.Sprintf("gpus[%d].%s", n, f.json) }

// set stores one cell; n is the index of the GPU in the answer.
func (g *GPU) set(env *Env, n int, f gpuField, cell string) {
	if why := absentCell(cell); why != nil {
		if f.json != "" {
			env.missing(gpuPath(n, f), why)
		}
		return
	}
	switch {
	case f.query == "index":
		if v, err := strconv.Atoi(cell); err == nil {
			g.Index = v
		}
	case f.query == "driver_version":
		env.Driver = &Driver{Version: cell}
	case f.text != nil:
		*f.text(g) = cell
	default:
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			env.missing(gpuPath(n, f), fmt.Errorf("nvidia-smi says %q, which is not a number", cell))
			return
		}
		*f.num(g) = &v
	}
}

// absentCell recognizes the ways in which nvidia-smi says that it does not know.
func absentCell(cell string) error {
	bare := strings.Trim(cell, "[]")
	switch {
	case cell == "":
		return errors.New("nvidia-smi says nothing")
	case bare == "N/A", bare == "Not Supported", bare == "Not Found", bare == "Requested functionality has been deprecated",
		strings.HasPrefix(bare, "Unknown Error"), strings.HasPrefix(bare, "GPU requires reset"), strings.HasPrefix(bare, "Insufficient Permissions"):
		return fmt.Errorf("nvidia-smi says %s", cell)
	}
	return nil
}

// cudaVersion reads the heading of the plain table, the one place that every
// driver prints it.
func (c *Collector) cudaVersion(ctx context.Context, env *Env) {
	out, err := c.ask(ctx, c.NvidiaSMI)
	if err != nil {
		env.missing("driver.cuda", fmt.Errorf("nvidia-smi: %v", err))
		return
	}
	m := cudaVersion.FindStringSubmatch(out)
	if m == nil {
		env.missing("driver.cuda", errors.New("nvidia-smi names no CUDA version"))
		return
	}
	env.Driver.CUDA = m[1]
}

var (
	listedGPU = regexp.MustCompile(`^GPU (\d+):`)
	listedMIG = regexp.MustCompile(`^\s+(MIG .*)$`)
)

// migDevices asks only where a GPU is in MIG mode.
func (c *Collector) migDevices(ctx context.Context, env *Env) {
	if !slices.ContainsFunc(env.GPUs, func(g GPU) bool { return g.MIG == "Enabled" }) {
		return
	}
	out, err := c.ask(ctx, c.NvidiaSMI, "-L")
	if err != nil {
		env.missing("gpus.mig_devices", fmt.Errorf("nvidia-smi -L: %v", err))
		return
	}
	at := -1
	for l := range strings.Lines(out) {
		l = strings.TrimRight(l, "\r\n")
		if m := listedGPU.FindStringSubmatch(l); m != nil {
			index, _ := strconv.Atoi(m[1])
			at = slices.IndexFunc(env.GPUs, func(g GPU) bool { return g.Index == index })
		} else if m := listedMIG.FindStringSubmatch(l); m != nil && at >= 0 {
			env.GPUs[at].MIGDevices = append(env.GPUs[at].MIGDevices, m[1])
		}
	}
}

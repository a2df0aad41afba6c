package runs

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"reflect"
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

// GPU is one device. A value that nvidia-smi does not give is absent. The smi tag is
// the column that nvidia-smi is asked for; fields are text or numbers.
type GPU struct {
	Index          int      `json:"index" jsonschema:"index as nvidia-smi counts"`
	Name           string   `json:"name" jsonschema:"product name" smi:"name"`
	UUID           string   `json:"uuid,omitempty" jsonschema:"UUID" smi:"uuid"`
	PCI            string   `json:"pci,omitempty" jsonschema:"PCI bus id" smi:"pci.bus_id"`
	VBIOS          string   `json:"vbios,omitempty" jsonschema:"VBIOS version" smi:"vbios_version"`
	ComputeCap     string   `json:"compute_capability,omitempty" jsonschema:"compute capability" smi:"compute_cap"`
	MemoryMiB      *float64 `json:"memory_mib,omitempty" jsonschema:"memory in MiB" smi:"memory.total"`
	ClockSM        *float64 `json:"clock_sm_mhz,omitempty" jsonschema:"SM clock now, MHz" smi:"clocks.sm"`
	ClockMem       *float64 `json:"clock_mem_mhz,omitempty" jsonschema:"memory clock now, MHz" smi:"clocks.mem"`
	ClockSMMax     *float64 `json:"clock_sm_max_mhz,omitempty" jsonschema:"highest SM clock, MHz" smi:"clocks.max.sm"`
	ClockMemMax    *float64 `json:"clock_mem_max_mhz,omitempty" jsonschema:"highest memory clock, MHz" smi:"clocks.max.mem"`
	ClockAppSM     *float64 `json:"clock_app_sm_mhz,omitempty" jsonschema:"application clock of the SMs, MHz" smi:"clocks.applications.graphics"`
	ThrottleReason string   `json:"clock_event_reasons,omitempty" jsonschema:"bit mask of what holds the clocks down" smi:"clocks_throttle_reasons.active"`
	PowerDraw      *float64 `json:"power_w,omitempty" jsonschema:"power now, W" smi:"power.draw"`
	PowerLimit     *float64 `json:"power_limit_w,omitempty" jsonschema:"power limit in force, W" smi:"power.limit"`
	PowerMax       *float64 `json:"power_max_w,omitempty" jsonschema:"highest power limit, W" smi:"power.max_limit"`
	Temperature    *float64 `json:"temperature_c,omitempty" jsonschema:"temperature, degrees Celsius" smi:"temperature.gpu"`
	PState         string   `json:"pstate,omitempty" jsonschema:"performance state" smi:"pstate"`
	ECC            string   `json:"ecc,omitempty" jsonschema:"ECC mode" smi:"ecc.mode.current"`
	MIG            string   `json:"mig,omitempty" jsonschema:"MIG mode" smi:"mig.mode.current"`
	MIGDevices     []string `json:"mig_devices,omitempty" jsonschema:"MIG instances, as nvidia-smi -L lists them"`
	Persistence    string   `json:"persistence,omitempty" jsonschema:"persistence mode" smi:"persistence_mode"`
	ComputeMode    string   `json:"compute_mode,omitempty" jsonschema:"compute mode" smi:"compute_mode"`
}

// gpuField is a column that nvidia-smi is asked for. Older drivers do not know
// them all; what they refuse is dropped and named.
type gpuField struct {
	query string
	json  string // key of the field of GPU; "" if it is none
	index int    // of that field
}

// gpuFields are asked for together: the index of the GPU, the driver, and every
// field of GPU with an smi tag.
var gpuFields = func() []gpuField {
	list := []gpuField{{query: "index"}, {query: "driver_version"}}
	for i, f := range reflect.VisibleFields(reflect.TypeFor[GPU]()) {
		if query := f.Tag.Get("smi"); query != "" {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			list = append(list, gpuField{query, key, i})
		}
	}
	return list
}()

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

// gpuPath is the key of Env.Missing for a field of the n-th GPU.
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
	default:
		field := reflect.ValueOf(g).Elem().Field(f.index)
		if field.Kind() == reflect.String {
			field.SetString(cell)
			return
		}
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			env.missing(gpuPath(n, f), fmt.Errorf("nvidia-smi says %q, which is not a number", cell))
			return
		}
		field.Set(reflect.ValueOf(&v))
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

// migDevices asks only if a GPU is in MIG mode.
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

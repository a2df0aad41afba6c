package workload

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// Operators is the table of torch.profiler.
type Operators struct {
	Schema     int           `json:"schema"`
	Activities []string      `json:"activities"`
	ByShape    bool          `json:"group_by_input_shape"`
	Prompt     int64         `json:"prompt_tokens"` // of the pass, in each sequence
	New        int64         `json:"new_tokens"`
	Operators  []Operator    `json:"operators"`
	Unlaunched *Unlaunched   `json:"unlaunched,omitempty"`
	Notes      []fact.Stored `json:"notes,omitempty"`
}

// Operator is one row: an operator, or one with shapes. Times are in
// microseconds over all calls.
type Operator struct {
	Name          string   `json:"name"`
	Kind          string   `json:"kind"`             // operator, kernel, runtime or range
	Shapes        any      `json:"shapes,omitempty"` // where they were recorded
	Calls         int64    `json:"calls"`
	CPUSelfUS     float64  `json:"cpu_self_us"`
	CPUTotalUS    float64  `json:"cpu_total_us"`
	DeviceSelfUS  float64  `json:"device_self_us"`
	DeviceTotalUS float64  `json:"device_total_us"`
	CPUMeanUS     *float64 `json:"cpu_mean_us,omitempty"`
	DeviceMeanUS  *float64 `json:"device_mean_us,omitempty"`
	CPUBytes      *int64   `json:"cpu_memory_bytes,omitempty"` // where memory was recorded
	DeviceBytes   *int64   `json:"device_memory_bytes,omitempty"`
	Stack         []string `json:"stack,omitempty"`
	// Kernels are what it launched and what the operators that it calls did, by
	// time: nil where the recording has no links, empty where it ran none.
	// KernelsMore sums those that are not listed.
	Kernels     []OperatorKernel `json:"kernels"`
	KernelsMore *KernelSum       `json:"kernels_more,omitempty"`
	// Modules are the places of the modules that called it, those that took most
	// device time first; absent where the recording does not tell.
	Modules []OperatorModule `json:"modules,omitempty"`
}

// OperatorModule is the calls of an operator from the modules at one place.
type OperatorModule struct {
	Name  string  `json:"name"` // layers.*.mlp.down_proj
	Calls int64   `json:"calls"`
	US    float64 `json:"us"` // of the kernels that it launched, and the operators that it calls
}

// OperatorKernel is the work of one kernel, copy or fill for an operator.
type OperatorKernel struct {
	Name  string  `json:"name"` // as torch spells it
	Calls int64   `json:"calls"`
	US    float64 `json:"us"`
	Own   bool    `json:"own"`          // launched by the operator itself
	By    string  `json:"by,omitempty"` // the operator that launched most of it, where that is another
}

// KernelSum sums kernels.
type KernelSum struct {
	Kernels int64   `json:"kernels"`
	Calls   int64   `json:"calls"`
	US      float64 `json:"us"`
}

// Unlaunched is the work on the device that no operator launched.
type Unlaunched struct {
	Calls         int64       `json:"calls"`
	US            float64     `json:"us"`
	GraphLaunches int64       `json:"graph_launches"` // of CUDA graphs, whose kernels have no operator
	Note          fact.Stored `json:"note"`           // the one of Notes that says so
}

// maxLinks bounds the kernels of a row; a session writes 8.
const maxLinks = 64

// ReadOperators reads and checks the operators.json of a folder. Links that
// cannot be are left out and counted in a note.
func ReadOperators(dir string) (*Operators, error) {
	o := &Operators{}
	if err := read(dir, OperatorsName, o, &o.Schema); err != nil {
		return nil, err
	}
	lost := 0
	for i := range o.Operators {
		op := &o.Operators[i]
		if op.Name == "" || op.Calls < 0 {
			return nil, fmt.Errorf("read %s: operators[%d] is %q with %d calls", filepath.Join(dir, OperatorsName), i, op.Name, op.Calls)
		}
		lost += op.checkLinks()
	}
	if u := o.Unlaunched; u != nil && (u.Calls < 0 || u.US < 0) {
		o.Unlaunched = nil
	}
	if lost > 0 {
		o.Notes = append(o.Notes, fact.Stored{Fact: fact.New(linksLost, fact.Count("n", lost))})
	}
	return o, nil
}

// checkLinks keeps the links that can be, and returns how many cannot.
func (o *Operator) checkLinks() (lost int) {
	if o.Kernels != nil {
		all := len(o.Kernels)
		o.Kernels = slices.DeleteFunc(o.Kernels, func(k OperatorKernel) bool { return k.Name == "" || k.Calls < 0 || k.US < 0 })
		o.Kernels = o.Kernels[:min(len(o.Kernels), maxLinks)]
		lost = all - len(o.Kernels)
	}
	if m := o.KernelsMore; m != nil && (m.Kernels < 0 || m.Calls < 0 || m.US < 0) {
		o.KernelsMore = nil
		lost++
	}
	return lost
}

package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// Metrics is what a session measured, as far as anything here reads it: metrics.json
// has more.
type Metrics struct {
	Schema   int           `json:"schema"`
	Kind     string        `json:"kind"`
	Complete bool          `json:"complete"` // false: the session did not reach its end
	Model    ModelFacts    `json:"model"`
	Software Software      `json:"software"`
	Plan     SessionPlan   `json:"plan"`
	Samples  []SampleTime  `json:"samples"`
	Summary  Summary       `json:"summary"`
	Notes    []fact.Stored `json:"notes,omitempty"`
}

// ModelFacts is the model that ran.
type ModelFacts struct {
	Name         string `json:"name"`
	Family       string `json:"family"`
	Parameters   int64  `json:"parameters"`
	WeightsBytes int64  `json:"weights_bytes"`
	Layers       int    `json:"layers"`
	DType        string `json:"dtype"`
	Attention    string `json:"attention"`
	KVCache      string `json:"kv_cache"`
	Compile      bool   `json:"compile"`
	CUDAGraphs   bool   `json:"cuda_graphs"`
}

// Software is what the session ran on; "" for what is not there.
type Software struct {
	Python       string `json:"python"`
	Torch        string `json:"torch"`
	CUDA         string `json:"cuda"`
	Transformers string `json:"transformers"`
	CUDNN        string `json:"cudnn"`
	GPU          string `json:"gpu"`
}

// SessionPlan is what was asked for.
type SessionPlan struct {
	BatchSize    int `json:"batch_size"`
	PromptLength int `json:"prompt_length"`
	MaxNewTokens int `json:"max_new_tokens"`
	Epochs       int `json:"epochs"`
	Samples      int `json:"samples"`
	Repeats      int `json:"repeats"`
	Warmup       int `json:"warmup"`
}

// SampleTime is one pass over one sample. Times that were not taken are nil.
// TokensIn and TokensOut are of the whole batch, PromptTokens and NewTokens of
// one sequence.
type SampleTime struct {
	Input        string    `json:"input"`
	TokensIn     int64     `json:"tokens_in"`
	TokensOut    int64     `json:"tokens_out"`
	PromptTokens int64     `json:"prompt_tokens"`
	NewTokens    int64     `json:"new_tokens"`
	PrefillMS    *float64  `json:"prefill_ms"`
	DecodeMS     *float64  `json:"decode_ms"`
	TTFTMS       *float64  `json:"ttft_ms"`
	TokenMS      []float64 `json:"token_ms"`
	TokensPerS   *float64  `json:"tokens_per_s"` // of decode
	ForwardMS    *float64  `json:"forward_ms"`   // of a model without tokens
	ImagesPerS   *float64  `json:"images_per_s"`
	// why the decode range never opened
	NoDecode    fact.Stored        `json:"no_decode,omitzero"`
	SubstagesMS map[string]float64 `json:"substages_ms"`
	StagesMS    map[string]float64 `json:"stages_ms"`
}

// Summary holds the distribution of each measure over all samples and repeats.
type Summary struct {
	Measures  map[string]Distribution // by the names of SampleTime: prefill_ms, token_ms, ...
	Substages map[string]Distribution // in milliseconds, by the label of the hook
	Stages    map[string]Distribution // in milliseconds, of a model without tokens
}

// UnmarshalJSON reads measures and groups of them side by side.
func (s *Summary) UnmarshalJSON(text []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	*s = Summary{Measures: map[string]Distribution{}}
	for name, part := range raw {
		var err error
		switch name {
		case "substages_ms":
			err = json.Unmarshal(part, &s.Substages)
		case "stages_ms":
			err = json.Unmarshal(part, &s.Stages)
		default:
			var d Distribution
			err = json.Unmarshal(part, &d)
			s.Measures[name] = d
		}
		if err != nil {
			return fmt.Errorf("summary.%s: %w", name, err)
		}
	}
	return nil
}

// Distribution sums up a measure. What cannot be told is nil.
type Distribution struct {
	N    int      `json:"n"`
	Mean *float64 `json:"mean"`
	Std  *float64 `json:"std"`
	Min  *float64 `json:"min"`
	P50  *float64 `json:"p50"`
	P90  *float64 `json:"p90"`
	P99  *float64 `json:"p99"`
	Max  *float64 `json:"max"`
}

// maxFile bounds what is read: a session of a million tokens stays below.
const maxFile = 256 << 20

// ReadMetrics reads and checks the metrics.json of a folder.
func ReadMetrics(dir string) (*Metrics, error) {
	m := &Metrics{}
	if err := read(dir, runs.MetricsName, m, &m.Schema); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, runs.MetricsName), err)
	}
	return m, nil
}

// check refuses values that cannot be: they would poison every number after.
func (m *Metrics) check() error {
	if m.Kind == "" {
		return errors.New("no kind; it was not written by a session")
	}
	for i, s := range m.Samples {
		times := slices.Clone(s.TokenMS)
		for _, p := range []*float64{s.PrefillMS, s.DecodeMS, s.TTFTMS, s.TokensPerS, s.ForwardMS, s.ImagesPerS} {
			if p != nil {
				times = append(times, *p)
			}
		}
		for _, group := range []map[string]float64{s.SubstagesMS, s.StagesMS} {
			for _, v := range group {
				times = append(times, v)
			}
		}
		for _, v := range times {
			if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("samples[%d] holds a time of %v ms", i, v)
			}
		}
		if s.TokensIn < 0 || s.TokensOut < 0 {
			return fmt.Errorf("samples[%d] holds %d tokens in and %d out", i, s.TokensIn, s.TokensOut)
		}
	}
	for _, group := range []map[string]Distribution{m.Summary.Measures, m.Summary.Substages, m.Summary.Stages} {
		for name, d := range group {
			if d.N < 0 {
				return fmt.Errorf("summary.%s is over %d values", name, d.N)
			}
		}
	}
	return nil
}

// read decodes a file of a session and checks its version. Numbers stay exact
// in free mappings.
func read(dir, name string, into any, schema *int) error {
	path := filepath.Join(dir, name)
	text, err := format.ReadFile(path, maxFile)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return decode(text, path, into, schema)
}

// decode keeps numbers as they are written; another schema is an error.
func decode(text []byte, path string, into any, schema *int) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if *schema != Schema {
		return fmt.Errorf("read %s: schema %d, this version reads %d", path, *schema, Schema)
	}
	return nil
}

// Failure is error.json: why a session ended.
type Failure struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
	// zero in files of earlier versions, which have What and Next
	Fact      fact.Fact `json:"fact"`
	What      string    `json:"what"`      // in words
	Next      string    `json:"next"`      // in words
	Traceback []string  `json:"traceback"` // its last lines
}

// cause is why the session ended, whichever version wrote the file. What the
// session quotes is made fit for a terminal.
func (f *Failure) cause() fact.Fact {
	if !f.Fact.IsZero() {
		return f.Fact.Map(tool.Quote)
	}
	params := []fact.Param{fact.ErrorText("text", tool.Quote(f.What))}
	if f.Next != "" {
		params = append(params, fact.ErrorText("next", tool.Quote(f.Next)))
	}
	return fact.New(fact.Text, params...)
}

// ReadFailure reads the error.json of a folder; nil where there is none.
func ReadFailure(dir string) (*Failure, error) {
	f := &Failure{}
	err := read(dir, runs.ErrorName, f, &f.Schema)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return f, nil
}

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
	Name          string  `json:"name"`
	Kind          string  `json:"kind"`             // operator, kernel, runtime or range
	Shapes        any     `json:"shapes,omitempty"` // where they were recorded
	Calls         int64   `json:"calls"`
	CPUSelfUS     float64 `json:"cpu_self_us"`
	CPUTotalUS    float64 `json:"cpu_total_us"`
	DeviceSelfUS  float64 `json:"device_self_us"`
	DeviceTotalUS float64 `json:"device_total_us"`
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
	Own   bool    `json:"own"` // launched by the operator itself
	// the operator that launched most of it, where that is another
	By string `json:"by,omitempty"`
}

// KernelSum sums kernels.
type KernelSum struct {
	Kernels int64   `json:"kernels"`
	Calls   int64   `json:"calls"`
	US      float64 `json:"us"`
}

// Unlaunched is the work on the device that no operator launched.
type Unlaunched struct {
	Calls int64       `json:"calls"`
	US    float64     `json:"us"`
	Note  fact.Stored `json:"note"` // the one of Notes that says so
}

// maxLinks bounds the kernels of a row; a session writes 8.
const maxLinks = 64

// ReadOperators reads and checks the operators.json of a folder. Links that
// cannot be are left out and counted in a note.
func ReadOperators(dir string) (*Operators, error) {
	o := &Operators{}
	if err := read(dir, runs.OperatorsName, o, &o.Schema); err != nil {
		return nil, err
	}
	lost := 0
	for i := range o.Operators {
		op := &o.Operators[i]
		if op.Name == "" || op.Calls < 0 {
			return nil, fmt.Errorf("read %s: operators[%d] is %q with %d calls", filepath.Join(dir, runs.OperatorsName), i, op.Name, op.Calls)
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

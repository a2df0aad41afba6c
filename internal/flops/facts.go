package flops

import (
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// What a count rests on.
const (
	MultiplyAdd     fact.Code = "flops-multiply-add"     // what counts as a FLOP
	CausalPairs     fact.Code = "flops-causal-pairs"     // which pairs of attention count
	LeastBytes      fact.Code = "flops-least-bytes"      // what counts as bytes
	LatentExpanded  fact.Code = "flops-latent-expanded"  // decode expands the whole latent cache
	LatentAbsorbed  fact.Code = "flops-latent-absorbed"  // decode attends to the latent itself
	UniformExperts  fact.Code = "flops-uniform-experts"  // {active} of {experts} without preference
	StateRecurrence fact.Code = "flops-state-recurrence" // FLOPs of a recurrent state
	FieldDefault    fact.Code = "flops-field-default"    // {field} is absent and taken as {value}
	FieldsUnused    fact.Code = "flops-fields-unused"    // {fields} of a known family change nothing that is counted
	ExtraLayers     fact.Code = "flops-extra-layers"     // {layers} for multi-token prediction, not run
	Quantized       fact.Code = "flops-quantized"        // {method}: {quantized} of {weights} are stored at {bits}
	VisionDense     fact.Code = "flops-vision-dense"     // the vision part is taken as not quantized
	TypeTaken       fact.Code = "flops-type-taken"       // no data type was asked for: {type} of {source}
	CacheType       fact.Code = "flops-cache-type"       // the cache is kept in {type}
	StepRanges      fact.Code = "flops-step-ranges"      // a range of decode is one of {steps}, at the mean {context}
	OtherSource     fact.Code = "flops-note"             // {text} of an older version, or of torch
)

// What a count lacks.
const (
	FamilyUnknown       fact.Code = "flops-family-unknown"       // {type} is counted like {as}
	FieldsUnknown       fact.Code = "flops-fields-unknown"       // {fields} of an unknown family
	QuantizationUnknown fact.Code = "flops-quantization-unknown" // {method}: weights are counted in {type}
	ModulesUnknown      fact.Code = "flops-modules-unknown"      // {modules} that the quantization names match nothing
	VisionUnknown       fact.Code = "flops-vision-unknown"       // an encoder of {type} is not counted
	ProjectorUnknown    fact.Code = "flops-projector-unknown"    // the vision part of {type} is not counted
	SamplesDiffer       fact.Code = "flops-samples-differ"       // counted for {input} alone
	ParametersDiffer    fact.Code = "flops-parameters-differ"    // {counted} here, {ran} in the model that ran
	RangesDiffer        fact.Code = "flops-ranges-differ"        // {ranges} of decode fit neither {generations} nor {steps} of each
	StageNotCounted     fact.Code = "flops-stage-not-counted"    // torch has no {stage}
	ModuleNotCounted    fact.Code = "flops-module-not-counted"   // torch has no {module}
)

// assume records what the config does not say, once.
func (m *Model) assume(f fact.Fact) { m.assumptions = once(m.assumptions, f) }

// warn records what a count lacks, once.
func (m *Model) warn(f fact.Fact) { m.warnings = once(m.warnings, f) }

// once appends a fact that is not in the list.
func once(list []fact.Fact, f fact.Fact) []fact.Fact {
	if slices.ContainsFunc(list, f.Equal) {
		return list
	}
	return append(list, f)
}

// standing are the assumptions that every count of a model rests on.
func (m *Model) standing(s Shape) []fact.Fact {
	out := []fact.Fact{fact.New(MultiplyAdd), fact.New(CausalPairs), fact.New(LeastBytes)}
	var latent, state, experts bool
	for _, l := range m.text.layers {
		if l.attention != nil && l.attention.expand != nil && !latent {
			latent = true
			out = append(out, fact.New(map[bool]fact.Code{true: LatentAbsorbed, false: LatentExpanded}[s.Latent == Absorbed]))
		}
		if l.recurrent != nil && l.recurrent.update > 0 && !state {
			state = true
			out = append(out, fact.New(StateRecurrence))
		}
		if l.moe != nil && !experts {
			experts = true
			out = append(out, fact.New(UniformExperts, fact.Count("active", l.moe.active), fact.Count("experts", l.moe.experts)))
		}
	}
	if kind := m.cacheType(s); kind != s.DType {
		out = append(out, fact.New(CacheType, fact.Name("type", kind)))
	}
	return append(out, m.quantization(s)...)
}

// typeTaken states where a data type comes from that nobody asked for.
func (m *Model) typeTaken(dtype string) fact.Fact {
	source := "default"
	if m.dtype != "" {
		source = "config"
	}
	return fact.New(TypeTaken, fact.Name("type", dtype), fact.ID("source", "dtype-source", source))
}

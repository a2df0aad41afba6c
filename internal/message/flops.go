package message

import (
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/flops"
)

// modelWords are what is said of the work of a model that was counted from its config:
// assumptions that every number rests on, and warnings. internal/flops declares the codes.
//
// type is the model_type or a class of its config; field and fields are keys of the config,
// value what stands there; source names the file; as, counted and ran say what a count was
// held against.
var modelWords = map[fact.Code]words{
	flops.MultiplyAdd:     {Text: "A multiplication and an addition are two FLOPs; norms, activations, softmax and rotations are not counted"},
	flops.CausalPairs:     {Text: "Causal attention counts the pairs below the diagonal and within a sliding window, as flash kernels run it; flops_torch counts the whole square, as torch's FlopCounterMode does"},
	flops.LeastBytes:      {Text: "Bytes are weights once a pass, keys and values once a pass, and inputs and outputs of each matrix product; attention scores stay on the chip"},
	flops.LatentExpanded:  {Text: "Latent attention caches the latent and expands the whole context in every pass, as transformers does; for engines that absorb kv_b_proj into the query (vLLM, SGLang) count with --latent absorbed"},
	flops.LatentAbsorbed:  {Text: "Latent attention expands the prompt in prefill; in decode kv_b_proj is absorbed into the query and the result, and attention reads the latent itself"},
	flops.UniformExperts:  {Text: "Each token chooses {active} of {experts} experts without preference; trained routing reaches fewer"},
	flops.StateRecurrence: {Text: "A recurrent state counts one multiplication to decay, and one multiply-add each to update and to read it (the delta rule reads it twice); chunked kernels of prefill do more, and flops_torch has the same number"},
	flops.FieldDefault:    {Text: "{field} is not given: {value}, the default of transformers"},
	flops.FieldsUnused:    {Text: "Fields that were not used: {fields}"},
	flops.ExtraLayers:     {Text: "{layers:layer|layers} for multi-token prediction are not counted: plain decoding does not run them"},
	flops.Quantized:       {Text: "{method}: {share} of the parameters are stored at {bits} bits each, with scales and zero points; the rest is {type}; all weights take {bytes}"},
	flops.VisionDense:     {Text: "The vision part is counted as not quantized"},
	flops.TypeTaken:       {Text: "The data type was not given: {type}, {source}"},
	flops.CacheType:       {Text: "The KV cache is kept in {type}"},
	flops.StepRanges:      {Text: "A range of decode is one step: its work is the mean over {steps:step|steps}, at a context of {context} tokens"},
	flops.OtherSource:     {Text: "{text}"},

	flops.FamilyUnknown: {Text: "model_type {type} is not known: it is counted like {as}, from the fields that are there, and may be wrong",
		Next: "compare with pipeline.static_analysis.torch_flop_counter=true"},
	flops.FieldsUnknown:       {Text: "These fields of the config were not understood, and may change the work: {fields}"},
	flops.QuantizationUnknown: {Text: "The quantization {method} is not known: its weights are counted as if they were not quantized"},
	flops.ModulesUnknown:      {Text: "Modules that the quantization of the config names match nothing that is counted: {modules}"},
	flops.VisionUnknown:       {Text: "The vision encoder (vision_config.model_type {type}) is not known and not counted"},
	flops.ProjectorUnknown:    {Text: "The vision part of model_type {type} is not known and not counted"},
	flops.SamplesDiffer:       {Text: "Samples differ in length; FLOPs are those of the first, {input}"},
	flops.ParametersDiffer: {Text: "{counted:parameter|parameters} were counted from the config, and the model that ran has {ran}: do not trust the FLOPs",
		Next: "compare with pipeline.static_analysis.torch_flop_counter=true"},
	flops.RangesDiffer: {Text: "Decode has {ranges:range|ranges}, which fits neither one for each of {generations:generation|generations} nor one for each of {steps:step|steps}: its work is not known",
		Next: "give the --new that the program ran with"},
	flops.StageNotCounted:  {Text: "torch counted no stage {stage}"},
	flops.ModuleNotCounted: {Text: "torch counted no module {module}"},
}

// modelLabels say where the data type of a model is from.
var modelLabels = map[string]map[string]string{
	"dtype-source": {"config": "as the config names it", "default": "the usual one"},
}

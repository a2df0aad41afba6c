package flops

import (
	"maps"
	"regexp"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
)

// harmless matches fields that change no matrix product and no byte that is
// counted: names of tokens, activations, scales, losses, dropout, positions, and
// what concerns loading, training and sampling.
var harmless = regexp.MustCompile(`^(` +
	`_.*|architectures|auto_map|transformers_version|(torch_)?dtype|model_type|name_or_path|id2label|label2id|task_specific_params|tokenizer_class|language|prefix|` +
	`.*_token_(id|ids|index)|.*_token|.*drop.*|.*(eps|epsilon)|.*(init|std|initializer).*|.*coef.*|.*loss.*|.*_alpha|` +
	`(rope|rotary)_.*|.*rope_(theta|scaling|freq.*|type|interleave.*|parameters|local.*)|.*_theta|original_max_position_embeddings|max_position_embeddings|n_positions|n_ctx|max_seq_len|seq_length|.*model_max_length|` +
	`.*(act|activation|act_fn|activation_function|hidden_act)|.*activation.*|.*softcap.*|.*(scale|scaling|multiplier|factor|temperature|scalar|clip|clamp|limit)|scale_.*|query_pre_attn_scalar|` +
	`use_cache|output_.*|return_dict|pruned_heads|is_(decoder|encoder_decoder)|gradient_checkpointing|pretraining_tp|ep_size|tp_.*|.*_plan|` +
	`summary_.*|reorder_and_upcast_attn|upcast.*|attn_implementation|attention_(dropout|softmax.*|probs.*)|attn_(temperature.*|logit.*|scale)|mamba_(chunk_size)|chunk_size|use_mamba_kernels|use_cuda_kernels|use_mambapy|` +
	`norm_topk_prob|norm_type|normalization|norm_after|scoring_func|topk_(method|group)|n_group|num_expert_group|seq_aux|moe_(renormalize|router.*|capacity|use_.*|group.*|jitter.*|normalize.*)|router_.*|use_grouped_topk|jitter.*|input_jitter.*|mscale.*|` +
	`unsloth.*|use_flash.*|use_triton.*|use_dynamic.*|use_logn.*|onnx.*|use_fast.*|bos_.*|eos_.*|apply_residual.*|slow_but_exact|offset_alibi|masked_softmax.*|time_step_(min|max|floor|limit|scale)|residual_in_fp32|rescale.*|norm_before_gate|hidden_dropout|` +
	`cache_implementation|final_logit.*|for_llm.*|logits.*|num_logits.*|keys_to_ignore.*|problem_type|tie_.*|` +
	`mm_.*|image_.*|boi_.*|eoi_.*|vision_.*|video_.*|audio_.*|multimodal_projector.*|projector_.*` +
	`)$`)

// checkFields names the fields of a config that nothing here has read and that
// may change the work.
func (m *Model) checkFields(root, text *object, known bool) {
	if n := text.size("num_nextn_predict_layers", 0); n > 0 {
		m.assume(fact.New(ExtraLayers, fact.Count("layers", n)))
	}
	var names []string
	for _, o := range []*object{root, text} {
		if o == text || text.parent == nil {
			names = append(names, o.unread()...)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return
	}
	f := fact.New(FieldsUnused, fact.Names("fields", fact.KindKey, names))
	if known {
		m.assume(f)
		return
	}
	f.Code = FieldsUnknown
	m.warn(f)
}

// unread are the fields, with their path, that are set to something and were not asked for.
// It is to be called last: what reads a field later would make it known.
func (o *object) unread() []string {
	var out []string
	for _, name := range sortedKeys(o.values) {
		switch v := o.values[name]; {
		case o.read[name] || harmless.MatchString(name) || v == nil || v == false:
		default:
			out = append(out, o.path+name)
		}
	}
	return out
}

// sortedKeys make what is read from a map the same in every run.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// strings is a list of strings; nil where it is absent or null.
func (o *object) strings(key string) []string {
	var out []string
	for _, v := range o.list(key) {
		s, ok := v.(string)
		if !ok {
			o.bad(key, "want a list of strings, got %v in it", v)
			return nil
		}
		out = append(out, s)
	}
	return out
}

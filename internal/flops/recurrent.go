package flops

import "slices"

// recurrent is a layer that keeps a state of fixed size in place of keys and
// values: a state space model, linear attention or a short convolution.
type recurrent struct {
	projections []linear
	channels    int64 // of the causal convolution along the tokens
	kernel      int64
	convBias    bool
	other       int64 // parameters that no matrix product uses
	state       int64 // elements of a sequence, the last inputs of the convolution included
	update      int64 // FLOPs of a token to decay, update and read the state
}

// params are those that no matrix product uses.
func (r *recurrent) params() int64 {
	n := sum(r.other, mul(r.channels, r.kernel))
	if r.convBias {
		n = sum(n, r.channels)
	}
	return n
}

// A recurrentReader reads a recurrent layer; hidden is the width of the model.
type recurrentReader func(o *object, hidden int64) *recurrent

// withConv adds the short convolution in front of the recurrence, over channels each on
// its own.
func (r *recurrent) withConv(channels, kernel int64, bias bool) *recurrent {
	r.channels, r.kernel, r.convBias = channels, kernel, bias
	r.state = sum(r.state, mul(channels, max(0, kernel-1)))
	return r
}

// stateUpdate is for a state of inner x size: a multiplication to decay it, an outer product to add
// the input, a product to read it.
func stateUpdate(inner, size int64) int64 { return mul(5, inner, size) }

// deltaUpdate: the delta rule also reads the state with the key.
func deltaUpdate(heads, key, value int64) int64 { return mul(7, heads, key, value) }

// mamba reads the state space model of Mamba; normed are its versions with norms
// of time step, B and C.
func mamba(normed bool) recurrentReader {
	return func(o *object, hidden int64) *recurrent {
		inner := mul(o.sizeOf(2, "expand", "mamba_expand"), hidden)
		if n := o.size("intermediate_size", 0); n > 0 && !o.has("mamba_expand") {
			inner = n
		}
		size := o.sizeOf(16, "state_size", "mamba_d_state")
		rank := (hidden + 15) / 16
		if key := o.first("time_step_rank", "mamba_dt_rank"); key != "" {
			if s, ok := o.values[key].(string); !ok || s != "auto" {
				rank = o.size(key, rank)
			}
		}
		bias := o.flag("use_bias", o.flag("mamba_proj_bias", false))
		r := &recurrent{
			projections: []linear{
				{name: "mixer.in_proj", in: hidden, out: mul(2, inner), bias: bias},
				{name: "mixer.x_proj", in: inner, out: sum(rank, mul(2, size))},
				{name: "mixer.dt_proj", in: rank, out: inner, bias: true},
				{name: "mixer.out_proj", in: inner, out: hidden, bias: bias},
			},
			other: sum(mul(inner, size), inner), state: mul(inner, size), update: stateUpdate(inner, size),
		}
		if normed {
			r.other = sum(r.other, rank, mul(2, size))
		}
		return r.withConv(inner, o.sizeOf(4, "conv_kernel", "mamba_d_conv"), o.flag("use_conv_bias", o.flag("mamba_conv_bias", true)))
	}
}

// mamba2 reads the state space model of Mamba 2.
func mamba2(o *object, hidden int64) *recurrent {
	inner := mul(o.sizeOf(2, "expand", "mamba_expand"), hidden)
	heads, groups := o.sizeOf(128, "mamba_n_heads", "num_heads"), o.sizeOf(1, "mamba_n_groups", "n_groups")
	size := o.sizeOf(128, "state_size", "mamba_d_state")
	o.note("mamba_d_head")
	bias := o.flag("use_bias", o.flag("mamba_proj_bias", false))
	channels := sum(inner, mul(2, groups, size))
	r := &recurrent{
		projections: []linear{
			{name: "mixer.in_proj", in: hidden, out: sum(inner, channels, heads), bias: bias},
			{name: "mixer.out_proj", in: inner, out: hidden, bias: bias},
		},
		other: sum(mul(3, heads), inner), state: mul(inner, size), update: stateUpdate(inner, size),
	}
	return r.withConv(channels, o.sizeOf(4, "conv_kernel", "mamba_d_conv"), o.flag("use_conv_bias", o.flag("mamba_conv_bias", true)))
}

// deltaNet reads the gated delta rule of Qwen3-Next.
func deltaNet(o *object, hidden int64) *recurrent {
	keys, key := o.need("linear_num_key_heads"), o.need("linear_key_head_dim")
	values, value := o.need("linear_num_value_heads"), o.need("linear_value_head_dim")
	in, out := mul(keys, key), mul(values, value)
	r := &recurrent{
		projections: []linear{
			{name: "linear_attn.in_proj_qkvz", in: hidden, out: mul(2, sum(in, out))},
			{name: "linear_attn.in_proj_ba", in: hidden, out: mul(2, values)},
			{name: "linear_attn.out_proj", in: out, out: hidden},
		},
		other: sum(mul(2, values), value), state: mul(values, key, value), update: deltaUpdate(values, key, value),
	}
	return r.withConv(sum(mul(2, in), out), o.size("linear_conv_kernel_dim", 4), false)
}

// kimiDelta reads the delta rule of Kimi Linear: a decay of its own for every
// channel, out of two thin matrices, as the gate of the output is.
func kimiDelta(o *object, hidden int64) *recurrent {
	heads, dim, kernel := o.size("linear_num_heads", 32), o.size("linear_head_dim", 128), o.size("linear_conv_kernel_dim", 4)
	if c := o.child("linear_attn_config"); c != nil {
		heads, dim, kernel = c.size("num_heads", heads), c.size("head_dim", dim), c.size("short_conv_kernel_size", kernel)
	}
	wide := mul(heads, dim)
	r := &recurrent{other: sum(heads, wide, dim), state: mul(heads, dim, dim), update: deltaUpdate(heads, dim, dim)}
	for _, name := range []string{"q_proj", "k_proj", "v_proj"} {
		r.projections = append(r.projections, linear{name: "self_attn." + name, in: hidden, out: wide})
	}
	r.projections = append(r.projections,
		linear{name: "self_attn.f_a_proj", in: hidden, out: dim}, linear{name: "self_attn.f_b_proj", in: dim, out: wide},
		linear{name: "self_attn.b_proj", in: hidden, out: heads},
		linear{name: "self_attn.g_a_proj", in: hidden, out: dim}, linear{name: "self_attn.g_b_proj", in: dim, out: wide},
		linear{name: "self_attn.o_proj", in: wide, out: hidden})
	return r.withConv(mul(3, wide), kernel, false)
}

// shortConv reads the gated convolution of LFM2.
func shortConv(o *object, hidden int64) *recurrent {
	bias := o.flag("conv_bias", false)
	r := &recurrent{projections: []linear{
		{name: "conv.in_proj", in: hidden, out: mul(3, hidden), bias: bias},
		{name: "conv.out_proj", in: hidden, out: hidden, bias: bias},
	}}
	return r.withConv(hidden, o.size("conv_L_cache", 3), bias)
}

// outsidePeriod: attention in each period-th layer, from an offset on.
func outsidePeriod(o *object, i int64) bool {
	period := max(1, o.size("attn_layer_period", 8))
	return i%period != o.size("attn_layer_offset", 4)
}

// unlisted: attention in the layers that a list names.
func unlisted(key string) func(*object, int64) bool {
	return func(o *object, i int64) bool { return !slices.Contains(o.sizes(key), i) }
}

// linearLayers: layer_types, or attention in every n-th. Kimi's own list counts layers from 1.
func linearLayers(o *object, i int64) bool {
	if types := o.list("layer_types"); int64(len(types)) > i {
		return types[i] == "linear_attention"
	}
	if c := o.child("linear_attn_config"); c != nil && c.has("full_attn_layers") {
		c.note("kda_layers")
		return !slices.Contains(c.sizes("full_attn_layers"), i+1)
	}
	n := max(1, o.size("full_attention_interval", 4))
	return (i+1)%n != 0
}

// pass is one pass of rows new tokens in each of batch sequences.
func (r *recurrent) pass(t *tally, batch, rows int64) {
	tokens := mul(batch, rows)
	t.matrix(Projections, tokens, r.projections...)
	t.needed(Convolution, mul(2, tokens, r.channels, r.kernel))
	t.needed(StateUpdate, mul(tokens, r.update))
	t.active = sum(t.active, mul(2, tokens, r.channels))
	t.weights += float64(r.params()) * t.dense
	t.state = sum(t.state, mul(batch, r.state))
}

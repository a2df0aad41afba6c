package flops

import "slices"

// moe is a layer of experts, of which a router chooses active for each token.
type moe struct {
	router          linear
	experts, active int64
	expert          []linear
	shared          []linear // run by every token
	other           int64    // parameters that no matrix product uses
	// all: transformers runs every expert over every token, and discards what
	// was not chosen.
	all bool
}

// expertKeys are the names of the number of experts; a config has one of them.
var expertKeys = []string{"num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"}

// expertsOf is 0 for a model without experts.
func expertsOf(o *object) int64 { return o.sizeOf(0, expertKeys...) }

// readMoE reads the experts under the names that the families give them.
func readMoE(o *object, f family, hidden int64) *moe {
	experts := expertsOf(o)
	for _, key := range []string{"intermediate_size", "intermediate_size_mlp"} { // of dense layers, where there are any
		o.note(key)
	}
	size := o.sizeOf(0, "moe_intermediate_size", "ffn_hidden_size")
	if size == 0 {
		size = o.need("intermediate_size", "moe_intermediate_size")
	}
	active := o.need("num_experts_per_tok", "moe_topk", "num_experts_per_token", "moe_k", "moe_top_k", "experts_per_token")
	if active < 1 || active > experts {
		o.bad("num_experts_per_tok", "%d of %d experts", active, experts)
		active = 1
	}
	x := &moe{
		router:  linear{name: routerName, in: hidden, out: experts, bias: f.routerBias},
		experts: experts, active: active, expert: mlpOf("mlp.experts.0", hidden, size, f.expertBias, f.plainExperts), all: f.runsAllExperts,
	}
	if f.routerOffset {
		x.other = experts
	}
	n := o.sizeOf(0, "n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
	if f.oneShared {
		n = 1
	}
	if n > 0 {
		x.shared = mlpOf("mlp.shared_experts", hidden, mul(n, size), f.mlpBias.of(o, o.flag("mlp_bias", false)), false)
	}
	if n := o.size("shared_expert_intermediate_size", 0); n > 0 { // Qwen: with a gate of its own
		x.shared = append(mlpOf("mlp.shared_expert", hidden, n, false, false), linear{name: sharedGateName, in: hidden, out: 1})
	}
	return x
}

// sparseLayers tells which layers have experts. The families name the rule in
// fields of their own, of which a config has one.
func sparseLayers(o *object, f family, n int64) func(int64) bool {
	if expertsOf(o) <= 1 || f.noMLP {
		return func(int64) bool { return false }
	}
	if types := o.names("mlp_layer_types", n); types != nil {
		return func(i int64) bool { return types[i] == "sparse" }
	}
	if list := o.sizes("moe_layers"); list != nil {
		return func(i int64) bool { return slices.Contains(list, i) }
	}
	first, freq := o.size("first_k_dense_replace", 0), max(1, o.size("moe_layer_freq", 1))
	step, dense := max(1, o.sizeOf(1, "decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval")), o.sizes("mlp_only_layers")
	period, offset := max(1, o.size("expert_layer_period", 1)), o.size("expert_layer_offset", 0)
	from, to := o.size("moe_layer_start_index", 0), n-1
	if v, ok := integer(o.values["moe_layer_end_index"]); ok && v >= 0 { // -1 is the last
		to = v
	}
	o.note("moe_layer_end_index")
	return func(i int64) bool {
		return i >= first && i%freq == 0 && (i+1)%step == 0 && !slices.Contains(dense, i) && i%period == offset%period && i >= from && i <= to
	}
}

// pass reads the weights of as many experts as tokens without preference are expected
// to reach, and computes those that are chosen.
func (x *moe) pass(t *tally, tokens int64) {
	t.matrix(Router, tokens, x.router)
	t.matrix(Shared, tokens, x.shared...)
	rows, full := mul(tokens, x.active), mul(tokens, x.active)
	if x.all {
		full = mul(tokens, x.experts)
	}
	for _, l := range x.expert {
		per := mul(2, l.in, l.out)
		t.add(Experts, mul(rows, per), mul(full, per))
		t.active = sum(t.active, mul(rows, sum(l.in, l.out)))
		t.weights += touched(x.experts, x.active, tokens) * l.bytes(t.dense)
	}
	t.weights += float64(x.other) * t.dense
}

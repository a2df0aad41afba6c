package flops

// attention is one layer of it. Sizes are elements; a product of none is not counted.
type attention struct {
	kind          string // mha, gqa, mqa, mla
	heads, shared int64  // of queries; of keys and values
	qk, v         int64  // dimensions of a head
	projections   []linear
	norms         int64 // with other parameters that no matrix product uses
	cached        int64 // elements that transformers caches for a token
	// borrowed: keys and values are those of an earlier layer, read again and
	// not cached twice.
	borrowed bool
	// expand makes keys and values out of what is cached, anew in each pass
	// and for the whole context; nil where they are cached themselves.
	expand *linear
	latent latent // dimensions of latent attention
}

// latent is how the heads of latent attention are made up: elements of what is cached, and of
// the rotated and the other part of a key. Zero for other attention.
type latent struct{ rank, rope, nope int64 }

// expanded is the elements of a token's keys and values, as attention is
// handed them.
func (a attention) expanded() int64 {
	if a.expand == nil {
		return a.cached
	}
	return mul(a.heads, sum(a.qk, a.v))
}

// readAttention takes head sizes from head_dim where the config has it, since it need
// not be hidden_size over heads.
func readAttention(o *object, f family, hidden int64) attention {
	heads := max(1, o.need("num_attention_heads", "n_head", "n_heads"))
	bias := o.flag("attention_bias", false)
	if f.latent {
		o.note("num_key_value_heads")
		return readLatent(o, hidden, heads, bias)
	}
	shared := o.sizeOf(heads, "num_key_value_heads", "num_kv_heads", "kv_n_heads")
	if f.keyHeads != nil {
		shared = f.keyHeads(o, heads)
	}
	if shared < 1 || heads%shared != 0 {
		o.bad("num_key_value_heads", "%d does not divide num_attention_heads, %d", shared, heads)
		shared = heads
	}
	dim := o.size("head_dim", 0)
	if dim == 0 {
		dim = hidden / heads
		if hidden%heads != 0 {
			o.bad("hidden_size", "%d is not a multiple of num_attention_heads, %d, and there is no head_dim", hidden, heads)
		}
	}
	a := attention{kind: kindOf(heads, shared), heads: heads, shared: shared, qk: dim, v: dim, cached: mul(2, shared, dim)}
	qkv, out := f.qkvBias.of(o, bias), f.outBias.of(o, bias)
	query := mul(heads, dim)
	if f.gatedQuery {
		query = mul(2, query)
	}
	a.projections = []linear{
		{name: "self_attn.q_proj", in: hidden, out: query, bias: qkv},
		{name: "self_attn.k_proj", in: hidden, out: mul(shared, dim), bias: qkv},
		{name: "self_attn.v_proj", in: hidden, out: mul(shared, dim), bias: qkv},
		{name: "self_attn.o_proj", in: mul(heads, dim), out: hidden, bias: out},
	}
	if f.attentionNorm != nil {
		a.norms = f.attentionNorm(o, heads, shared, dim)
	}
	return a
}

// kindOf names the kind of attention by its heads of keys and values; a single head of each is
// mha.
func kindOf(heads, shared int64) string {
	switch shared {
	case heads:
		return "mha"
	case 1:
		return "mqa"
	}
	return "gqa"
}

// readLatent is DeepSeek's attention: keys and values come out of a latent of
// kv_lora_rank; a part of each key is rotated and shared by all heads.
// transformers caches the latent and the rotated part, and expands all of it in
// every pass.
func readLatent(o *object, hidden, heads int64, bias bool) attention {
	rank, rope := o.need("kv_lora_rank"), o.need("qk_rope_head_dim")
	nope, v := o.need("qk_nope_head_dim"), o.need("v_head_dim")
	qk := sum(nope, rope)
	a := attention{
		kind: "mla", heads: heads, shared: heads, qk: qk, v: v, latent: latent{rank, rope, nope},
		norms: rank, cached: sum(rank, rope), expand: &linear{name: "self_attn.kv_b_proj", in: rank, out: mul(heads, sum(nope, v))},
	}
	if q := o.size("q_lora_rank", 0); q > 0 {
		a.projections = append(a.projections, linear{name: "self_attn.q_a_proj", in: hidden, out: q, bias: bias},
			linear{name: "self_attn.q_b_proj", in: q, out: mul(heads, qk)})
		a.norms = sum(a.norms, q)
	} else {
		a.projections = append(a.projections, linear{name: "self_attn.q_proj", in: hidden, out: mul(heads, qk)})
	}
	a.projections = append(a.projections,
		linear{name: "self_attn.kv_a_proj_with_mqa", in: hidden, out: sum(rank, rope), bias: bias},
		linear{name: "self_attn.o_proj", in: mul(heads, v), out: hidden, bias: bias})
	return a
}

// attend takes keys and values out of the cache, expands them where they are
// cached as a latent, and multiplies queries with them. rows is the number of
// new tokens of a sequence in a pass.
func (t *tally) attend(a *attention, s Shape, rows int64, r reach) {
	batch := s.Batch
	t.kvRead = sum(t.kvRead, mul(batch, r.keys, a.cached))
	t.active = sum(t.active, mul(batch, rows, a.heads, sum(a.qk, a.v)))
	switch l := a.expand; {
	case l != nil && rows == 1 && s.Latent == Absorbed:
		t.absorb(a, batch, r)
		return
	case l != nil:
		per := mul(2, batch, l.in, l.out)
		t.add(Expansion, mul(per, r.keys), mul(per, r.fullKeys))
		t.spread = sum(t.spread, mul(batch, r.keys, sum(l.out, a.expanded())))
		t.weights += l.bytes(t.dense)
	}
	t.pairs(a.heads, a.qk, a.v, mul(batch, r.pairs), mul(batch, r.fullPairs))
}

// absorb is one token of a sequence through latent attention that multiplies
// the halves of kv_b_proj with the query and with the result, and attends to the
// latent itself.
func (t *tally) absorb(a *attention, batch int64, r reach) {
	t.needed(Absorption, mul(2, batch, a.expand.in, a.expand.out))
	t.weights += a.expand.bytes(t.dense)
	t.active = sum(t.active, mul(2, batch, a.heads, a.latent.rank))
	t.pairs(a.heads, sum(a.latent.rank, a.latent.rope), a.latent.rank, mul(batch, r.pairs), mul(batch, r.fullPairs))
}

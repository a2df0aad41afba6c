package flops

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/fact"
)

// Modules that every scheme leaves as they are, but for the head.
const (
	headName       = "lm_head"
	routerName     = "mlp.gate"
	sharedGateName = "mlp.shared_expert_gate"
)

// scheme is how the weights of a matrix are kept: numbers of few bits, and
// scales, zero points and the like for groups of them.
type scheme struct {
	bits     float64  // of a weight
	group    int64    // weights along the input with a scale of their own; 0 for a whole row, -1 for the whole matrix
	block    [2]int64 // rows and columns of a block with a scale of its own, instead of group
	scale    float64  // bits of a scale
	zero     float64  // bits of a zero point beside each scale
	perInput float64  // bits for each input: the order of groups
	tensor   float64  // bits for the whole matrix
	products string   // type of the matrix products; "" for that of the activations
}

// bytes are those of a whole matrix, with its scales and zero points; no padding that a
// format adds.
func (s scheme) bytes(in, out int64) float64 {
	groups := float64(out)
	switch {
	case s.block[0] > 0 && s.block[1] > 0:
		groups = math.Ceil(float64(out)/float64(s.block[0])) * math.Ceil(float64(in)/float64(s.block[1]))
	case s.group > 0:
		groups = math.Ceil(float64(in)/float64(s.group)) * float64(out)
	case s.group < 0:
		groups = 1
	}
	return (float64(in)*float64(out)*s.bits + groups*(s.scale+s.zero) + float64(in)*s.perInput + s.tensor) / 8
}

// quantization is which matrices have which scheme: the first target that means a module,
// unless skip does.
type quantization struct {
	method  string
	targets []target
	skip    []modulePattern // that are not quantized
	head    bool            // the head is quantized as well
	only    string          // quantize modules with this in their name alone; "" for all
}

// A target is the modules that one scheme applies to.
type target struct {
	modules []modulePattern // nil for all
	scheme  scheme
}

// quantizers read quantization_config by its quant_method. They report false where the
// fields are not understood: then nothing counts as quantized, with a warning.
var quantizers = map[string]func(o *object, q *quantization) bool{
	"awq": readAWQ, "gptq": readGPTQ, "fp8": readFP8, "fbgemm_fp8": fixed("", scheme{bits: 8, scale: 32, products: "fp8"}), "mxfp4": fixed("experts", mxfp4), // as in gpt-oss
	"bitsandbytes":       readBnB,
	"compressed-tensors": readCompressed, "torchao": readTorchAO, "modelopt": readModelOpt, "modelopt_fp4": readModelOpt,
}

var (
	mxfp4 = scheme{bits: 4, group: 32, scale: 8}
	nvfp4 = scheme{bits: 4, group: 16, scale: 8, tensor: 64} // and the scales of weights and inputs
)

// fixed is one scheme, whatever the config says, for modules with a name in theirs.
func fixed(only string, s scheme) func(*object, *quantization) bool {
	return func(_ *object, q *quantization) bool {
		q.only = only
		q.all(s)
		return true
	}
}

// readAWQ: scales and zero points for each group of inputs.
func readAWQ(o *object, q *quantization) bool {
	bits := float64(o.sizeOf(4, "bits", "w_bit"))
	q.all(scheme{bits: bits, group: groupOf(o, 128, "group_size", "q_group_size"), scale: 16, zero: bits})
	o.note("zero_point") // zeros are stored either way
	return true
}

// readGPTQ: as AWQ; desc_act stores the order of inputs as well.
func readGPTQ(o *object, q *quantization) bool {
	bits := float64(o.size("bits", 4))
	s := scheme{bits: bits, group: groupOf(o, 128, "group_size"), scale: 16, zero: bits}
	if o.flag("desc_act", false) {
		s.perInput = 32
	}
	q.head = o.flag("lm_head", false)
	q.all(s)
	return true
}

// groupOf is a group size; 0 stands for a whole row, for which configs write -1.
func groupOf(o *object, def int64, keys ...string) int64 {
	for _, key := range keys {
		o.note(key)
		if n, ok := integer(o.values[key]); ok {
			return max(0, n)
		}
	}
	return def
}

// readFP8 is the fp8 of DeepSeek: a scale for each block of weights. Without
// blocks there is one for a matrix.
func readFP8(o *object, q *quantization) bool {
	s := scheme{bits: 8, group: -1, scale: 32, products: "fp8"}
	if block := o.sizes("weight_block_size"); len(block) == 2 {
		s.block = [2]int64{block[0], block[1]}
	}
	if o.text("activation_scheme", "dynamic") == "static" {
		s.tensor = 32
	}
	q.all(s)
	return true
}

// readBnB: 8 bits by row, or 4 bits by blocks, whose scales may be quantized
// themselves.
func readBnB(o *object, q *quantization) bool {
	s := scheme{bits: 8, scale: 32, products: "int8"}
	if o.flag("load_in_4bit", o.flag("_load_in_4bit", false)) {
		s = scheme{bits: 4, group: 64, scale: 32}
		if o.flag("bnb_4bit_use_double_quant", false) {
			s.scale = 8 + 32.0/256
		}
	}
	q.skip = append(q.skip, o.modules("llm_int8_skip_modules")...)
	q.all(s)
	return true
}

// readCompressed reads the groups of compressed-tensors, each with its targets.
func readCompressed(o *object, q *quantization) bool {
	q.head = true // unless ignored
	groups := o.child("config_groups")
	if groups == nil {
		return false
	}
	for _, name := range sortedKeys(groups.values) {
		g := groups.child(name)
		w := g.child("weights")
		if w == nil {
			return false
		}
		s, ok := readWeights(w)
		if !ok {
			return false
		}
		if a := g.child("input_activations"); a != nil {
			s.products = productsOf(a)
		}
		t := target{scheme: s}
		if !slices.Contains(g.strings("targets"), "Linear") { // which are all
			t.modules = g.modules("targets")
		}
		q.targets = append(q.targets, t)
	}
	return true
}

// readWeights is the scheme of a group; false for a strategy that is not known.
func readWeights(w *object) (scheme, bool) {
	s := scheme{bits: float64(w.size("num_bits", 8)), scale: 16}
	strategy := w.text("strategy", "channel")
	switch strategy {
	case "tensor":
		s.group, s.scale = -1, 32
	case "channel":
	case "group", "tensor_group":
		s.group = w.size("group_size", 128)
	case "block":
		block := w.sizes("block_structure")
		if len(block) != 2 {
			return s, false
		}
		s.block = [2]int64{block[0], block[1]}
	default:
		return s, false
	}
	if !w.flag("symmetric", true) {
		s.zero = s.bits
	}
	if s.bits == 4 && w.text("type", "int") == "float" {
		if s = nvfp4; w.size("group_size", 16) == 32 {
			s = mxfp4
		}
	}
	return s, true
}

// productsOf is the type that tensor cores compute in where activations are
// quantized as well.
func productsOf(a *object) string {
	kind := map[string]string{"float": "fp", "int": "int"}[a.text("type", "int")]
	return fmt.Sprintf("%s%d", kind, a.size("num_bits", 8))
}

// aoBits matches the type that a name of torchao begins with, and its bits.
var aoBits = regexp.MustCompile(`^(u?int|float)(\d)`)

// readTorchAO reads the name of a torchao config: Int4WeightOnlyConfig,
// int8_dynamic_activation_int8_weight and the like.
func readTorchAO(o *object, q *quantization) bool {
	name, data := o.text("quant_type_name", ""), o
	switch v := o.values["quant_type"].(type) {
	case string:
		name = v
		data = cmp.Or(o.child("quant_type_kwargs"), o)
	case map[string]any:
		c := o.child("quant_type")
		if d := c.child("default"); d != nil {
			c = d
		}
		name = c.text("_type", "")
		data = cmp.Or(c.child("_data"), c)
	}
	o.note("quant_type")
	flat := strings.ToLower(strings.ReplaceAll(name, "_", ""))
	dynamic := strings.Contains(flat, "dynamicactivation")
	_, weights, found := strings.Cut(flat, "activation")
	if !found {
		weights = flat
	}
	kind := aoBits.FindStringSubmatch(weights)
	switch {
	case kind == nil:
		return false
	case kind[2] == "4":
		q.all(scheme{bits: 4, group: data.size("group_size", 128), scale: 16, zero: 16})
	case kind[2] == "8":
		s := scheme{bits: 8, scale: 32}
		if dynamic {
			s.products = map[string]string{"float": "fp8", "int": "int8", "uint": "int8"}[kind[1]]
		}
		q.all(s)
	default:
		return false
	}
	return true
}

// readModelOpt: configs of TensorRT Model Optimizer, in both of its forms.
func readModelOpt(o *object, q *quantization) bool {
	q.head = true // unless excluded
	if c := o.child("quantization"); c != nil {
		o = c
	}
	q.skip = append(q.skip, o.modules("exclude_modules")...)
	switch algorithm := strings.ToUpper(o.text("quant_algo", "")); {
	case algorithm == "" && o.has("config_groups"):
		return readCompressed(o, q)
	case strings.HasPrefix(algorithm, "FP8"):
		q.all(scheme{bits: 8, group: -1, scale: 32, tensor: 32, products: "fp8"})
	case algorithm == "NVFP4":
		s := nvfp4
		s.products = "fp4"
		q.all(s)
	default:
		return false
	}
	return true
}

// all gives the matrices that no target before it names a scheme.
func (q *quantization) all(s scheme) { q.targets = append(q.targets, target{nil, s}) }

// readQuantization reads how the weights and the cache are kept, and marks every
// matrix that is quantized.
func (m *Model) readQuantization(root, text *object) {
	var o *object
	for _, at := range []*object{root, text} {
		for _, key := range []string{"quantization_config", "compression_config"} {
			if c := at.child(key); c != nil && o == nil {
				o = c
			}
		}
	}
	if o == nil {
		return
	}
	q := &quantization{method: o.text("quant_method", "")}
	if q.method == "" && (o.has("load_in_4bit") || o.has("load_in_8bit")) {
		q.method = "bitsandbytes"
	}
	for _, key := range []string{"modules_to_not_convert", "ignore", "ignored_layers"} {
		q.skip = append(q.skip, o.modules(key)...)
	}
	m.kvType = cacheTypeOf(o)
	read := quantizers[q.method]
	if read == nil || !read(o, q) {
		m.warn(fact.New(QuantizationUnknown, fact.Name("method", cmp.Or(q.method, "?"))))
		return
	}
	m.quant = q
	m.text.quantize(q)
	if unmatched := m.unmatched(q); len(unmatched) > 0 {
		m.warn(fact.New(ModulesUnknown, fact.Names("modules", fact.KindName, unmatched)))
	}
	if len(m.vision) > 0 {
		m.assume(fact.New(VisionDense))
	}
}

// cacheTypeOf is the type of a quantized cache; "" where it is not.
func cacheTypeOf(o *object) string {
	if c := o.child("kv_cache_scheme"); c != nil {
		return productsOf(c)
	}
	for _, at := range []*object{o, o.child("quantization")} {
		if at != nil {
			if kind := strings.ToLower(at.text("kv_cache_quant_algo", "")); bits[kind] > 0 {
				return kind
			}
		}
	}
	return ""
}

// quantize marks matrices by the names that Llama gives to modules; routers stay dense
// in every format.
func (d *decoder) quantize(q *quantization) {
	if q.head && !d.tied {
		d.headStore = q.schemeOf(headName)
	}
	for i := range d.layers {
		prefix := fmt.Sprintf("model.layers.%d.", i)
		d.layers[i].edit(func(x *linear, _, _ int64) {
			if x.name != routerName && x.name != sharedGateName {
				x.store = q.schemeOf(prefix + x.name)
			}
		})
	}
}

// schemeOf is how a module is quantized; nil where it is not.
func (q *quantization) schemeOf(path string) *scheme {
	means := func(m modulePattern) bool { return m.means(path) }
	if !strings.Contains(path, q.only) || slices.ContainsFunc(q.skip, means) {
		return nil
	}
	for i, t := range q.targets {
		if t.modules == nil || slices.ContainsFunc(t.modules, means) {
			return &q.targets[i].scheme
		}
	}
	return nil
}

// A modulePattern is an entry of a config that means one or several modules: a regular
// expression after "re:", a pattern with stars, or whole parts of a path.
type modulePattern struct {
	entry string
	re    *regexp.Regexp // nil where parts of the path decide
}

// modules is a list of such entries; nil where it is absent. A regular expression that does
// not compile is an error of the config.
func (o *object) modules(key string) []modulePattern {
	var out []modulePattern
	for _, entry := range o.strings(key) {
		m := modulePattern{entry: entry}
		expr, ok := strings.CutPrefix(entry, "re:")
		switch {
		case ok:
			expr = "^(?:" + expr + ")"
		case strings.Contains(entry, "*"):
			expr = `(?:^|\.)` + strings.ReplaceAll(regexp.QuoteMeta(entry), `\*`, `.*`) + `(?:\.|$)`
		default:
			expr = ""
		}
		if expr != "" {
			re, err := regexp.Compile(expr)
			if err != nil {
				o.bad(key, "%q is no pattern: %v", entry, err)
				continue
			}
			m.re = re
		}
		out = append(out, m)
	}
	return out
}

// means tells whether a module, by its path from the model on, is one of those.
func (m modulePattern) means(path string) bool {
	if m.re != nil {
		return m.re.MatchString(path)
	}
	return strings.Contains("."+path+".", "."+strings.Trim(m.entry, ".")+".")
}

// elsewhere matches modules that are not counted as quantized whatever a config
// says: embeddings, norms, routers, and what stands before the text.
var elsewhere = regexp.MustCompile(`(?i)embed|norm|router|(^|\.)gate($|\*)|shared_expert_gate|conv1d|vision|visual|projector|merger|audio|rotary|lm_head|mtp|eh_proj|shared_head`)

// unmatched are the entries that name nothing of the model.
func (m *Model) unmatched(q *quantization) []string {
	var out []string
	entries := slices.Clone(q.skip)
	for _, t := range q.targets {
		entries = append(entries, t.modules...)
	}
	for _, x := range entries {
		if !elsewhere.MatchString(x.entry) && !m.text.has(x) && !slices.Contains(out, x.entry) {
			out = append(out, x.entry)
		}
	}
	return out
}

// has tells whether an entry means a matrix of the model. A layer
// behind the last is one for multi-token prediction.
func (d *decoder) has(m modulePattern) bool {
	found := m.means(fmt.Sprintf("model.layers.%d.", len(d.layers)))
	for i := range d.layers {
		prefix := fmt.Sprintf("model.layers.%d.", i)
		d.layers[i].linears(func(x linear, _, _ int64) { found = found || m.means(prefix+x.name) })
	}
	return found
}

// quantization states what of the weights is kept at how many bits.
func (m *Model) quantization(s Shape) []fact.Fact {
	if m.quant == nil {
		return nil
	}
	var quantized, size float64
	add := func(x linear, copies int64) {
		if x.store != nil {
			quantized += float64(copies) * float64(mul(x.in, x.out))
			size += float64(copies) * x.store.bytes(x.in, x.out)
		}
	}
	add(m.text.headLinear(), 1)
	for _, l := range m.text.layers {
		l.linears(func(x linear, copies, _ int64) { add(x, copies) })
	}
	return []fact.Fact{fact.New(Quantized, fact.Name("method", m.quant.method), fact.Num("bits", fact.KindNumber, 8*size/max(1, quantized)),
		fact.Share("share", quantized/float64(m.Parameters())), fact.Bytes("bytes", m.weightBytes(denseBytes(s.DType))), fact.Name("type", s.DType))}
}

// Products is the type of most matrix products, by their FLOPs; "" for that of the
// activations. Of equal ones it is the first by name.
func (m *Model) Products() string {
	if m.quant == nil {
		return ""
	}
	work := map[string]int64{}
	for _, l := range m.text.layers {
		l.linears(func(x linear, _, used int64) {
			kind := ""
			if x.store != nil {
				kind = x.store.products
			}
			work[kind] = sum(work[kind], mul(used, x.in, x.out))
		})
	}
	best := ""
	for _, kind := range sortedKeys(work) {
		if work[kind] > work[best] {
			best = kind
		}
	}
	return best
}

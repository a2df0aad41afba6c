package flops

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func count(t testing.TB, m *Model, s Shape) Report {
	t.Helper()
	r, err := m.Count(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func stage(t testing.TB, r Report, name string) Stage {
	t.Helper()
	s, ok := r.Stage(name)
	if !ok {
		t.Fatalf("no stage %s", name)
	}
	return s
}

func component(t testing.TB, s Stage, name string) Component {
	t.Helper()
	for _, c := range s.Components {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("stage %s has no component %s", s.Name, name)
	return Component{}
}

func equal(t testing.TB, what string, got, want int64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d, want %d (%+d)", what, got, want, got-want)
	}
}

// TestDense derives Llama 3.1 8B by hand: 512 tokens in, 32 out, batch 2.
func TestDense(t *testing.T) {
	const B, S, L, H, I, V, heads, kv, hd = 2, 512, 32, 4096, 14336, 128256, 32, 8, 128
	const perToken = L * 2 * (H*H + 2*H*kv*hd + H*H + 3*H*I)
	const pair = 2 * 2 * heads * hd
	r := count(t, model(t, "Llama-3.1-8B"), Shape{Batch: B, Prompt: S, New: 32})
	p := stage(t, r, "prefill")
	equal(t, "projections and mlp", component(t, p, Projections).FLOPs+component(t, p, MLP).FLOPs, B*S*perToken)
	equal(t, "scores, needed", component(t, p, Scores).FLOPs, B*L*pair*S*(S+1)/2)
	equal(t, "scores, torch", component(t, p, Scores).Torch, B*L*pair*S*S)
	equal(t, "head", component(t, p, Head).FLOPs, B*2*H*V)
	equal(t, "prefill, torch", p.Torch, B*S*perToken+B*L*pair*S*S+B*2*H*V+hd*S)
	d := stage(t, r, "decode")
	contexts := int64(0)
	for i := range int64(31) {
		contexts += S + 1 + i
	}
	equal(t, "passes", d.Passes, 31)
	equal(t, "decode", d.FLOPs, 31*B*(perToken+2*H*V)+B*L*pair*contexts+31*hd)
	equal(t, "decode, torch", d.Torch, d.FLOPs)
	equal(t, "first step", d.Growth[0].FLOPs, B*(perToken+2*H*V)+B*L*pair*(S+1)+hd)
	equal(t, "cache of a token", r.Cache.BytesPerToken, L*2*kv*hd*2)
	equal(t, "cache at the end", r.Cache.EndBytes, B*(S+31)*L*2*kv*hd*2)
	equal(t, "reads of the cache", d.Bytes.CacheRead, B*L*2*kv*hd*2*contexts)
	equal(t, "weights", r.Model.WeightsBytes, 2*8030261248)
	equal(t, "weights of decode", d.Bytes.Weights, 31*2*(8030261248-V*H+B*H))
	all := count(t, model(t, "Llama-3.1-8B"), Shape{Batch: B, Prompt: S, New: 32, AllLogits: true})
	equal(t, "head over all", component(t, stage(t, all, "prefill"), Head).FLOPs, B*S*2*H*V)
}

// TestLatent derives DeepSeek-V2-Lite and V3 by hand.
func TestLatent(t *testing.T) {
	const S = 100
	t.Run("V2-Lite", func(t *testing.T) {
		const H, heads, rank, rope, nope, v = 2048, 16, 512, 64, 128, 128
		const expand = rank * heads * (nope + v)
		const attn = H*heads*(nope+rope) + H*(rank+rope) + expand + heads*v*H
		const dense, router, expert, shared = 3 * H * 10944, H * 64, 3 * H * 1408, 3 * H * 2 * 1408
		r := count(t, model(t, "DeepSeek-V2-Lite"), Shape{Prompt: S, New: 2})
		p := stage(t, r, "prefill")
		equal(t, "projections", component(t, p, Projections).FLOPs, S*2*27*(attn-expand))
		equal(t, "expansion", component(t, p, Expansion).FLOPs, S*2*27*expand)
		equal(t, "expansion in a step", component(t, stage(t, r, "decode"), Expansion).FLOPs, (S+1)*2*27*expand)
		equal(t, "mlp", component(t, p, MLP).FLOPs, S*2*dense)
		equal(t, "router", component(t, p, Router).FLOPs, S*2*26*router)
		equal(t, "experts", component(t, p, Experts).FLOPs, S*2*26*6*expert)
		equal(t, "shared", component(t, p, Shared).FLOPs, S*2*26*shared)
		equal(t, "scores", component(t, p, Scores).Torch, 27*2*heads*(nope+rope+v)*S*S)
		equal(t, "cached", r.Cache.BytesPerToken, 27*(rank+rope)*2)
		equal(t, "expanded", r.Cache.ExpandedBytesPerToken, 27*heads*(nope+rope+v)*2)
		if got := r.Model.ActiveParameters; got != 2*102400*H+27*(attn+512+2*H)+dense+26*(router+6*expert+shared)+H {
			t.Errorf("active parameters %d", got)
		}
	})
	t.Run("V3", func(t *testing.T) {
		const H, heads, q, rank, rope, nope, v = 7168, 128, 1536, 512, 64, 128, 128
		const expand = rank * heads * (nope + v)
		const attn = H*q + q*heads*(nope+rope) + H*(rank+rope) + expand + heads*v*H
		r := count(t, model(t, "DeepSeek-V3"), Shape{Prompt: S})
		p := stage(t, r, "prefill")
		equal(t, "projections", component(t, p, Projections).FLOPs, S*2*61*(attn-expand))
		equal(t, "expansion", component(t, p, Expansion).FLOPs, S*2*61*expand)
		equal(t, "mlp", component(t, p, MLP).FLOPs, S*2*3*3*H*18432)
		equal(t, "experts", component(t, p, Experts).FLOPs, S*2*58*8*3*H*2048)
		if r.Model.ActiveParameters < 37e9 || r.Model.ActiveParameters > 38e9 {
			t.Errorf("active parameters %d, published as 37 billion", r.Model.ActiveParameters)
		}
	})
}

// TestExperts: Mixtral reads two experts of eight for one token, nearly all for
// many; Qwen has a shared expert with a gate.
func TestExperts(t *testing.T) {
	const H, I = 4096, 14336
	m := model(t, "Mixtral-8x7B")
	one := stage(t, count(t, m, Shape{Prompt: 1, New: 2}), "decode")
	all := int64(46702792704)
	const expert = 3 * H * I
	equal(t, "one token", one.Bytes.Weights, 2*(all-32*6*expert-32000*H+H))
	many := stage(t, count(t, m, Shape{Prompt: 512}), "prefill")
	if got, want := float64(many.Bytes.Weights), 2*float64(all); math.Abs(got/want-1) > 0.01 {
		t.Errorf("512 tokens read %.3g of %.3g bytes", got, want)
	}
	p := stage(t, count(t, model(t, "Qwen1.5-MoE-A2.7B"), Shape{Prompt: 10}), "prefill")
	equal(t, "shared expert and its gate", component(t, p, Shared).FLOPs, 10*2*24*(3*2048*5632+2048))
}

// TestWindow: a query sees no more keys than the window, torch counts them all
// in prefill.
func TestWindow(t *testing.T) {
	const S, W, pair = 6000, 2047, 2 * 2 * 32 * 96
	r := count(t, model(t, "Phi-3-mini-4k"), Shape{Prompt: S, New: 3})
	p, d := component(t, stage(t, r, "prefill"), Scores), component(t, stage(t, r, "decode"), Scores)
	needed := int64(0)
	for q := range int64(S) {
		needed += min(q+1, W)
	}
	equal(t, "needed", p.FLOPs, 32*pair*needed)
	equal(t, "torch", p.Torch, 32*pair*S*S)
	equal(t, "decode", d.Torch, 2*32*pair*W)
	equal(t, "cache", r.Cache.EndBytes, 32*2*32*96*2*W)
	g := component(t, stage(t, count(t, model(t, "gemma-2-2b"), Shape{Prompt: 8192}), "prefill"), Scores)
	for flag, window := range map[string]int64{"false": 0, "true": 100} { // Qwen's are off unless asked for
		text := strings.Replace(configs["Qwen3-30B-A3B"], `"tie`, `"use_sliding_window":`+flag+`,"sliding_window":100,"tie`, 1)
		m, err := Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.text.layers[0].span.window; got != window {
			t.Errorf("use_sliding_window %s: window %d", flag, got)
		}
	}
	full, half := int64(8192*8193/2), int64(4096*4097/2+4096*4096)
	equal(t, "every other layer", g.FLOPs, 13*2*2*8*256*(full+half))
}

// TestStaticCache: in decode torch sees the whole cache, while the model needs
// its context; in prefill attention is handed the prompt alone.
func TestStaticCache(t *testing.T) {
	m := model(t, "Llama-3.2-1B")
	r := count(t, m, Shape{Prompt: 100, New: 11, CacheLength: 128})
	p, d := component(t, stage(t, r, "prefill"), Scores), component(t, stage(t, r, "decode"), Scores)
	const pair = 2 * 2 * 32 * 64 * 16
	equal(t, "prefill, torch", p.Torch, pair*100*100)
	equal(t, "prefill, needed", p.FLOPs, pair*100*101/2)
	equal(t, "decode, torch", d.Torch, pair*10*128)
	equal(t, "decode, needed", d.FLOPs, pair*(101+110)*10/2)
	if _, err := m.Count(Shape{Prompt: 100, New: 40, CacheLength: 128}); err == nil {
		t.Error("a cache that is too short was taken")
	}
}

// TestLlava derives the tower of LLaVA 1.5 by hand.
func TestLlava(t *testing.T) {
	const N, T, H, I = 576, 577, 1024, 4096
	m := model(t, "llava-1.5-7b")
	equal(t, "tokens of a picture", m.ImageTokens(), N)
	r := count(t, m, Shape{Prompt: 16, New: 2, Images: 1})
	equal(t, "prompt", r.Shape.Tokens, 16+N)
	clip := stage(t, r, "clip")
	equal(t, "clip", clip.FLOPs, 2*N*3*14*14*H+24*(T*2*(4*H*H+2*H*I)+2*2*T*T*H))
	projector := stage(t, r, "projector")
	equal(t, "projector", projector.FLOPs, N*2*(H*4096+4096*4096))
	p, text := stage(t, r, "prefill"), stage(t, count(t, m, Shape{Prompt: 16 + N, New: 2}), "prefill")
	equal(t, "prefill", p.FLOPs, text.FLOPs+clip.FLOPs+projector.FLOPs)
	equal(t, "decode", stage(t, r, "decode").FLOPs, stage(t, count(t, m, Shape{Prompt: 16 + N, New: 2}), "decode").FLOPs)
}

// TestOCR2 derives the towers of DeepSeek-OCR 2 by hand, at both of its sizes.
func TestOCR2(t *testing.T) {
	m := model(t, "deepseek_ocr2")
	const H, E, EI = 768, 896, 4864
	for _, c := range []struct{ side, edge, windows, queries int64 }{{1024, 64, 25, 256}, {768, 48, 16, 144}} {
		r := count(t, m, Shape{Prompt: 16, New: 2, Images: 1, ImageSize: c.side})
		cells := c.edge * c.edge
		padded := c.windows * 196
		window := padded*2*4*H*H + 2*2*padded*196*H + 2*2*padded*H*14
		global := cells*2*4*H*H + 2*2*cells*cells*H + 2*2*cells*H*c.edge
		mlp := cells * 2 * 2 * H * 4 * H
		convs := cells*2*(H*256+9*256*256) + cells/4*2*9*256*512 + cells/16*2*9*512*896
		equal(t, "sam", stage(t, r, "sam").FLOPs, cells*2*3*16*16*H+8*window+4*global+12*mlp+convs)
		T := 2 * c.queries
		encoder := 24 * (T*2*(2*E*E+2*E*128+3*E*EI) + 2*2*T*T*E)
		equal(t, "clip", stage(t, r, "clip").FLOPs, encoder+64*T)
		equal(t, "projector", stage(t, r, "projector").FLOPs, c.queries*2*E*1280)
		equal(t, "prompt", r.Shape.Tokens, 16+c.queries+1)
		equal(t, "parameters", r.Model.Parameters, m.Parameters())
	}
	sam := int64(3*256*H+H) + 4096*H + 12*(4*H*H+4*H+2*H*4*H+5*H+4*H) + 8*2*27*64 + 4*2*127*64 + H*256 + 9*256*256 + 4*256 + 9*256*512 + 9*512*896
	encoder := int64(24*(2*E*E+2*E*128+E+2*128+3*E*EI+2*E) + E + 400*E)
	text := int64(2*129280*1280+1280) + 12*(4*1280*1280+2*1280) + 3*1280*6848 + 11*(64*1280+64*3*1280*896+3*1280*2*896)
	equal(t, "parameters", m.Parameters(), sam+encoder+E*1280+1280+1280+text)
}

func TestSigLIP(t *testing.T) {
	const H, I, N = 1152, 4304, 729
	m, err := Parse(strings.NewReader(`{"model_type":"llava",
		"text_config":{"model_type":"llama","vocab_size":100,"hidden_size":64,"intermediate_size":128,"num_hidden_layers":1,"num_attention_heads":4},
		"vision_config":{"model_type":"siglip_vision_model","hidden_size":1152,"intermediate_size":4304,"num_hidden_layers":27,"num_attention_heads":16,
			"image_size":384,"patch_size":14}}`))
	if err != nil {
		t.Fatal(err)
	}
	// so400m-patch14-384: 428,225,600 with its pooling head.
	equal(t, "parameters of the tower", m.vision[0].params(), 428225600)
	layers := int64(27 * (N*2*(4*H*H+2*H*I) + 2*2*N*N*H))
	head := int64(2*2*H*H + N*2*2*H*H + 4*N*H + 2*2*H*I)
	r := count(t, m, Shape{Prompt: 1, Images: 1})
	equal(t, "siglip", stage(t, r, "siglip").FLOPs, 2*N*3*14*14*H+layers+head)
}

// TestSums: components add up to stages, steps to decode, parts of bytes to
// their total, for every model.
func TestSums(t *testing.T) {
	for name := range configs {
		m := model(t, name)
		s := Shape{Batch: 3, Prompt: 40, New: 20}
		if m.ImageTokens() > 0 {
			s.Images = 1
		}
		r := count(t, m, s)
		for _, st := range r.Stages {
			var flops, torch int64
			for _, c := range st.Components {
				flops, torch = flops+c.FLOPs, torch+c.Torch
			}
			equal(t, name+" "+st.Name, st.FLOPs, flops)
			equal(t, name+" "+st.Name+", torch", st.Torch, torch)
			if st.FLOPs > st.Torch || st.FLOPs <= 0 || st.Bytes.Total <= 0 {
				t.Errorf("%s %s: %d FLOPs, torch %d, %d bytes", name, st.Name, st.FLOPs, st.Torch, st.Bytes.Total)
			}
			if b := st.Bytes; b.Weights+b.CacheRead+b.CacheWrite+b.Activations != b.Total {
				t.Errorf("%s %s: bytes %+v", name, st.Name, b)
			}
		}
		d := stage(t, r, "decode")
		var flops, torch, bytes int64
		for _, g := range d.Growth {
			flops, torch, bytes = flops+g.FLOPs, torch+g.Torch, bytes+g.Bytes
		}
		equal(t, name+": steps", int64(len(d.Growth)), 19)
		equal(t, name+": sum of steps", flops, d.FLOPs)
		equal(t, name+": sum of steps, torch", torch, d.Torch)
		if math.Abs(float64(bytes-d.Bytes.Total)) > 40 { // experts are expectations, rounded in each step
			t.Errorf("%s: steps move %d bytes, decode %d", name, bytes, d.Bytes.Total)
		}
		if m.activeParameters() > m.Parameters() {
			t.Errorf("%s: more active parameters than there are", name)
		}
	}
}

func TestTriangle(t *testing.T) {
	for n := range int64(12) {
		for first := int64(1); first < 12; first++ {
			for window := range int64(15) {
				want := int64(0)
				for i := range n {
					keys := first + i
					if window > 0 {
						keys = min(keys, window)
					}
					want += keys
				}
				if got := triangle(n, first, window); got != want {
					t.Fatalf("triangle(%d, %d, %d) = %d, want %d", n, first, window, got, want)
				}
			}
		}
	}
}

func TestMilestones(t *testing.T) {
	for _, n := range []int64{1, 2, 32, 33, 1000, 1 << 40} {
		got := milestones(n)
		if got[0] != 0 || got[len(got)-1] != n-1 || len(got) != int(min(n, 32)) {
			t.Errorf("%d steps: %v", n, got)
		}
	}
}

func TestUnknown(t *testing.T) {
	like := strings.Replace(configs["Llama-3.1-8B"], `"llama"`, `"newmodel"`, 1)
	m, err := Parse(strings.NewReader(like))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "counted as Llama", m.Parameters(), 8030261248)
	r := count(t, m, Shape{Prompt: 1})
	if len(r.Warnings) == 0 || !r.Warnings[0].Is(FamilyUnknown) || r.Warnings[0].Text("type") != "newmodel" || r.Warnings[0].Text("as") != "llama" {
		t.Errorf("warnings %+v", r.Warnings)
	}
	tower := `{"model_type":"x","text_config":` + configs["Llama-3.2-1B"] + `,"vision_config":{"model_type":"clip_vision_model","hidden_size":64,"intermediate_size":64,"num_hidden_layers":1,"num_attention_heads":4}}`
	if m, err = Parse(strings.NewReader(tower)); err != nil || m.ImageTokens() != 0 || len(m.warnings) != 1 || !m.warnings[0].Is(ProjectorUnknown) || m.warnings[0].Text("type") != "x" {
		t.Errorf("a tower without its projector: %v, %+v", err, m)
	}
	m, err = Parse(strings.NewReader(`{"model_type":"x","text_config":` + configs["Llama-3.2-1B"] + `,"vision_config":{"model_type":"mystery"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r = count(t, m, Shape{Prompt: 1})
	if len(r.Warnings) != 1 || !r.Warnings[0].Is(VisionUnknown) || r.Warnings[0].Text("type") != "mystery" {
		t.Errorf("warnings %+v", r.Warnings)
	}
	if _, err := m.Count(Shape{Prompt: 1, Images: 1}); err == nil {
		t.Error("images of an unknown encoder were counted")
	}
}

func TestBadConfigs(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:   "not a JSON object",
		`null`: "want a JSON object",
		`{}`:   "no hidden_size, intermediate_size, num_attention_heads, num_hidden_layers, vocab_size; add them",
		`{"model_type":"llama","hidden_size":"big","vocab_size":1,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":1}`:                                                                              "hidden_size: want an integer, got big",
		`{"model_type":"llama","hidden_size":-5,"vocab_size":1,"num_hidden_layers":1,"num_attention_heads":1,"intermediate_size":1}`:                                                                                 "hidden_size: -5 is not between",
		`{"model_type":"llama","hidden_size":10,"vocab_size":1,"num_hidden_layers":1,"num_attention_heads":3,"intermediate_size":1}`:                                                                                 "not a multiple",
		`{"model_type":"llama","hidden_size":12,"vocab_size":1,"num_hidden_layers":1,"num_attention_heads":4,"num_key_value_heads":3,"intermediate_size":1}`:                                                         "does not divide",
		`{"model_type":"llama","hidden_size":12,"vocab_size":1,"num_hidden_layers":99999999,"num_attention_heads":4,"intermediate_size":1}`:                                                                          "num_hidden_layers",
		`{"model_type":"llama","hidden_size":12,"vocab_size":1,"num_hidden_layers":2,"num_attention_heads":4}`:                                                                                                       "no intermediate_size; add it",
		`{"model_type":"mixtral","hidden_size":64,"vocab_size":1,"num_hidden_layers":1,"num_attention_heads":8,"intermediate_size":8,"num_local_experts":4,"num_experts_per_tok":9}`:                                 "9 of 4 experts",
		`{"model_type":"deepseek_ocr2","text_config":{"hidden_size":12,"vocab_size":1,"num_hidden_layers":2,"num_attention_heads":4,"num_experts_per_tok":1,"moe_intermediate_size":4,"mlp_layer_types":["dense"]}}`: "1 entries for 2 layers",
		`{"model_type":"llama","hidden_size":268435456,"vocab_size":268435456,"num_hidden_layers":16384,"num_attention_heads":1,"intermediate_size":268435456}`:                                                      "more than any model has",
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.90s: %v, want %q", text, err, want)
		}
	}
}

func TestBadShapes(t *testing.T) {
	m := model(t, "Llama-3.2-1B")
	for _, s := range []Shape{{}, {Prompt: -1}, {Prompt: 1, DType: "bf17"}, {Prompt: 1 << 50}, {Prompt: 1 << 40, Batch: 1 << 40}, {Prompt: 1, Images: 1}} {
		if _, err := m.Count(s); err == nil {
			t.Errorf("%+v was counted", s)
		}
	}
	equal(t, "fp32", count(t, m, Shape{Prompt: 1, DType: "fp32"}).Model.WeightsBytes, 4*1235814400)
}

func TestCheck(t *testing.T) {
	r := count(t, model(t, "llava-1.5-7b"), Shape{Prompt: 8, New: 3, Images: 1})
	p, d, clip := stage(t, r, "prefill").Torch, stage(t, r, "decode").Torch, stage(t, r, "clip").Torch
	text := func(p, d int64) string {
		b, err := json.Marshal(map[string]any{"schema": 1, "stages": map[string]any{
			"prefill": map[string]any{"flops": p, "by_module": map[string]any{"LlavaForConditionalGeneration.model.vision_tower": clip, "Global": p}},
			"decode":  map[string]any{"flops": d},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	c, err := Check(r, strings.NewReader(text(p+p/200, d)))
	if err != nil || !c.Agree || len(c.Stages) != 3 || len(c.Warnings) != 1 {
		t.Errorf("half a per cent: %+v, %v", c, err)
	}
	c, err = Check(r, strings.NewReader(text(p, d+d/50)))
	if err != nil || c.Agree || !slices.ContainsFunc(c.Stages, func(d Difference) bool { return !d.Agree }) {
		t.Errorf("two per cent: %+v, %v", c, err)
	}
	for _, bad := range []string{"", "{}", `{"stages":{"prefill":{"flops":-1}}}`, `{"stages":{"prefill":{"flops":1.5}}}`} {
		if _, err := Check(r, strings.NewReader(bad)); err == nil {
			t.Errorf("%q was compared", bad)
		}
	}
}

// TestRows: the table has a row for each stage and component, in order.
func TestRows(t *testing.T) {
	r := count(t, model(t, "deepseek_ocr2"), Shape{Prompt: 4, New: 2, Images: 1})
	var stages []string
	for _, row := range r.Rows() {
		if row.Component == "" {
			stages = append(stages, row.Stage)
		}
	}
	if got := strings.Join(stages, " "); got != "prefill prefill/sam prefill/clip prefill/projector decode" {
		t.Errorf("stages %s", got)
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"schema":2`) || !strings.Contains(string(b), `"batch":1,"prompt":4,"new":2,"dtype":"bf16","images":1,"tokens":261`) {
		t.Errorf("%v: %.400s", err, b)
	}
}

// TestReadBack: a report survives its JSON, stages in order.
func TestReadBack(t *testing.T) {
	r := count(t, model(t, "deepseek_ocr2"), Shape{Prompt: 4, New: 2, Images: 1})
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"stages":{"prefill":{"passes":1,`) {
		t.Fatalf("%v: %.300s", err, b)
	}
	back, err := Read(strings.NewReader(string(b)))
	if err != nil || !reflect.DeepEqual(*back, r) {
		t.Errorf("%v:\n%+v\n%+v", err, back, r)
	}
	for _, bad := range []string{"", "{}", `{"schema":3}`, `{"schema":2}`, `{"schema":1,"stages":[]}`, `{"schema":1,"stages":{"a":1}}`} {
		if _, err := Read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range configs {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		s := Shape{Prompt: 7, New: 3}
		if m.ImageTokens() > 0 {
			s.Images = 1
		}
		r, err := m.Count(s)
		if err != nil {
			return
		}
		for _, st := range r.Stages {
			if st.FLOPs < 0 || st.Torch < st.FLOPs || st.Bytes.Total < 0 {
				t.Errorf("stage %+v", st)
			}
		}
	})
}

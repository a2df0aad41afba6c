package load

import (
	"math"
	"slices"
)

// Stats are what the clients saw in an interval. A request counts where it ended
// in the interval, a first token or a token where it arrived in it; so an
// interval that is shorter than a request has tokens and no requests.
type Stats struct {
	Seconds  float64 `json:"seconds"`
	Requests int     `json:"requests"` // that ended well
	Errors   int     `json:"errors"`
	// ErrorKinds counts errors by kind, and Sample is what the first of them said.
	ErrorKinds map[string]int `json:"error_kinds,omitempty"`
	Sample     string         `json:"error_sample,omitempty"`

	TTFT     Summary `json:"ttft_ns"`     // from sending to the first token
	TPOT     Summary `json:"tpot_ns"`     // of each request: from the first token to the last, by the tokens after the first
	ITL      Summary `json:"itl_ns"`      // between two tokens that follow each other
	EndToEnd Summary `json:"e2e_ns"`      // from sending to the end
	Prompt   Summary `json:"prompt_size"` // tokens of a prompt
	Output   Summary `json:"output_size"` // tokens of an answer
	// Context is how many tokens a request had in the cache, prompt and answer, when
	// a token after its first arrived: the mean over these tokens, 0 where none did.
	Context float64 `json:"context,omitempty"`

	Tokens          int     `json:"tokens"`
	TokensPerSecond float64 `json:"tokens_per_s"`
	RequestsPerSec  float64 `json:"requests_per_s"`
	// Good is the number of requests that met the target, GoodPerSecond their rate;
	// nil without a target.
	Good          *int     `json:"good,omitempty"`
	GoodPerSecond *float64 `json:"goodput_per_s,omitempty"`
}

// Summary describes values. All are 0 where there are none.
type Summary struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// Target is what a request must meet to be good, in nanoseconds; 0 is no limit.
type Target struct{ TTFT, TPOT, EndToEnd int64 }

func (t Target) set() bool { return t != Target{} }

// Between are the statistics of an interval of the clock of the load.
func Between(list []Request, from, to int64, target Target) Stats {
	s := Stats{Seconds: float64(to-from) / 1e9, ErrorKinds: map[string]int{}}
	in := func(t int64) bool { return t > 0 && t >= from && t < to }
	var ttft, tpot, itl, e2e, prompt, output []float64
	good, context := 0, 0
	for i := range list {
		r := &list[i]
		for j, at := range r.Tokens {
			if !in(at) {
				continue
			}
			s.Tokens++
			if j == 0 {
				ttft = append(ttft, float64(at-r.Sent))
			} else {
				itl = append(itl, float64(at-r.Tokens[j-1]))
				context += r.Prompt + j
			}
		}
		switch {
		case !in(r.End):
		case r.Error != "":
			s.Errors++
			s.ErrorKinds[r.Error]++
			if s.Sample == "" {
				s.Sample = r.Detail
			}
		default:
			s.Requests++
			e2e = append(e2e, float64(r.End-r.Sent))
			prompt, output = append(prompt, float64(r.Prompt)), append(output, float64(r.Output))
			per, ok := r.PerToken()
			if ok {
				tpot = append(tpot, per)
			}
			if r.meets(target, per) {
				good++
			}
		}
	}
	s.TTFT, s.TPOT, s.ITL, s.EndToEnd = Summarize(ttft), Summarize(tpot), Summarize(itl), Summarize(e2e)
	s.Prompt, s.Output = Summarize(prompt), Summarize(output)
	if len(itl) > 0 {
		s.Context = float64(context) / float64(len(itl))
	}
	if s.Seconds > 0 {
		s.TokensPerSecond, s.RequestsPerSec = float64(s.Tokens)/s.Seconds, float64(s.Requests)/s.Seconds
	}
	if target.set() {
		rate := 0.0
		if s.Seconds > 0 {
			rate = float64(good) / s.Seconds
		}
		s.Good, s.GoodPerSecond = &good, &rate
	}
	return s
}

// PerToken is the time between tokens of an answer in nanoseconds, by the server's
// count of them; false for an answer of one token.
func (r *Request) PerToken() (float64, bool) {
	if len(r.Tokens) < 2 || r.Output < 2 {
		return 0, false
	}
	return float64(r.Tokens[len(r.Tokens)-1]-r.Tokens[0]) / float64(r.Output-1), true
}

func (r *Request) meets(t Target, perToken float64) bool {
	within := func(v, limit float64) bool { return limit <= 0 || v <= limit }
	return len(r.Tokens) > 0 && within(float64(r.Tokens[0]-r.Sent), float64(t.TTFT)) &&
		within(perToken, float64(t.TPOT)) && within(float64(r.End-r.Sent), float64(t.EndToEnd))
}

// Summarize describes values, and sorts them.
func Summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	slices.Sort(values)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	at := func(p float64) float64 { return values[int(math.Ceil(p*float64(len(values))))-1] }
	return Summary{N: len(values), Mean: sum / float64(len(values)), P50: at(.5), P90: at(.9), P95: at(.95), P99: at(.99), Max: values[len(values)-1]}
}

// Steady tells whether two intervals that follow each other are alike: both have
// tokens, and throughput and the median time between tokens differ by no more
// than the tolerance, a share.
func Steady(before, after Stats, tolerance float64) bool {
	alike := func(a, b float64) bool { return math.Abs(a-b) <= tolerance*max(a, b) }
	return before.Tokens > 0 && after.Tokens > 0 && alike(before.TokensPerSecond, after.TokensPerSecond) && alike(before.ITL.P50, after.ITL.P50)
}

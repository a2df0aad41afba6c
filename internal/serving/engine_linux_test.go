package serving

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/engine"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
)

// stepEngine makes this test binary a server that works in steps: a step takes in all
// requests that wait, and gives a token to each sequence. Its value is the time of a
// step; while it is profiled, one takes ten times as long. It prints the prompts of
// each step, the number of sequences that decode, and whether it is profiled.
const stepEngine = "DEEPPROF_TEST_STEP_ENGINE"

func init() {
	if os.Getenv(stepEngine) != "" {
		serveSteps(os.Args[1])
		os.Exit(0)
	}
}

type sequence struct {
	prompt, left int
	tokens       chan bool // false is the last
}

func serveSteps(address string) {
	took, err := time.ParseDuration(os.Getenv(stepEngine))
	if err != nil {
		os.Exit(1)
	}
	var mu sync.Mutex
	var waiting, running []*sequence
	profiled := false
	go func() {
		for {
			mu.Lock()
			admitted, decoding, length := waiting, running, took
			waiting = nil
			if profiled {
				length *= 10
			}
			if len(admitted)+len(decoding) > 0 {
				var prompts []int
				for _, s := range admitted {
					prompts = append(prompts, s.prompt)
				}
				slices.Sort(prompts)
				fmt.Println("step", prompts, len(decoding), profiled)
			}
			mu.Unlock()
			time.Sleep(length)
			mu.Lock()
			running = nil
			for _, s := range slices.Concat(admitted, decoding) {
				if s.left <= 0 {
					continue
				}
				if s.left--; s.left > 0 {
					running = append(running, s)
				}
				s.tokens <- s.left > 0
			}
			mu.Unlock()
		}
	}()
	http.HandleFunc("/start_profile", func(http.ResponseWriter, *http.Request) { mu.Lock(); profiled = true; mu.Unlock() })
	http.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[{"id":"m"}]}`) })
	http.HandleFunc("/v1/completions", func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Prompt    []int
			MaxTokens int `json:"max_tokens"`
		}
		if json.NewDecoder(r.Body).Decode(&asked) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s := &sequence{len(asked.Prompt), asked.MaxTokens, make(chan bool, asked.MaxTokens)}
		mu.Lock()
		waiting = append(waiting, s)
		mu.Unlock()
		for more := true; more; {
			select {
			case more = <-s.tokens:
			case <-r.Context().Done(): // nobody listens any more
				mu.Lock()
				s.left = 0
				mu.Unlock()
				return
			}
			fmt.Fprint(w, "data: {\"choices\":[{\"text\":\" x\"}]}\n\n")
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
	_ = http.ListenAndServe(address, nil)
}

// TestCountSteps: while launches are counted, the steps that were asked for come, each
// with its prompts and the sequences that decode beside them, then one of the whole batch, and the
// server is ended when a whole round brings nothing new, however many launches are left.
func TestCountSteps(t *testing.T) {
	profile := &engine.Profile{Start: "/start_profile", Stop: "/stop_profile"}
	told := []Prompting{{[]int{5}, 2}, {[]int{4, 7}, 1}}
	for name, test := range map[string]struct {
		clients int
		profile *engine.Profile
		prompts []Prompting
		want    []string       // steps that are profiled, in this order, with others between
		asked   map[string]int // that are counted in the first round
		never   string         // step that does not come after those
	}{
		"endpoints":      {3, profile, told, []string{"step [4 7] 1 true", "step [5] 2 true", "step [] 3 true", "step [4 7] 1 true", "step [5] 2 true", "step [] 3 true"}, nil, ""},
		"one round":      {3, profile, told, []string{"step [4 7] 1 true", "step [5] 2 true", "step [] 3 true"}, map[string]int{"another": 1}, "step [4 7] 1 true"},
		"from the start": {3, nil, told, []string{"step [4 7] 1 false", "step [5] 2 false", "step [] 3 false"}, nil, ""},
		"one client":     {1, profile, []Prompting{{[]int{5}, -1}}, []string{"step [5] 0 true", "step [] 1 true"}, nil, ""},
		"unknown":        {2, profile, nil, []string{"step [9] 1 true", "step [] 2 true"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, out := freeAddress(t), filepath.Join(t.TempDir(), "out")
			s := Setup{
				Base: "http://" + address, Engine: engine.Engine{Profile: test.profile}, Tell: func(fact.Code, ...fact.Param) {},
				Server: plan.Server{
					ReadyTimeout: time.Minute, WarmupLimit: time.Minute, CountersTime: time.Minute, Stop: 10 * time.Second,
					Load: plan.Load{Kind: plan.LoadClient, Concurrency: test.clients, Prompt: "9", Output: "100000", Vocabulary: 50, Timeout: time.Minute},
				},
			}
			began := time.Now()
			m, err := s.Count(t.Context(), Counting{Kernels: map[string]int{"never": 1}, Asked: test.asked, Prompts: test.prompts, Take: func(ctx context.Context, counted func(string)) (capture.Outcome, error) {
				counted("another")
				file, err := os.Create(out)
				if err != nil {
					return capture.Outcome{}, err
				}
				defer file.Close()
				c := exec.CommandContext(ctx, os.Args[0], address)
				c.Env, c.Stdout = append(os.Environ(), stepEngine+"=30ms"), file
				_ = c.Run() // it is ended by a signal
				return capture.Verdict(capture.Captured, fact.Fact{}), nil
			}})
			if err != nil || time.Since(began) > 30*time.Second {
				t.Errorf("it took %s: %v", time.Since(began), err)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			rest := string(text)
			for _, want := range test.want {
				_, after, found := strings.Cut(rest, want+"\n")
				if !found {
					t.Fatalf("no %q in\n%s", want, text)
				}
				rest = after
			}
			if test.never != "" && strings.Contains(rest, test.never) {
				t.Errorf("another round:\n%s", text)
			}
			if len(m.Record.Steps) == 0 || len(m.Record.Window) != 1 {
				t.Errorf("got %+v", m.Record)
			}
		})
	}
}

// TestCountedByName: ncu is ended once each kernel was counted, and not when launches of other sizes
// make up the number.
func TestCountedByName(t *testing.T) {
	address := freeAddress(t)
	s := Setup{
		Base: "http://" + address, Tell: func(fact.Code, ...fact.Param) {},
		Server: plan.Server{
			ReadyTimeout: time.Minute, WarmupLimit: time.Minute, CountersTime: time.Minute, Stop: 10 * time.Second,
			Load: plan.Load{Kind: plan.LoadClient, Concurrency: 2, Prompt: "9", Output: "100000", Vocabulary: 50, Timeout: time.Minute},
		},
	}
	var last time.Time
	n := Counting{Kernels: map[string]int{"_Z4gemmv": 1, "_Z3addv": 2}}
	n.Take = func(ctx context.Context, counted func(string)) (capture.Outcome, error) {
		c := exec.CommandContext(ctx, os.Args[0], address)
		c.Env = append(os.Environ(), stepEngine+"=2s") // a round lasts longer than the test waits
		go func() {
			for _, kernel := range []string{"_Z3addv", "_Z3addv", "_Z3addv", "_Z3addv", "_Z4gemmv"} {
				time.Sleep(300 * time.Millisecond)
				last = time.Now()
				counted(kernel)
			}
		}()
		_ = c.Run()
		return capture.Verdict(capture.Captured, fact.Fact{}), nil
	}
	m, err := s.Count(t.Context(), n)
	if err != nil || len(m.Record.Counted) != 5 || time.Since(last) > 2*time.Second {
		t.Errorf("counted %v, ended %s later: %v", m.Record.Counted, time.Since(last), err)
	}
}

// TestTally goes by what ncu prints: mangled names whole and without a number, long
// function names cut.
func TestTally(t *testing.T) {
	const gemm = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT"
	for _, test := range []struct {
		printed []string
		want    map[string]int
		has     bool
	}{
		{nil, nil, false},
		{[]string{gemm}, nil, false},
		{[]string{gemm}, map[string]int{gemm: 1}, true},
		{[]string{gemm, "_Z3addv"}, map[string]int{gemm: 2}, false},
		{[]string{"nvjet_sm90_tst_64x8_64x16_4x1...", "reduce_kernel"}, map[string]int{gemm: 1, "reduce_kernel": 1}, true},
		{[]string{"nvjet_sm90_tst_64x8_64x16_4x1..."}, map[string]int{gemm: 1, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT": 1}, false},
		{[]string{"nvjet_sm90_tst_64x8_64x16_4x1...", "nvjet_sm90_tst_64x8_64x16_4x1..."}, map[string]int{gemm: 1, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT": 1}, true},
	} {
		var k tally
		for _, name := range test.printed {
			k.note(name, time.Second)
		}
		if got := k.has(test.want); got != test.has {
			t.Errorf("%v of %v: %t", test.printed, test.want, got)
		}
	}
}

// TestGate: a gate is opened once the clients decode, and shut in the end.
func TestGate(t *testing.T) {
	address, gate, out := freeAddress(t), filepath.Join(t.TempDir(), "gate.open"), filepath.Join(t.TempDir(), "out")
	s := Setup{
		Base: "http://" + address, Tell: func(code fact.Code, _ ...fact.Param) { t.Errorf("told %s", code) },
		Server: plan.Server{
			ReadyTimeout: time.Minute, WarmupLimit: time.Minute, CountersTime: time.Minute, Stop: 10 * time.Second,
			Load: plan.Load{Kind: plan.LoadClient, Concurrency: 2, Prompt: "9", Output: "100000", Vocabulary: 50, Timeout: time.Minute},
		},
	}
	n := Counting{Gate: gate, Kernels: map[string]int{"_Z3addv": 1}}
	var tokens int // of the server when the gate opened
	n.Take = func(ctx context.Context, counted func(string)) (capture.Outcome, error) {
		file, err := os.Create(out)
		if err != nil {
			return capture.Outcome{}, err
		}
		defer file.Close()
		c := exec.CommandContext(ctx, os.Args[0], address)
		c.Env, c.Stdout = append(os.Environ(), stepEngine+"=30ms"), file
		go func() { // stands for annotation and ncu
			for {
				if _, err := os.Stat(gate); err == nil {
					text, _ := os.ReadFile(out)
					tokens = strings.Count(string(text), "step")
					counted("_Z3addv")
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		_ = c.Run()
		return capture.Verdict(capture.Captured, fact.Fact{}), nil
	}
	if m, err := s.Count(t.Context(), n); err != nil || len(m.Record.Counted) != 1 || tokens == 0 {
		t.Errorf("counted %v after %d steps: %v", m.Record.Counted, tokens, err)
	}
	if _, err := os.Stat(gate); !os.IsNotExist(err) {
		t.Errorf("the gate is open: %v", err)
	}
}

// TestLogUnderNcu: a server that prints without end is ended under ncu as well.
func TestLogUnderNcu(t *testing.T) {
	address, logs := freeAddress(t), t.TempDir()
	s := Setup{Base: "http://" + address, Tell: func(fact.Code, ...fact.Param) {}, Server: plan.Server{ReadyTimeout: time.Minute, Stop: time.Second, MaxLog: 1}}
	began := time.Now()
	m, err := s.Count(t.Context(), Counting{Logs: logs, Take: func(ctx context.Context, _ func(string)) (capture.Outcome, error) {
		if err := os.WriteFile(filepath.Join(logs, "stdout.log"), make([]byte, 1_100_000), 0o644); err != nil {
			return capture.Outcome{}, err
		}
		<-ctx.Done()
		return capture.Verdict(capture.TimedOut, fact.Fact{}), nil
	}})
	if err != nil || m.Outcome.Kind != capture.WorkloadFailed || !m.Outcome.What.Is(serverFlooded) || time.Since(began) > 20*time.Second {
		t.Errorf("after %s: %+v, %v", time.Since(began), m.Outcome, err)
	}
}

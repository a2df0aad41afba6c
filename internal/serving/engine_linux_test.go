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
			more = <-s.tokens
			fmt.Fprint(w, "data: {\"choices\":[{\"text\":\" x\"}]}\n\n")
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
	_ = http.ListenAndServe(address, nil)
}

// TestCountSteps: while launches are counted, the steps that were asked for come, each
// with its prompts and the clients that decode, and then the server is ended, however
// many launches are left. Where nobody decodes, answers have some tokens.
func TestCountSteps(t *testing.T) {
	for name, test := range map[string]struct {
		clients int
		profile *engine.Profile
		prompts [][]int
		want    []string // steps that are profiled, in this order, with others between
	}{
		"endpoints":      {3, &engine.Profile{Start: "/start_profile", Stop: "/stop_profile"}, [][]int{{5}, {4, 7}}, []string{"step [5] 1 true", "step [4 7] 1 true"}},
		"from the start": {3, nil, [][]int{{5}, {4, 7}}, []string{"step [5] 1 false", "step [4 7] 1 false"}},
		"one client":     {1, &engine.Profile{Start: "/start_profile", Stop: "/stop_profile"}, [][]int{{5}}, []string{"step [5] 0 true", "step [] 1 true"}},
		"unknown":        {2, &engine.Profile{Start: "/start_profile", Stop: "/stop_profile"}, nil, []string{"step [9] 1 true"}},
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
			m, err := s.Count(t.Context(), Counting{Wanted: 1000, Prompts: test.prompts, Take: func(ctx context.Context, _ func(capture.Progress)) (capture.Outcome, error) {
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
			if len(m.Record.Steps) == 0 || len(m.Record.Window) != 1 {
				t.Errorf("got %+v", m.Record)
			}
		})
	}
}

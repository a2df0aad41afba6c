package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// answering is a server of the OpenAI API that streams max_tokens pieces.
func answering(t *testing.T, seen func(body), hold time.Duration) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b body
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		seen(b)
		for range b.MaxTokens {
			if r.Context().Err() != nil {
				return
			}
			time.Sleep(hold)
			if len(b.Messages) > 0 {
				fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\n")
			} else {
				fmt.Fprint(w, `data: {"choices":[{"text":"x"}]}`+"\n\n")
			}
			w.(http.Flusher).Flush()
		}
		fmt.Fprintf(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":77,\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n", b.MaxTokens)
	}))
	t.Cleanup(s.Close)
	return s
}

func dist(t *testing.T, text string) Dist {
	t.Helper()
	d, err := ParseDist(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestClosedLoop(t *testing.T) {
	var open, most atomic.Int64
	s := answering(t, func(body) {
		now := open.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		time.Sleep(5 * time.Millisecond)
		open.Add(-1)
	}, 0)
	l := Start(context.Background(), Options{URL: s.URL, Prompt: dist(t, "4"), Output: dist(t, "3"), Concurrency: 4, Requests: 40, Vocabulary: 100})
	<-l.done
	list := l.Requests()
	got := Between(list, 0, math.MaxInt64, Target{})
	if got.Requests != 40 || got.Errors != 0 || got.Tokens != 120 || got.TTFT.N != 40 || got.ITL.N != 80 || got.TPOT.N != 40 {
		t.Errorf("got %+v", got)
	}
	if list[0].Prompt != 77 {
		t.Errorf("prompt of %d tokens, want the count of the server", list[0].Prompt)
	}
	if most.Load() > 4 || most.Load() < 2 {
		t.Errorf("%d requests at once, want up to 4", most.Load())
	}
}

// TestSeed sends the same requests twice, whoever of the clients sends which.
func TestSeed(t *testing.T) {
	of := func(seed uint64, clients int) map[string]int {
		var mu sync.Mutex
		out := map[string]int{}
		s := answering(t, func(b body) {
			mu.Lock()
			defer mu.Unlock()
			text, _ := json.Marshal(b)
			out[string(text)]++
		}, 0)
		<-Start(context.Background(), Options{URL: s.URL, Prompt: dist(t, "2-9"), Output: dist(t, "1-5"), Concurrency: clients, Requests: 20, Seed: seed, Vocabulary: 50}).done
		return out
	}
	a, b, c := of(1, 1), of(1, 5), of(2, 1)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Error("one seed gives different requests")
	}
	if fmt.Sprint(a) == fmt.Sprint(c) {
		t.Error("two seeds give the same requests")
	}
}

func TestOpenLoop(t *testing.T) {
	s := answering(t, func(body) {}, time.Millisecond)
	l := Start(context.Background(), Options{URL: s.URL, Chat: true, Prompt: dist(t, "4"), Output: dist(t, "2"), Rate: 500, Requests: 100})
	<-l.done
	got := Between(l.Requests(), 0, math.MaxInt64, Target{TTFT: int64(time.Hour)})
	if got.Requests != 100 || got.Errors != 0 || *got.Good != 100 {
		t.Errorf("got %+v", got)
	}
	l = Start(context.Background(), Options{URL: s.URL, Prompt: dist(t, "4"), Output: dist(t, "200"), Rate: 2000, Requests: 20, Concurrency: 2})
	<-l.done
	got = Between(l.Requests(), 0, math.MaxInt64, Target{})
	if got.ErrorKinds[ErrorDropped] == 0 || got.Requests+got.Errors != 20 {
		t.Errorf("got %+v, want dropped requests", got)
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"status": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "full", http.StatusServiceUnavailable) }, "http-503"},
		"cut":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `data: {"choices":[{"text":"x"}]}`+"\n\n") }, ErrorCut},
		"answer": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "data: {oops\n\n") }, ErrorAnswer},
		"error":  {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `data: {"error":{"message":"no"}}`+"\n\n") }, ErrorAnswer},
		"died":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ErrorCut},
		"timeout": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // only then the server sees that the client is gone
			<-r.Context().Done()
		}, ErrorTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.handler)
			defer s.Close()
			l := Start(context.Background(), Options{URL: s.URL, Prompt: dist(t, "1"), Output: dist(t, "1"), Requests: 1, Timeout: 300 * time.Millisecond})
			<-l.done
			got := Between(l.Requests(), 0, math.MaxInt64, Target{})
			if got.ErrorKinds[c.want] != 1 || got.Requests != 0 {
				t.Errorf("got %+v, want one %s", got, c.want)
			}
		})
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	l := Start(context.Background(), Options{URL: gone.URL, Prompt: dist(t, "1"), Output: dist(t, "1"), Requests: 1})
	<-l.done
	if got := Between(l.Requests(), 0, math.MaxInt64, Target{}); got.ErrorKinds[ErrorRefused] != 1 {
		t.Errorf("got %+v, want refused", got)
	}
}

// TestStop drops what is open without an error.
func TestStop(t *testing.T) {
	s := answering(t, func(body) {}, 20*time.Millisecond)
	l := Start(context.Background(), Options{URL: s.URL, Prompt: dist(t, "1"), Output: dist(t, "10000"), Concurrency: 3})
	for len(l.Requests()) < 3 {
		time.Sleep(time.Millisecond)
	}
	l.Stop()
	if got := Between(l.Requests(), 0, math.MaxInt64, Target{}); got.Errors != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestBetween(t *testing.T) {
	list := []Request{
		{Sent: 5, Tokens: []int64{15, 25, 45}, End: 50, Output: 3},
		{Sent: 30, Tokens: []int64{60, 70}, End: 200, Output: 2}, // ends outside
		{Sent: 10, End: 40, Error: "http-500", Detail: "first"},
	}
	got := Between(list, 10, 65, Target{TTFT: 12, TPOT: 15})
	if got.Tokens != 4 || got.Requests != 1 || got.Errors != 1 || got.Sample != "first" || got.TTFT.N != 2 || got.ITL.N != 2 {
		t.Errorf("got %+v", got)
	}
	if got.TTFT.Max != 30 || got.TTFT.P50 != 10 || got.TPOT.Mean != 15 || got.EndToEnd.Max != 45 || *got.Good != 1 {
		t.Errorf("got %+v", got)
	}
	if got := Between(list, 10, 65, Target{TPOT: 14}); *got.Good != 0 {
		t.Errorf("%d good requests, want none", *got.Good)
	}
	a, b := Stats{Tokens: 1, TokensPerSecond: 100, ITL: Summary{P50: 10}}, Stats{Tokens: 1, TokensPerSecond: 96, ITL: Summary{P50: 10.2}}
	if !Steady(a, b, 0.05) || Steady(a, b, 0.01) || Steady(Stats{}, Stats{}, 1) {
		t.Error("steady is judged wrongly")
	}
}

func TestDist(t *testing.T) {
	for _, bad := range []string{"", "0", "-3", "9-3", "normal:5", "poisson:3:4", "lognormal:3:99", "1e99", "a", "NaN", "1-2-3"} {
		if _, err := ParseDist(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for text, want := range map[string][2]float64{"7": {7, 7}, "3-5": {3, 5}, "normal:100:10": {40, 160}, "lognormal:100:0.1": {50, 200}} {
		d, sum := dist(t, text), 0.0
		for range 1000 {
			v := float64(d.draw(r))
			sum += v
			if v < want[0] || v > want[1] {
				t.Fatalf("%s gives %v", text, v)
			}
		}
		if mean, middle := sum/1000, (want[0]+want[1])/2; text != "lognormal:100:0.1" && math.Abs(mean-middle) > 0.02*middle {
			t.Errorf("%s has mean %v, want about %v", text, mean, middle)
		}
	}
}

package load

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestRenew gives up the request that has come furthest: its client sends another
// one, and nothing is called an error.
func TestRenew(t *testing.T) {
	var prompts atomic.Int64
	s := answering(t, func(body) { prompts.Add(1) }, time.Millisecond)
	l := Start(t.Context(), Options{URL: s.URL, Prompt: dist(t, "4"), Output: dist(t, "1000000"), Concurrency: 2})
	for _, waiting := l.Open(); prompts.Load() < 2 || waiting > 0; _, waiting = l.Open() {
		time.Sleep(time.Millisecond)
	}
	l.Renew(1)
	for prompts.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	for open, _ := l.Open(); open < 2; open, _ = l.Open() {
		time.Sleep(time.Millisecond)
	}
	for _, r := range l.Requests() {
		if r.End != 0 {
			t.Errorf("a record of a request that was given up: %+v", r)
		}
	}
	l.Stop()
	if n := prompts.Load(); n != 3 {
		t.Errorf("%d prompts were sent, want 3", n)
	}
}

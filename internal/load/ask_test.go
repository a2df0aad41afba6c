package load

import (
	"sync"
	"testing"
	"time"
)

// TestAsk sends requests of given lengths beside those of the load, and none after it
// was stopped.
func TestAsk(t *testing.T) {
	var mu sync.Mutex
	got := map[[2]int]int{}
	s := answering(t, func(b body) {
		mu.Lock()
		defer mu.Unlock()
		got[[2]int{len(b.Prompt.([]any)), b.MaxTokens}]++
	}, time.Millisecond)
	l := Start(t.Context(), Options{URL: s.URL, Prompt: dist(t, "4"), Output: dist(t, "9"), Vocabulary: 50, Quiet: true})
	if !l.Ask(t.Context(), []int{7, 0}, 2) || got[[2]int{7, 2}] != 1 || got[[2]int{4, 2}] != 1 || len(got) != 2 {
		t.Errorf("got %v", got)
	}
	if list := l.Requests(); len(list) != 2 || list[0].Error+list[1].Error != "" {
		t.Errorf("recorded %+v", list)
	}
	l.Stop()
	if l.Ask(t.Context(), []int{1}, 1) {
		t.Error("answered after the end of the load")
	}
}

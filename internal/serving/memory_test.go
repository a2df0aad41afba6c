package serving

import (
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/load"
)

// TestWindowsHaveTheMemoryInUse asks for the memory of a window since it began.
func TestWindowsHaveTheMemoryInUse(t *testing.T) {
	used, before := 5e9, time.Now()
	var asked time.Time
	s := &served{server: &Server{ended: make(chan struct{})}, Setup: Setup{Memory: func(since time.Time) *float64 { asked = since; return &used }}}
	if err := s.measure(t.Context(), "idle-1", load.Idle, time.Millisecond, ""); err != nil {
		t.Fatal(err)
	}
	if w := s.record.Window; len(w) != 1 || w[0].GPUMemory == nil || *w[0].GPUMemory != used || asked.Before(before) {
		t.Errorf("%+v, asked since %v", w, asked)
	}
}

package tool

import (
	"context"
	"strings"
	"sync"
)

// A Finder is Find for the length of one run: it asks no program twice for its
// version, and several side by side. Failures are not remembered. The zero
// value is ready.
type Finder struct {
	mu    sync.Mutex
	found map[finderKey]*answer
}

// finderKey is what the answer depends on, besides the machine.
type finderKey struct{ name, path, root, env string }

// An answer is locked while the program is asked.
type answer struct {
	mu    sync.Mutex
	tool  Tool
	known bool
}

// Find returns what it found before, or else what the function Find does.
func (f *Finder) Find(ctx context.Context, s Spec) (Tool, error) {
	a := f.answer(s)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known {
		return a.tool, nil
	}
	t, err := Find(ctx, s)
	if err == nil {
		a.tool, a.known = t, true
	}
	return t, err
}

func (f *Finder) answer(s Spec) *answer {
	key := finderKey{s.Name, s.Path, s.System.Root, strings.Join(s.System.environ(), "\x00")}
	if s.Path == "auto" {
		key.path = ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.found == nil {
		f.found = map[finderKey]*answer{}
	}
	if f.found[key] == nil {
		f.found[key] = &answer{}
	}
	return f.found[key]
}

package tool

import (
	"context"
	"strings"
	"sync"
)

// A Finder is Find for the length of one run: it asks no program twice for its
// version. Failures are not remembered. The zero value is ready.
type Finder struct {
	mu    sync.Mutex
	found map[finderKey]Tool
}

// finderKey is what the answer depends on, besides the machine.
type finderKey struct{ name, path, root, env string }

// Find returns what it found before, or else what the function Find does.
func (f *Finder) Find(ctx context.Context, s Spec) (Tool, error) {
	key := finderKey{s.Name, s.Path, s.System.Root, strings.Join(s.System.environ(), "\x00")}
	if s.Path == "auto" {
		key.path = ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if t, ok := f.found[key]; ok {
		return t, nil
	}
	t, err := Find(ctx, s)
	if err != nil {
		return t, err
	}
	if f.found == nil {
		f.found = map[finderKey]Tool{}
	}
	f.found[key] = t
	return t, nil
}

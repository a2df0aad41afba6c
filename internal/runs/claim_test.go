package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// quickClaims makes claims of other hosts stale soon.
func quickClaims(t *testing.T) {
	beat, silence := claimBeat, claimSilence
	claimBeat, claimSilence = 20*time.Millisecond, 300*time.Millisecond
	t.Cleanup(func() { claimBeat, claimSilence = beat, silence })
}

// claimOf writes the claim of another host.
func claimOf(t *testing.T, dir string, beat int) {
	t.Helper()
	text, err := json.Marshal(claimText{Owner: Owner{PID: 7, BootID: "another", Host: "far"}, Beat: fmt.Sprint(beat)})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, claimName), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestClaims holds that one process at a time has the claim of a run, without any
// lock, and that a host which is gone loses it.
func TestClaims(t *testing.T) {
	quickClaims(t)
	dir := t.TempDir()
	claimOf(t, dir, 1)
	var wg sync.WaitGroup
	got := make(chan *claim, 16)
	for range 16 {
		wg.Go(func() {
			c, _, err := takeClaim(t.Context(), dir)
			if err == nil {
				got <- c
			} else if !errors.Is(err, ErrRunning) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(got)
	var have []*claim
	for c := range got {
		have = append(have, c)
	}
	if len(have) != 1 {
		t.Fatalf("%d writers have the claim of a host that is gone", len(have))
	}
	have[0].release()
	if _, err := os.Stat(have[0].path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a claim that was given back is there: %v", err)
	}

	claimOf(t, dir, 1) // of a host that lives
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 20 {
			claimOf(t, dir, n)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	if _, _, err := takeClaim(t.Context(), dir); !errors.Is(err, ErrRunning) {
		t.Errorf("the claim of a host that lives: %v", err)
	}
	<-done
}

// TestResumeAfterLostHost holds that a run whose host went down is taken over
// from another one.
func TestResumeAfterLostHost(t *testing.T) {
	quickClaims(t)
	r, err := Create(t.TempDir(), CreateOptions{Steps: []Step{{Name: "nsys"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Update(func(m *Manifest) error { m.Owner = Owner{PID: 7, BootID: "another", Host: "far"}; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Reopen(t.Context(), r.Dir()); !errors.Is(err, ErrRunning) {
		t.Errorf("a run of another host without a claim is resumed: %v", err)
	}
	claimOf(t, r.Dir(), 3)
	again, err := Reopen(t.Context(), r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if m := again.Manifest(); m.Owner.Host == "far" || m.Resumed != 1 {
		t.Errorf("owner %+v, resumed %d", m.Owner, m.Resumed)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// Of two that found the same claim stale, the second finds the claim of the first
// in its place, and leaves it there.
func TestClaimOfAnotherStays(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, claimName)
	if err := os.WriteFile(path, []byte("of the first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeClaim(path, []byte("stale")); !errors.Is(err, ErrRunning) {
		t.Errorf("%v, want that the run is running", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "of the first" {
		t.Errorf("the claim says %q, %v", text, err)
	}
	if err := removeClaim(path, []byte("of the first")); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

package runs

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
)

var ctx = context.Background()

// Many runs in the same second, from several processes and goroutines.
func TestCreateNeverCollides(t *testing.T) {
	root := filepath.Join(t.TempDir(), "runs")
	var mu sync.Mutex
	var wg sync.WaitGroup
	seen := map[string]int{}
	add := func(dir string) {
		mu.Lock()
		defer mu.Unlock()
		seen[dir]++
	}
	for range 100 {
		wg.Go(func() {
			r, err := Create(root, CreateOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			add(r.Dir())
			if err := r.Finish(StatusDone, fact.Fact{}); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			out, err := child(t, "create", root, "RUNS_TEST_N=20").Output()
			if err != nil {
				t.Error(err)
			}
			for _, l := range strings.Fields(string(out)) {
				add(l)
			}
		})
	}
	wg.Wait()
	if len(seen) != 160 {
		t.Errorf("%d different directories, want 160", len(seen))
	}
	list, warnings, err := List(root, Filter{})
	if err != nil || len(warnings) > 0 || len(list) != 160 {
		t.Errorf("listed %d runs, warnings %v, error %v", len(list), warnings, err)
	}
	for _, s := range list {
		if !ValidID(s.ID) || s.Status != StatusDone {
			t.Errorf("run %+v", s)
		}
	}
}

func TestCreateNotUTF8(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create("", CreateOptions{Dir: filepath.Join(dir, "a\xff", "run")}); !errors.Is(err, format.ErrPath) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestCreateExplicitDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "mine")
	r := mustCreate(t, "", CreateOptions{Dir: dir})
	if r.Dir() != dir {
		t.Errorf("run is in %s", r.Dir())
	}
	if _, err := Create("", CreateOptions{Dir: dir}); !errors.Is(err, ErrExists) {
		t.Errorf("second run in the same directory: %v", err)
	}
	must(t, r.Finish(StatusDone, fact.Fact{}))
	if _, err := Create("", CreateOptions{Dir: dir}); !errors.Is(err, ErrExists) {
		t.Errorf("run over a finished one: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	must(t, os.Mkdir(empty, 0o755))
	mustCreate(t, "", CreateOptions{Dir: empty})
	foreign := t.TempDir()
	must(t, os.WriteFile(filepath.Join(foreign, "thesis.tex"), nil, 0o644))
	if _, err := Create("", CreateOptions{Dir: foreign}); !errors.Is(err, ErrExists) {
		t.Errorf("run in a folder with files: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("x"), 0o644))
	if _, err := Create("", CreateOptions{Dir: file}); !errors.Is(err, ErrExists) {
		t.Errorf("run over a file: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(foreign), tempPrefix+"*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestManifestValidAtEveryMoment(t *testing.T) {
	r := mustCreate(t, t.TempDir(), CreateOptions{})
	stop := make(chan struct{})
	reads := make(chan int)
	go func() {
		n := 0
		last := -1
		for {
			select {
			case <-stop:
				reads <- n
				return
			default:
			}
			m, err := ReadManifest(r.Dir())
			if err != nil {
				t.Errorf("read %d: %v", n, err)
			} else if len(m.Warnings) < last {
				t.Errorf("read %d: the manifest went back from %d to %d warnings", n, last, len(m.Warnings))
			}
			last = len(m.Warnings)
			n++
			runtime.Gosched()
		}
	}()
	for i := range 1000 {
		must(t, r.Update(func(m *Manifest) error {
			m.Label = strings.Repeat("x", i%700)
			if i%20 == 0 {
				m.Warnings = append(m.Warnings, fact.Stored{Fact: fact.FromText("w")})
			}
			return nil
		}))
	}
	close(stop)
	if n := <-reads; n < 50 {
		t.Errorf("only %d reads: the test saw too little", n)
	}
}

func TestKillDuringUpdates(t *testing.T) {
	root := t.TempDir()
	for range 5 {
		c, dir := startChild(t, "churn", root)
		time.Sleep(time.Duration(20+len(dir)%30) * time.Millisecond)
		must(t, c.Process.Signal(syscall.SIGKILL))
		c.Wait()
		m, err := ReadManifest(dir)
		if err != nil {
			t.Fatal(err)
		}
		if m.Status != StatusRunning {
			t.Errorf("status on disk is %s", m.Status)
		}
	}
	list, warnings, err := List(root, Filter{Status: []Status{StatusInterrupted}})
	if err != nil || len(warnings) > 0 || len(list) != 5 {
		t.Errorf("%d interrupted runs, warnings %v, error %v", len(list), warnings, err)
	}
}

func TestDeadProcessIsRecognized(t *testing.T) {
	root := t.TempDir()
	c, dir := startChild(t, "hold", root)
	r, err := Open(ctx, dir)
	must(t, err)
	if r.Status() != StatusRunning || r.writable() {
		t.Errorf("while it runs: %s, writable %v", r.Status(), r.writable())
	}
	if _, err := Reopen(ctx, dir); !errors.Is(err, ErrRunning) {
		t.Errorf("resume while it runs: %v", err)
	}
	if err := r.Warn("x"); !errors.Is(err, errReadOnly) {
		t.Errorf("write to a run opened for reading: %v", err)
	}
	must(t, c.Process.Signal(syscall.SIGKILL))
	c.Wait()
	r, err = Open(ctx, dir)
	must(t, err)
	if r.Status() != StatusInterrupted || !strings.Contains(r.Note(), "gone") {
		t.Errorf("after its death: %s, %q", r.Status(), r.Note())
	}
	d := Show(r)
	if d.Steps[1].State != StateInterrupted || d.Steps[2].State != StatePending {
		t.Errorf("stages shown as %+v", d.Steps)
	}
	w, err := Reopen(ctx, dir)
	must(t, err)
	m := w.Manifest()
	if m.Resumed != 1 || m.Owner.PID != os.Getpid() || m.Steps[1].State != StateInterrupted || m.Steps[1].Last().Outcome.Kind != "interrupted" {
		t.Errorf("resumed manifest: %+v", m)
	}
	must(t, w.Finish(StatusDone, fact.Fact{}))
}

// A free lock with the process still there happens where locks do not work.
func TestLivenessWithoutLock(t *testing.T) {
	me := self()
	gone := me
	gone.Start++
	reboot := me
	reboot.BootID = "00000000-0000-0000-0000-000000000000"
	other := reboot
	other.Host = "some-other-host"
	for name, c := range map[string]struct {
		owner Owner
		want  ownerState
	}{
		"alive":              {me, ownerAlive},
		"pid used again":     {gone, ownerDead},
		"machine restarted":  {reboot, ownerDead},
		"another machine":    {other, ownerUnknown},
		"nothing is known":   {Owner{}, ownerUnknown},
		"known host no boot": {Owner{PID: 1, Host: me.Host}, ownerUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			m := Manifest{Status: StatusRunning, Owner: c.owner}
			if got, note := liveness(t.TempDir(), &m); got != c.want {
				t.Errorf("liveness %v (%s), want %v", got, note, c.want)
			}
		})
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, lockName), nil, 0o644))
	if got, _ := liveness(dir, &Manifest{Status: StatusRunning}); got != ownerDead {
		t.Errorf("a free lock without owner: %v, want dead", got)
	}
}

// A process in another container is not visible by its pid; its lock is.
func TestLivenessByLockAlone(t *testing.T) {
	r := mustCreate(t, t.TempDir(), CreateOptions{})
	must(t, r.Update(func(m *Manifest) error { m.Owner.Start++; return nil }))
	if o, err := Open(ctx, r.Dir()); err != nil || o.Status() != StatusRunning {
		t.Errorf("while the lock is held: %v, %v", o.Status(), err)
	}
	must(t, r.Close())
	if o, err := Open(ctx, r.Dir()); err != nil || o.Status() != StatusInterrupted {
		t.Errorf("after it was given up: %v, %v", o.Status(), err)
	}
}

func TestParseStart(t *testing.T) {
	for in, want := range map[string]uint64{
		"12 (a b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21": 4711,
		"12 (x) S 1": 0,
		"":           0,
	} {
		got, err := parseStart([]byte(in))
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("parseStart(%q) = %d, %v", in, got, err)
		}
	}
}

func TestManifestProblems(t *testing.T) {
	good, err := json.Marshal(newManifest("20260101T000000Z-1-000000000000", time.Now(), CreateOptions{Steps: []Step{{Name: "a"}}}))
	must(t, err)
	for name, c := range map[string]struct{ text, want string }{
		"good":    {string(good), ""},
		"empty":   {"", "empty"},
		"cut off": {string(good[:len(good)/2]), "line 1"},
		"zeroes":  {strings.Repeat("\x00", 300), "line 1"},
		"newer":   {strings.Replace(string(good), `"schema":2`, `"schema":9`, 1), "newer"},
		"no id":   {strings.Replace(string(good), "20260101T", "", 1), "not a run id"},
		"status":  {strings.Replace(string(good), `"running"`, `"fine"`, 1), `status "fine"`},
		"state":   {strings.Replace(string(good), `"pending"`, `"fine"`, 1), `state "fine"`},
		"twice":   {strings.Replace(string(good), `"steps":[`, `"steps":[{"name":"a","state":"done"},`, 1), "used twice"},
		"escape": {strings.Replace(string(good), `"state":"pending"`,
			`"state":"done","attempts":[{"started":"2026-01-01T00:00:00Z","files":[{"path":"../../etc/passwd","size":1,"sha256":""}]}]`, 1), "not a path inside the run"},
		"array": {"[]", "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseManifest([]byte(c.text))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func FuzzParseManifest(f *testing.F) {
	good, _ := json.Marshal(newManifest("20260101T000000Z-1-000000000000", time.Now(), CreateOptions{Steps: []Step{{Name: "a"}}}))
	f.Add(good)
	f.Add([]byte(`{"steps":[{"attempts":[{"files":[{}]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			return
		}
		c := m.clone()
		if err := c.validate(); err != nil {
			t.Errorf("the copy of a valid manifest is not: %v", err)
		}
		planResume(&c, ownerDead, func(File) fact.Fact { return fact.Fact{} })
	})
}

func TestWriteFileStaysInside(t *testing.T) {
	r := mustCreate(t, t.TempDir(), CreateOptions{})
	for _, rel := range []string{"../x", "/etc/x", "", ".", "a/../../x", `a\b`, "a//b", "a/./b"} {
		if err := r.WriteFile(rel, nil); err == nil {
			t.Errorf("wrote %q", rel)
		}
	}
	must(t, r.WriteFile("ncu/regions/report.json", []byte("{}")))
}

func TestStepMistakes(t *testing.T) {
	r := mustCreate(t, t.TempDir(), CreateOptions{})
	if err := r.StartAttempt("nsys", ""); err == nil {
		t.Error("an attempt of a stage that does not exist was started")
	}
	must(t, r.StartStep("nsys"))
	if err := r.EndAttempt("nsys", Result{}); err == nil {
		t.Error("an attempt that never started was ended")
	}
	if err := r.Update(func(m *Manifest) error { m.Status = "fine"; return nil }); err == nil {
		t.Error("a bad status was written")
	}
	if m, err := ReadManifest(r.Dir()); err != nil || m.Status != StatusRunning {
		t.Errorf("after refused updates the manifest reads %v, %v", m.Status, err)
	}
	must(t, r.Finish(StatusFailed, fact.FromText("nsys said no")))
	m, err := ReadManifest(r.Dir())
	must(t, err)
	if s := m.Step("nsys"); s.State != StateFailed || s.Reason.Text("text") != "nsys said no" {
		t.Errorf("a stage left running reads %+v", s)
	}
	if _, err := os.Stat(r.Path(reserveName)); !os.IsNotExist(err) {
		t.Errorf("the reserve is still there: %v", err)
	}
}

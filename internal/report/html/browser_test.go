package html

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/deepprof/deepprof/internal/analysis"
)

// again marks the second run of all tests.
const again = "DEEPPROF_BROWSER_AGAIN"

// TestMain runs every test once more where Chromium stopped answering, which it
// does at times on a busy machine: a page that hangs by itself hangs again.
func TestMain(m *testing.M) {
	code := m.Run()
	chromium.stop()
	if code != 0 && chromium.failures > 0 && os.Getenv(again) == "" {
		fmt.Fprintln(os.Stderr, "Chromium stopped answering: every test is run again")
		cmd := exec.Command(os.Args[0], os.Args[1:]...)
		cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, append(os.Environ(), again+"=1")
		if code = 0; cmd.Run() != nil {
			code = 1
		}
	}
	os.Exit(code)
}

// chromium is the browser of all tests; each test has its own tab.
var chromium = &instance{stop: func() {}}

// An instance is a running browser, or one that is still to be started.
type instance struct {
	mu       sync.Mutex
	ctx      context.Context // nil where none runs
	stop     func()
	failures int // of commands without an answer
}

// get returns the browser, which it starts where none runs.
func (i *instance) get() (context.Context, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ctx != nil {
		return i.ctx, nil
	}
	path := os.Getenv("DEEPPROF_CHROMIUM")
	if path == "" {
		var err error
		if path, err = exec.LookPath("chromium"); err != nil {
			return nil, err
		}
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WindowSize(1400, 1000))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopContext := chromedp.NewContext(allocator)
	i.stop = func() { stopContext(); stopAllocator() }
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	i.ctx = ctx
	return ctx, nil
}

// judge notes a command that had no answer: later tests get another browser.
func (i *instance) judge(err error) {
	if !errors.Is(err, context.DeadlineExceeded) {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failures++
	if i.ctx != nil {
		go i.stop()
		i.ctx, i.stop = nil, func() {}
	}
}

// A tab shows one report and records what it asks for and complains about.
type tab struct {
	t    *testing.T
	ctx  context.Context
	url  string
	size int64

	mu       sync.Mutex
	requests []string
	problems []string
	expected bool // problems are part of the test
}

// open writes the report of r to a file and opens that file. When the test
// ends, the page must have logged nothing and asked for nothing but itself.
func open(t *testing.T, r *analysis.Result) *tab {
	t.Helper()
	parent, err := chromium.get()
	if err != nil {
		t.Skipf("no Chromium to show the page in (set DEEPPROF_CHROMIUM or install chromium): %v", err)
	}
	path := filepath.Join(t.TempDir(), "report.html")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	r.Derive() // tests change results
	if err := Write(file, r); err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, stopTab := chromedp.NewContext(parent)
	ctx, stopTime := context.WithTimeout(ctx, 2*patience)
	t.Cleanup(func() { stopTime(); stopTab() })
	p := &tab{t: t, ctx: ctx, url: (&url.URL{Scheme: "file", Path: path}).String(), size: info.Size()}
	p.listen()
	p.do(chromedp.EmulateViewport(1400, 1000), chromedp.Navigate(p.url))
	p.wait(`document.documentElement.dataset.ready === "true"`)
	t.Cleanup(p.checkQuiet)
	return p
}

func (p *tab) listen() {
	requests := chromedp.Events(p.ctx, network.RequestWillBeSent)
	messages := chromedp.Console(p.ctx)
	go func() {
		for e, err := range requests {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.requests = append(p.requests, e.Request.URL)
			p.mu.Unlock()
		}
	}()
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.problems = append(p.problems, m.String())
			p.mu.Unlock()
		}
	}()
}

// patience is how long a page may take on a busy machine for what it does at
// once on another.
const patience = time.Minute

// checkQuiet fails the test for a message on the console, and for a request
// that is not for the file itself. It proves first that it would have heard.
func (p *tab) checkQuiet() {
	const mark = "end of test"
	eval[chromedp.Void](p, `console.log("`+mark+`")`)
	deadline := time.Now().Add(patience)
	for {
		p.mu.Lock()
		heard := len(p.problems) > 0 && strings.Contains(p.problems[len(p.problems)-1], mark)
		p.mu.Unlock()
		if heard {
			break
		}
		if time.Now().After(deadline) {
			p.t.Error("the console is not heard")
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.requests) == 0 {
		p.t.Error("requests are not heard: not even the page itself was seen")
	}
	for _, r := range p.requests {
		if r != p.url && !strings.HasPrefix(r, p.url+"#") && !strings.HasPrefix(r, "data:") {
			p.t.Errorf("the page asked for %s", r)
		}
	}
	if p.expected {
		return
	}
	for _, m := range p.problems {
		if !strings.Contains(m, mark) {
			p.t.Errorf("on the console: %s", m)
		}
	}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		chromium.judge(err)
		p.t.Fatal(err)
	}
}

// rest scrolls to an element and returns once it stays where it is: a page may still be
// moving to the place of its address, or be laid out.
func (p *tab) rest(selector string) {
	p.t.Helper()
	find := fmt.Sprintf(`(e => { if (!e) return null; e.scrollIntoView({ block: "center", behavior: "instant" }); const r = e.getBoundingClientRect(); return [r.x, r.y].map(Math.round).join() })(document.querySelector(%q))`, selector)
	last, same := "", 0
	for deadline := time.Now().Add(patience); same < 3; time.Sleep(50 * time.Millisecond) {
		at := eval[string](p, find+` ?? ""`)
		if same++; at != last || at == "" { // moved, or not there yet
			last, same = at, 0
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s is not there, or does not come to rest", selector)
		}
	}
}

func (p *tab) click(selector string) {
	p.t.Helper()
	p.rest(selector)
	p.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

func (p *tab) press(keys string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys, chromedp.KeyModifiers(modifiers...)))
}

func (p *tab) focus(selector string) {
	p.t.Helper()
	p.do(chromedp.Focus(chromedp.CSS(selector)))
}

// media emulates a medium ("print") and a color scheme.
func (p *tab) media(medium, scheme string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// eval returns the value of an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		chromium.judge(err)
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait returns when an expression in the page is true.
func (p *tab) wait(expression string) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for !eval[bool](p, "!!("+expression+")") {
		if time.Now().After(deadline) {
			p.t.Fatalf("did not become true: %s\n%s", expression, p.messages())
		}
		time.Sleep(15 * time.Millisecond)
	}
}

// hover moves the pointer to a place, an expression of its two coordinates, until a
// condition is true: a busy page may scroll under it once more.
func (p *tab) hover(place, condition string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		at := eval[[]float64](p, place)
		for _, off := range []float64{1, 0} {
			p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0]+off, at[1]))
		}
		if eval[bool](p, "!!("+condition+")") {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the pointer at %v: did not become true: %s", at, condition)
		}
	}
}

func (p *tab) messages() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.problems, "\n")
}

// text is what an element shows, with all white space as single blanks.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return strings.Join(strings.Fields(eval[string](p, fmt.Sprintf(`(e => e?.innerText ?? e?.textContent ?? "(no element)")(document.querySelector(%q))`, selector))), " ")
}

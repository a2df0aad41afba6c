package web

// Pages in real browsers: Chromium over its DevTools protocol, Firefox over WebDriver BiDi.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A Tab is a page in a browser. Its methods fail once the browser is gone. It is for one
// goroutine; only Messages may be called from others.
type Tab interface {
	// Open loads a page and returns when its load event was sent.
	Open(url string) error
	// Eval gives the value of an expression in the page as JSON. A promise is waited
	// for.
	Eval(expression string) (json.RawMessage, error)
	// Size sets the size of the page, in CSS pixels.
	Size(width, height int) error
	// Click presses the mouse in the middle of the first element of a CSS selector.
	Click(selector string) error
	// Press types one key: a character, or a name (Enter, Escape, ArrowDown, ArrowRight, Tab).
	Press(key string) error
	// Screenshot is what the window shows, as PNG.
	Screenshot() ([]byte, error)
	// Messages is what the page wrote to the console, and errors that nobody caught.
	Messages() []string
}

// browsers are the browsers that can be started. Tests run in each that is installed.
func browsers() []string { return []string{"chromium", "firefox"} }

// startBrowser starts a browser without a window and opens an empty tab. The error wraps
// exec.ErrNotFound where the browser is not installed.
func startBrowser(name string) (tab Tab, stop func(), err error) {
	switch name {
	case "chromium":
		return startChromium()
	case "firefox":
		return startFirefox()
	}
	return nil, nil, fmt.Errorf("start browser %q: known are %q", name, browsers())
}

// shared are the tabs that all tests of a package use.
var shared struct {
	mu    sync.Mutex
	tabs  map[string]Tab
	stops []func()
}

// sharedTab is a tab of a browser that is started once in a process; stopShared ends
// it.
func sharedTab(name string) (Tab, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if tab := shared.tabs[name]; tab != nil {
		return tab, nil
	}
	tab, stop, err := startBrowser(name)
	if err != nil {
		return nil, err
	}
	if shared.tabs == nil {
		shared.tabs = map[string]Tab{}
	}
	shared.tabs[name], shared.stops = tab, append(shared.stops, stop)
	return tab, nil
}

// stopShared ends the browsers that sharedTab started.
func stopShared() {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	for _, stop := range shared.stops {
		stop()
	}
	shared.tabs, shared.stops = nil, nil
}

// find gives the program of a browser: that of a variable of the environment, or
// the one of Debian.
func find(variable, program string) (string, error) {
	return exec.LookPath(cmp.Or(os.Getenv(variable), program))
}

// An evaluator is a tab of which only the page matters.
type evaluator interface {
	Eval(expression string) (json.RawMessage, error)
}

// valueOf evaluates an expression as a T, which its JSON must fit.
func valueOf[T any](tab evaluator, expression string) (v T, err error) {
	text, err := tab.Eval(expression)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return v, fmt.Errorf("evaluate %s: %w", expression, err)
	}
	return v, nil
}

// patience is how long a page may take on a busy machine for what it does at once
// on another.
const patience = time.Minute

// waitFor returns when a condition in the page, an expression of JavaScript, is true. An error has
// what the page shows and what its console says.
func waitFor(tab Tab, condition string) error {
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		ok, err := valueOf[bool](tab, "!!("+condition+")")
		if ok {
			return nil
		}
		last = err // of a page that is being replaced, say
	}
	told, _ := valueOf[string](tab, `document.body.innerText.slice(0, 300)`)
	return fmt.Errorf("wait for %s: not within %v (%v); the page says %q, the console %q", condition, patience, last, told, tab.Messages())
}

// restingPlace scrolls to an element and gives its middle once it stays where it is: a page
// may still be moving to the place of its address, or be laid out.
func restingPlace(tab evaluator, selector string) (last [2]int, err error) {
	find := fmt.Sprintf(`(e => { if (!e) return [-1, -1]; e.scrollIntoView({ block: "center", behavior: "instant" }); const r = e.getBoundingClientRect(); return [Math.round(r.x + r.width / 2), Math.round(r.y + r.height / 2)] })(document.querySelector(%q))`, selector)
	same := 0
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		at, err := valueOf[[2]int](tab, find)
		switch {
		case err != nil:
			return last, err
		case at != last || at == [2]int{-1, -1}: // moved, or not there yet
			last, same = at, 0
		case same == 3:
			return last, nil
		default:
			same++
		}
	}
	return last, fmt.Errorf("click %s: it is not there, or does not come to rest within %v", selector, patience)
}

// A log collects messages of several goroutines.
type log struct {
	mu sync.Mutex
	// list is what the page wrote to its console, by time; mu guards it.
	list []string
}

// add may be called from any goroutine.
func (l *log) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, text)
}

// Messages are those so far.
func (l *log) Messages() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.list...)
}

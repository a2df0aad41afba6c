package web

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// firefoxTab is a tab of Firefox, driven over WebDriver BiDi
// (https://w3c.github.io/webdriver-bidi/).
type firefoxTab struct {
	log
	socket  *websocket.Conn
	context string // id of the tab

	mu   sync.Mutex
	last int // id of the last command
	// waiting are by the ID of the command; mu guards it.
	waiting map[int]chan bidiReply
	gone    error // why the browser hung up; nil while it is there
}

// A bidiReply is what Firefox sends: the answer of a command, by its ID, or an event, which has
// none.
type bidiReply struct {
	Type string `json:"type"` // success, error, event
	// ID is that of the command; 0 for an event, which has Params.
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	// Error is a code and Message its words; both "" where the command worked.
	Error   string `json:"error"`
	Message string `json:"message"`
	Method  string `json:"method"` // of an event
	Params  struct {
		Text, Level string
	} `json:"params"`
}

// preferences keep a fresh profile from asking the network and from opening pages
// of its own.
const preferences = `user_pref("app.normandy.enabled", false);
user_pref("app.update.disabledForTesting", true);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.homepage_override.mstone", "ignore");
user_pref("browser.startup.page", 0);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("extensions.update.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "data:,");
user_pref("toolkit.telemetry.enabled", false);
`

// startFirefox makes a temporary profile; stop kills the browser and removes it.
func startFirefox() (Tab, func(), error) {
	path, err := find("DEEPPROF_FIREFOX", "firefox-esr")
	if err != nil {
		return nil, nil, err
	}
	profile, err := os.MkdirTemp("", "deepprof-firefox-")
	if err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(filepath.Join(profile, "user.js"), []byte(preferences), 0o666); err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(profile))
	}
	cmd := exec.Command(path, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0")
	cmd.Env = append(os.Environ(), "HOME="+profile, "MOZ_CRASHREPORTER_DISABLE=1")
	address, err := startListening(cmd)
	stop := func() {
		if cmd.Process != nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
		os.RemoveAll(profile)
	}
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	t, err := connectFirefox(address)
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	return t, func() { t.socket.CloseNow(); stop() }, nil
}

// startListening starts Firefox and gives the address at which it waits, which it prints. Its
// output is read to the end in a goroutine that ends with the browser.
func startListening(cmd *exec.Cmd) (string, error) {
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	found := make(chan string, 1)
	go func() {
		defer close(found)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() { // to the end: a full pipe would stop it
			if _, address, ok := strings.Cut(lines.Text(), "BiDi listening on "); ok {
				found <- address
			}
		}
	}()
	select {
	case address, ok := <-found:
		if !ok {
			return "", errors.New("it ended without an address to connect to")
		}
		return address, nil
	case <-time.After(patience):
		return "", fmt.Errorf("it did not listen within %v", patience)
	}
}

// connectFirefox opens a session, listens to the console and makes a tab.
func connectFirefox(address string) (*firefoxTab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	socket, _, err := websocket.Dial(ctx, address+"/session", nil)
	if err != nil {
		return nil, err
	}
	socket.SetReadLimit(1 << 28) // screenshots are one message
	t := &firefoxTab{socket: socket, waiting: map[int]chan bidiReply{}}
	go t.listen()
	if err := t.call("session.new", object{"capabilities": object{}}, nil); err != nil {
		return nil, err
	}
	if err := t.call("session.subscribe", object{"events": []string{"log.entryAdded"}}, nil); err != nil {
		return nil, err
	}
	var made struct{ Context string }
	err = t.call("browsingContext.create", object{"type": "tab"}, &made)
	t.context = made.Context
	return t, err
}

// listen hands answers to those who wait for them until the browser hangs up.
func (t *firefoxTab) listen() {
	for {
		var r bidiReply
		if err := wsjson.Read(context.Background(), t.socket, &r); err != nil {
			t.hangUp(err)
			return
		}
		if r.Type == "event" {
			t.add(r.Params.Level + ": " + r.Params.Text)
			continue
		}
		t.mu.Lock()
		if to, ok := t.waiting[r.ID]; ok {
			delete(t.waiting, r.ID)
			to <- r
		}
		t.mu.Unlock()
	}
}

// hangUp lets everybody who waits fail at once.
func (t *firefoxTab) hangUp(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = fmt.Errorf("firefox hung up: %w", err)
	for _, to := range t.waiting {
		close(to)
	}
	t.waiting = nil
}

// send notes who waits for the answer before it is asked for.
func (t *firefoxTab) send(method string, params object) (chan bidiReply, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone != nil {
		return nil, t.gone
	}
	t.last++
	to := make(chan bidiReply, 1)
	t.waiting[t.last] = to
	return to, wsjson.Write(context.Background(), t.socket, object{"id": t.last, "method": method, "params": params})
}

// call sends a command and reads its result into out, which may be nil.
func (t *firefoxTab) call(method string, params object, out any) error {
	to, err := t.send(method, params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case r, ok := <-to:
		switch {
		case !ok:
			return fmt.Errorf("%s: %w", method, t.gone)
		case r.Type != "success":
			return fmt.Errorf("%s: %s: %s", method, r.Error, r.Message)
		case out == nil:
			return nil
		}
		return json.Unmarshal(r.Result, out)
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer within %v", method, patience)
	}
}

// Open implements Tab: it returns when the page and what it loads are there.
func (t *firefoxTab) Open(url string) error {
	return t.call("browsingContext.navigate", object{"context": t.context, "url": url, "wait": "complete"}, nil)
}

// Eval implements Tab; an exception of the page is an error.
func (t *firefoxTab) Eval(expression string) (json.RawMessage, error) {
	var got struct {
		Type             string
		Result           struct{ Value json.RawMessage }
		ExceptionDetails struct{ Text string }
	}
	err := t.call("script.evaluate", object{"expression": asJSON(expression), "target": object{"context": t.context}, "awaitPromise": true}, &got)
	if err == nil && got.Type != "success" {
		err = errors.New(got.ExceptionDetails.Text)
	}
	if err != nil {
		return nil, err
	}
	var text string
	err = json.Unmarshal(got.Result.Value, &text)
	return json.RawMessage(text), err
}

// Size implements Tab; CSS pixels.
func (t *firefoxTab) Size(width, height int) error {
	return t.call("browsingContext.setViewport", object{"context": t.context, "viewport": object{"width": width, "height": height}}, nil)
}

// Click implements Tab: at the middle of the element, once it rests.
func (t *firefoxTab) Click(selector string) error {
	at, err := restingPlace(t, selector)
	if err != nil {
		return err
	}
	return t.perform("pointer", object{"type": "pointerMove", "x": at[0], "y": at[1]}, object{"type": "pointerDown", "button": 0}, object{"type": "pointerUp", "button": 0})
}

// firefoxKeys are those of the WebDriver specification.
var firefoxKeys = map[string]string{"Enter": "\uE007", "Escape": "\uE00C", "ArrowDown": "\uE015", "ArrowRight": "\uE014", "Tab": "\uE004"}

// Press implements Tab; a name that firefoxKeys lacks is typed as it is.
func (t *firefoxTab) Press(key string) error {
	if named, ok := firefoxKeys[key]; ok {
		key = named
	}
	return t.perform("key", object{"type": "keyDown", "value": key}, object{"type": "keyUp", "value": key})
}

// perform does actions of one input device, in order.
func (t *firefoxTab) perform(kind string, actions ...object) error {
	return t.call("input.performActions", object{"context": t.context, "actions": []object{{"type": kind, "id": kind, "actions": actions}}}, nil)
}

// Screenshot implements Tab: a PNG.
func (t *firefoxTab) Screenshot() ([]byte, error) {
	var got struct{ Data string }
	if err := t.call("browsingContext.captureScreenshot", object{"context": t.context}, &got); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(got.Data)
}

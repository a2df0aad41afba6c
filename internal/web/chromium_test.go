package web

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chromiumTab is a tab of Chromium.
type chromiumTab struct {
	log
	ctx context.Context
}

// startChromium turns the sandbox off, because tests run in containers without user
// namespaces. The size of the window is one that shows the page in its wide layout.
func startChromium() (Tab, func(), error) {
	path, err := find("DEEPPROF_CHROMIUM", "chromium")
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.WindowSize(1440, 900))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopContext := chromedp.NewContext(allocator)
	stop := func() { stopContext(); stopAllocator() }
	t := &chromiumTab{ctx: ctx}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			t.add(m.String())
		}
	}()
	if err := t.Open("about:blank"); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	return t, stop, nil
}

// Open implements Tab.
func (t *chromiumTab) Open(url string) error { return chromedp.Do(t.ctx, chromedp.Navigate(url)) }

// Eval implements Tab; the value is "null" where the expression has none.
func (t *chromiumTab) Eval(expression string) (json.RawMessage, error) {
	return chromiumEval(t.ctx, expression)
}

// chromiumEval is Tab.Eval in the tab of a context of chromedp.
func chromiumEval(ctx context.Context, expression string) (json.RawMessage, error) {
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](asJSON(expression), chromedp.EvalAwaitPromise))
	return json.RawMessage(text), err
}

// asJSON is an expression whose value is a promise of the JSON of another's.
func asJSON(expression string) string {
	return "(async () => JSON.stringify(await (" + expression + ") ?? null))()"
}

// Size implements Tab; CSS pixels.
func (t *chromiumTab) Size(width, height int) error {
	return chromedp.Do(t.ctx, chromedp.EmulateViewport(int64(width), int64(height)))
}

// Click waits until the element rests, since a page that scrolls would be missed.
func (t *chromiumTab) Click(selector string) error {
	if _, err := restingPlace(t, selector); err != nil {
		return err
	}
	return chromedp.Do(t.ctx, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// chromiumKeys are the names of Tab.Press as DevTools knows them.
var chromiumKeys = map[string]string{"Enter": kb.Enter, "Escape": kb.Escape, "ArrowDown": kb.ArrowDown, "ArrowRight": kb.ArrowRight, "Tab": kb.Tab}

// Press implements Tab; a name that chromiumKeys lacks is typed as text.
func (t *chromiumTab) Press(key string) error {
	if named, ok := chromiumKeys[key]; ok {
		key = named
	}
	return chromedp.Do(t.ctx, chromedp.KeyEvent(key))
}

// Screenshot implements Tab: a PNG.
func (t *chromiumTab) Screenshot() ([]byte, error) {
	return chromedp.Run(t.ctx, chromedp.CaptureScreenshot())
}

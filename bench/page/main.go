// Page measures report.html in Chromium without a window or a GPU: how long it
// takes to open, and the frames of its timeline while one zooms, moves and selects.
//
//	page [-rounds 5] report.html
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("page", flag.ContinueOnError)
	rounds := flags.Int("rounds", 5, "how often everything is done; the least of each counts, so that other load does not")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("usage: page [-rounds N] report.html")
	}
	path, err := filepath.Abs(flags.Arg(0))
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	ctx, stop, err := start()
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("%s: %.2f MB\n", flags.Arg(0), float64(info.Size())/1e6)
	if err := measureOpening(ctx, (&url.URL{Scheme: "file", Path: path}).String(), *rounds); err != nil {
		return err
	}
	return measureFrames(ctx, *rounds)
}

func start() (ctx context.Context, stop func(), err error) {
	path, err := exec.LookPath(cmp.Or(os.Getenv("DEEPPROF_CHROMIUM"), "chromium"))
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1440, 900))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopContext := chromedp.NewContext(allocator)
	return ctx, func() { stopContext(); stopAllocator() }, chromedp.Do(ctx, chromedp.EmulateViewport(1440, 900))
}

// measureOpening tells the time from asking for the page to what can be used, and
// to the moment when every event is there, by the clock of the page.
func measureOpening(ctx context.Context, address string, rounds int) error {
	best := [2]float64{}
	for round := range rounds {
		if err := chromedp.Do(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(address)); err != nil {
			return err
		}
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			got, err := chromedp.Run(ctx, chromedp.Evaluate[[]float64](`["ready", "events"].flatMap((n) => performance.getEntriesByName(n)).map((e) => e.startTime)`))
			if err != nil {
				return err
			}
			if len(got) == len(best) {
				for i := range got {
					if round == 0 || got[i] < best[i] {
						best[i] = got[i]
					}
				}
				break
			}
			if time.Now().After(deadline) {
				return errors.New("open the page: its events did not come within 2 minutes")
			}
		}
	}
	fmt.Printf("open: usable after %.0f ms, every event after %.0f ms (least of %d)\n", best[0], best[1], rounds)
	return nil
}

// frameScript does what a reader does, one action a frame, marks each frame, and tells
// what it did.
const frameScript = `(async () => {
  const c = document.querySelector("#timeline-canvas");
  c.focus();
  const key = (k, shiftKey = false) => c.dispatchEvent(new KeyboardEvent("keydown", { key: k, shiftKey, bubbles: true, cancelable: true }));
  const wheel = (deltaY) => c.dispatchEvent(new WheelEvent("wheel", { deltaY, clientX: c.getBoundingClientRect().left + c.clientWidth * 0.6, clientY: c.getBoundingClientRect().top + 60, bubbles: true, cancelable: true }));
  const frame = (act) => new Promise((done) => requestAnimationFrame(() => {
    performance.mark("frame");
    act();
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => done();
    port2.postMessage(0);
  }));
  const out = [];
  const does = async (what, n, act) => { for (let i = 0; i < n; i++, out.push(what)) await frame(act); };
  await does("nothing selected", 1, () => key("Escape"));
  await does("whole run", 1, () => key("0"));
  for (let level = 0; level < 12; level++) {
    await does("zoom " + level, 5, () => wheel(-50));
    await does("move " + level, 6, () => key("d"));
    await does("move back " + level, 3, () => key("a"));
  }
  for (let i = 0; i < 8; i++) await does("lane", 1, () => key("ArrowDown"));
  await does("next event", 12, () => key("ArrowRight", true));
  await does("move, selected", 6, () => key("a"));
  await does("zoom out, selected", 40, () => key("s"));
  return out;
})()`

// A frame is what was done in it and the CPU time of the page's main thread: handling
// the key, drawing on the canvas, style, layout and paint.
type frame struct {
	what string
	ms   float64
}

func measureFrames(ctx context.Context, rounds int) error {
	var best []frame
	for round := range rounds {
		got, err := traceFrames(ctx)
		if err != nil {
			return err
		}
		if round == 0 {
			best = got
		}
		for i, f := range got {
			best[i].ms = min(best[i].ms, f.ms)
		}
	}
	slices.SortFunc(best, func(x, y frame) int { return cmp.Compare(y.ms, x.ms) })
	fmt.Printf("%d frames, CPU time on the main thread (each the least of %d): median %.1f ms, largest:", len(best), rounds, best[len(best)/2].ms)
	for _, f := range best[:5] {
		fmt.Printf(" %.1f ms (%s)", f.ms, f.what)
	}
	fmt.Println()
	return nil
}

// An event of Chromium's trace; times are in microseconds.
type event struct {
	Name string  `json:"name"`
	Cat  string  `json:"cat"`
	PID  int     `json:"pid"`
	TID  int     `json:"tid"`
	TS   float64 `json:"ts"`
	Dur  float64 `json:"dur"`
	CPU  float64 `json:"tdur"` // of the thread
}

func traceFrames(ctx context.Context) ([]frame, error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	defer stop()
	parts, ends := chromedp.Events(ctx, tracing.DataCollected), chromedp.Events(ctx, tracing.TracingComplete)
	config := &tracing.TraceConfig{IncludedCategories: []string{"toplevel", "blink.user_timing"}}
	if _, err := chromedp.Call(ctx, tracing.Start, tracing.StartParams{TraceConfig: config}); err != nil {
		return nil, err
	}
	done, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](frameScript, chromedp.EvalAwaitPromise))
	if err != nil {
		return nil, err
	}
	if _, err := chromedp.Call(ctx, tracing.End, cdp.Empty{}); err != nil {
		return nil, err
	}
	for _, err := range ends {
		if err != nil {
			return nil, err
		}
		break
	}
	// The parts were sent before the end, so that they lie ready; the last has the marks.
	var all []event
	for part, err := range parts {
		if err != nil {
			return nil, err
		}
		for _, v := range part.Value {
			var e event
			if json.Unmarshal(v, &e) == nil {
				all = append(all, e)
			}
		}
		if marks, _ := marksOf(all); len(marks) >= len(done) {
			break
		}
	}
	return framesOf(all, done)
}

// marksOf are the beginnings of the frames and the thread that they ran in.
func marksOf(all []event) (at []float64, of event) {
	for _, e := range all {
		if e.Name == "frame" && e.Cat == "blink.user_timing" {
			at, of = append(at, e.TS), e
		}
	}
	slices.Sort(at)
	return at, of
}

// framesOf gives each frame the tasks of its thread from the one with its mark on.
func framesOf(all []event, done []string) ([]frame, error) {
	marks, of := marksOf(all)
	if len(marks) != len(done) {
		return nil, fmt.Errorf("trace the frames: %d marks of %d frames", len(marks), len(done))
	}
	frames := make([]frame, len(done))
	for i, what := range done {
		frames[i].what = what
	}
	for _, e := range all {
		if e.Name != "ThreadControllerImpl::RunTask" || e.PID != of.PID || e.TID != of.TID {
			continue
		}
		if i, _ := slices.BinarySearch(marks, e.TS+e.Dur); i > 0 {
			frames[i-1].ms += e.CPU / 1000
		}
	}
	return frames, nil
}

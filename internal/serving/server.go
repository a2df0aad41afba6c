// Package serving profiles a server under load: it starts it, waits until it serves
// requests, drives load, measures it without a profiler, in windows of a session
// of Nsight Systems, or while Nsight Compute counts, and ends it with everything
// that it has started. A Setup has the three ways; each gives what was measured and
// the verdict on it. Requests and their statistics are in package load, what is
// known about engines in package engine.
//
// Three ways to measure, with their ends, take 1,200 lines, because engines differ in how a
// profile begins and ends; starting, watching and ending a server without leftovers takes the rest.
package serving

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/deepprof/deepprof/internal/tool"
)

// Options say what to start.
type Options struct {
	Command        tool.Command
	Stdout, Stderr string              // logs
	Stop           time.Duration       // from SIGTERM to SIGKILL
	MaxLog         int64               // bytes of a log after which it is ended; 0 is 1 GB
	OnTick         func(time.Duration) // elapsed; nil for nobody
}

// maxLog bounds what a server may print before it is ended: it goes to the disk
// of the run.
const maxLog = 1 << 30

// A Server is one that was started.
// Its methods may be called from any goroutine.
type Server struct {
	o      Options
	cancel context.CancelFunc // asks it to end, then kills it
	ended  chan struct{}
	// written before ended is closed, and read only after that; so is err
	result tool.Ended
	err    error // it could not be started

	mu      sync.Mutex
	lines   []string // the last few
	waiting string   // text that a line is waited for, "" for none
	seen    bool
	flooded bool
	stopped bool // on purpose
}

// Start starts a server and returns at once; whether it could be started shows
// in Ended.
// The end of ctx does not end the server: Stop does, so that it can be asked to finish.
func Start(ctx context.Context, o Options) *Server {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{o: o, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.result, s.err = tool.Supervise(own, tool.Job{
			Command: o.Command, Stdout: o.Stdout, Stderr: o.Stderr, Signal: syscall.SIGTERM,
			Limits: tool.Limits{Grace: o.Stop, Settle: o.Stop}, OnLine: s.line, OnTick: s.tick,
		})
	}()
	return s
}

// Ended is closed once the server and all that it started are gone.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Result is how it ended; the error is that of its start. Only after Ended.
func (s *Server) Result() (tool.Ended, error) { return s.result, s.err }

// Alive tells whether it still runs.
func (s *Server) Alive() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// Stop asks the server to end by SIGTERM, kills what is left after Options.Stop,
// and returns when all is gone.
// It may be called more than once.
func (s *Server) Stop() {
	s.expect()
	s.cancel()
	<-s.ended
}

// expect notes that the end which comes is wanted.
func (s *Server) expect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Alive() {
		s.stopped = true
	}
}

// Died tells whether it ended by itself.
func (s *Server) Died() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.stopped && !s.Alive()
}

// Flooded tells that it was ended because its log grew without end.
func (s *Server) Flooded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flooded
}

// Output are the last lines that it printed.
// At most twenty, the last one last, without control characters.
func (s *Server) Output() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...)
}

const keptLines = 20

// line gets each line of both streams. Lines are kept as they may be shown; the text that is
// waited for is searched in the line as it was printed.
func (s *Server) line(l tool.Line) {
	text := tool.Quote(l.Text)
	if text == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, text)
	if len(s.lines) > keptLines {
		s.lines = s.lines[len(s.lines)-keptLines:]
	}
	if s.waiting != "" && strings.Contains(l.Text, s.waiting) {
		s.seen = true
	}
}

// tick ends the server when one of its logs is too long.
func (s *Server) tick(t tool.Tick) {
	if s.o.OnTick != nil {
		s.o.OnTick(t.Elapsed)
	}
	for _, path := range []string{s.o.Stdout, s.o.Stderr} {
		if tooLong(path, s.o.MaxLog) {
			s.mu.Lock()
			s.flooded = true
			s.mu.Unlock()
			s.cancel()
		}
	}
}

// tooLong tells that a log has more than limit bytes; 0 is 1 GB.
func tooLong(path string, limit int64) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > cmp.Or(limit, maxLog)
}

// A NotReady says why a server serves no requests.
type NotReady struct {
	Died   bool          // it ended
	Waited time.Duration // how long it was waited for
	Probe  string        // what was asked
	Answer string        // what came of the last attempt
}

func (e *NotReady) Error() string {
	if e.Died {
		return "wait for the server: it ended"
	}
	return fmt.Sprintf("wait for the server: %s after %s: %s", e.Probe, e.Waited.Round(time.Second), e.Answer)
}

// probeEvery is how often it is asked whether it is ready.
const probeEvery = 100 * time.Millisecond

// Ready waits until the server serves requests. Probe is a URL that answers 200,
// tcp:HOST:PORT or log:TEXT. The error is a NotReady, or that of the context.
func (s *Server) Ready(ctx context.Context, probe string, limit time.Duration) error {
	ask := ask(probe)
	if text, ok := strings.CutPrefix(probe, "log:"); ok {
		ask = s.printed(text)
	}
	return await(ctx, probe, ask, limit, s.ended)
}

// Ready is Server.Ready for a server that somebody else has started, and for
// probes other than log:TEXT.
func Ready(ctx context.Context, probe string, limit time.Duration) error {
	return await(ctx, probe, ask(probe), limit, nil)
}

// A question tells whether a server is ready, and what it answered.
type question func(context.Context) (string, bool)

// await asks for the first time after probeEvery. The limit is checked after each answer, so a
// slow answer may exceed it. A nil ended never fires.
func await(ctx context.Context, probe string, ask question, limit time.Duration, ended <-chan struct{}) error {
	for began := time.Now(); ; {
		select {
		case <-ended:
			return &NotReady{Died: true, Waited: time.Since(began), Probe: probe}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(probeEvery):
		}
		answer, ok := ask(ctx)
		if ok {
			return nil
		}
		if time.Since(began) > limit {
			return &NotReady{Waited: time.Since(began), Probe: probe, Answer: answer}
		}
	}
}

// printed asks for a line of the output.
func (s *Server) printed(text string) question {
	s.mu.Lock()
	s.waiting = text
	for _, line := range s.lines {
		s.seen = s.seen || strings.Contains(line, text)
	}
	s.mu.Unlock()
	return func(context.Context) (string, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return "no line of its output holds the text", s.seen
	}
}

// ask is the question of a URL or an address.
func ask(probe string) question {
	if address, ok := strings.CutPrefix(probe, "tcp:"); ok {
		return func(ctx context.Context) (string, bool) {
			err := dial(ctx, address)
			return fmt.Sprint(err), err == nil
		}
	}
	return func(ctx context.Context) (string, bool) {
		status, body, err := Call(ctx, http.MethodGet, probe, "", 5*time.Second)
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("HTTP %d %s", status, tool.Quote(body)), status == http.StatusOK
	}
}

// client speaks to servers on this machine: no proxy, no connection that is kept.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Call sends one request and gives the status and the beginning of the answer.
// At most 1 MiB of the answer is read. A status other than 200 is no error.
func Call(ctx context.Context, method, url, body string, limit time.Duration) (int, string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, strings.TrimSpace(string(text)), err
}

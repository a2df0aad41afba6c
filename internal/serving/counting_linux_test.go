package serving

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/capture"
	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/plan"
	"github.com/deepprof/deepprof/internal/runs"
	"github.com/deepprof/deepprof/internal/tool"
)

// deafServer makes this test binary a server that ignores SIGTERM and says its address.
const deafServer = "DEEPPROF_TEST_DEAF_SERVER"

func init() {
	if os.Getenv(deafServer) == "" {
		return
	}
	signal.Ignore(syscall.SIGTERM)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString(l.Addr().String() + "\n")
	time.Sleep(10 * time.Minute)
	os.Exit(0)
}

// TestEndUnderNcu: a server that ignores SIGTERM is killed, and ncu is given up where
// it does not end then, or where nothing listens.
func TestEndUnderNcu(t *testing.T) {
	server := exec.Command(os.Args[0], "-test.run=^$")
	server.Env = append(os.Environ(), deafServer+"=1")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Process.Kill()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{served: &served{Setup: Setup{Base: "http://" + strings.TrimSpace(address), Server: plan.Server{Stop: 50 * time.Millisecond}}}}
	counting, giveUp := context.WithCancelCause(t.Context())
	defer giveUp(nil)
	c.giveUp = giveUp
	driving, ended := context.WithCancel(t.Context())
	go func() { // stands for ncu, which ends with the server
		server.Wait()
		ended()
	}()
	c.end(driving)
	if counting.Err() != nil || driving.Err() == nil {
		t.Errorf("ncu was given up (%v) or the server goes on (%v)", context.Cause(counting), driving.Err())
	}
	if state := server.ProcessState; state == nil || state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the server ended by %v", state)
	}
	c.end(t.Context()) // nothing listens any more
	if cause := context.Cause(counting); !errors.Is(cause, tool.ErrTimedOut) {
		t.Errorf("ncu was not given up: %v", cause)
	}
}

// TestCountedServerThatHearsNoSignal: ncu has counted everything and is ended with a
// server that stays inside a step; the step is done. Before that it is not.
func TestCountedServerThatHearsNoSignal(t *testing.T) {
	for _, complete := range []bool{true, false} {
		c := &counted{served: &served{}, complete: complete}
		for range 16 {
			c.tally.note("kernel", 0)
		}
		o := capture.Verdict(capture.TimedOut, fact.Fact{})
		o.Usable = true
		c.finishCounting(&o)
		if done := o.State() == runs.StateDone; done != complete || complete && (len(o.Warnings) != 1 || o.What.Number("n") != 16) {
			t.Errorf("complete %t: %s, %+v", complete, o.State(), o)
		}
	}
	o := capture.Verdict(capture.TimedOut, fact.Fact{}) // without a report nothing is done
	if (&counted{served: &served{}, complete: true}).finishCounting(&o); o.State() == runs.StateDone {
		t.Errorf("%+v", o)
	}
}

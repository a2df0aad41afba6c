//go:build unix

package serving

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deepprof/deepprof/internal/nsys"
	"github.com/deepprof/deepprof/internal/tool"
)

// roleVariable makes this binary one of the servers of the tests.
const roleVariable = "DEEPPROF_TEST_SERVER"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		serve(role, os.Args[1])
		return
	}
	os.Exit(m.Run())
}

// serve is a server that behaves in one way.
func serve(role, address string) {
	if role == "dies" {
		fmt.Fprintln(os.Stderr, "no such model")
		os.Exit(3)
	}
	if role == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	if role == "daemon" {
		child := exec.Command("sleep", "600")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Println("daemon", child.Process.Pid)
	}
	for role == "floods" {
		fmt.Println(strings.Repeat("x", 1000))
	}
	status := http.StatusOK
	if role == "loading" {
		status = http.StatusServiceUnavailable
	}
	fmt.Println("serving requests")
	_ = http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func startRole(t *testing.T, role string, stop time.Duration) (*Server, string) {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	s := Start(t.Context(), Options{
		Command: tool.Command{Path: os.Args[0], Args: []string{address}, Env: append(os.Environ(), roleVariable+"="+role)},
		Stdout:  filepath.Join(dir, "out"), Stderr: filepath.Join(dir, "err"), Stop: stop,
	})
	t.Cleanup(s.Stop)
	return s, address
}

func TestReady(t *testing.T) {
	s, address := startRole(t, "good", 10*time.Second)
	for _, probe := range []string{"http://" + address + "/health", "tcp:" + address, "log:serving requests"} {
		if err := s.Ready(t.Context(), probe, time.Minute); err != nil {
			t.Errorf("%s: %v", probe, err)
		}
	}
	holder, taken := Taken(t.Context(), "http://"+address)
	if !taken || !strings.Contains(holder, "pid ") {
		t.Errorf("the port is held by %q, %v", holder, taken)
	}
	s.Stop()
	if ended, err := s.Result(); err != nil || ended.Killed || s.Died() {
		t.Errorf("got %+v, %v", ended, err)
	}
	if _, taken := Taken(t.Context(), "http://"+address); taken {
		t.Error("the port is taken after the end")
	}
}

func TestNotReady(t *testing.T) {
	s, address := startRole(t, "loading", 10*time.Second)
	var notReady *NotReady
	if err := s.Ready(t.Context(), "http://"+address, 2*time.Second); !errors.As(err, &notReady) || notReady.Died || !strings.Contains(notReady.Answer, "503") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Ready(ctx, "http://"+address, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDiesAtStart(t *testing.T) {
	s, address := startRole(t, "dies", 10*time.Second)
	var notReady *NotReady
	if err := s.Ready(t.Context(), "http://"+address, time.Minute); !errors.As(err, &notReady) || !notReady.Died {
		t.Fatalf("got %v", err)
	}
	ended, err := s.Result()
	if said := s.Output(); err != nil || ended.Exit.Code != 3 || !s.Died() || len(said) != 1 || said[0] != "no such model" {
		t.Errorf("got %+v, %v, %q", ended, err, said)
	}
}

// TestStubborn ends a server that ignores SIGTERM.
func TestStubborn(t *testing.T) {
	s, address := startRole(t, "stubborn", time.Second)
	if err := s.Ready(t.Context(), "http://"+address, time.Minute); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if ended, err := s.Result(); err != nil || !ended.Killed || len(ended.Alive) > 0 {
		t.Errorf("got %+v, %v", ended, err)
	}
}

// TestDaemon ends what a server has put into a session of its own.
func TestDaemon(t *testing.T) {
	s, address := startRole(t, "daemon", time.Second)
	if err := s.Ready(t.Context(), "http://"+address, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context(), "log:daemon ", time.Minute); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	for _, line := range s.Output() {
		if text, ok := strings.CutPrefix(line, "daemon "); ok {
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
				t.Errorf("the daemon %s is alive", text)
			}
		}
	}
}

// TestFloods ends a server that fills its log.
func TestFloods(t *testing.T) {
	dir := t.TempDir()
	s := Start(t.Context(), Options{
		Command: tool.Command{Path: os.Args[0], Args: []string{freeAddress(t)}, Env: append(os.Environ(), roleVariable+"=floods")},
		Stdout:  filepath.Join(dir, "out"), Stderr: filepath.Join(dir, "err"), Stop: 5 * time.Second, MaxLog: 1 << 20,
	})
	t.Cleanup(s.Stop)
	select {
	case <-s.Ended():
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if !s.Flooded() {
		t.Error("its log did not end it")
	}
}

// TestSession takes windows of a real nsys, ends the server inside one, and loses
// the session.
func TestSession(t *testing.T) {
	nsight := os.Getenv("DEEPPROF_NSIGHT")
	if nsight == "" {
		t.Skip("DEEPPROF_NSIGHT is not set: no real nsys to drive")
	}
	program := filepath.Join(nsight, "trixie", "nsys")
	launch := func(t *testing.T, name string) (*Session, *Server, string) {
		t.Helper()
		dir, address := t.TempDir(), freeAddress(t)
		s := &Session{
			Session: nsys.Session{Name: name + "-" + strconv.Itoa(os.Getpid()), Version: tool.V(2023, 4, 0), Options: nsys.CaptureOptions{Command: []string{os.Args[0], address}, Trace: []string{"nvtx"}}},
			Program: program, Limit: 2 * time.Minute, Log: func(text string) { t.Log(text) },
			Env: append(os.Environ(), roleVariable+"=good", "TMPDIR="+dir),
		}
		args, _, err := s.Launch()
		if err != nil {
			t.Fatal(err)
		}
		server := Start(t.Context(), Options{Command: tool.Command{Path: program, Args: args, Env: s.Env}, Stdout: filepath.Join(dir, "out"), Stderr: filepath.Join(dir, "err"), Stop: 10 * time.Second})
		t.Cleanup(server.Stop)
		if err := s.Launched(t.Context(), server, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := server.Ready(t.Context(), "http://"+address, time.Minute); err != nil {
			t.Fatal(err)
		}
		return s, server, address
	}
	t.Run("windows", func(t *testing.T) {
		s, server, address := launch(t, "dp-windows")
		for _, name := range []string{"one", "two"} {
			report := filepath.Join(t.TempDir(), name)
			if err := s.Start(t.Context(), report); err != nil {
				t.Fatal(err)
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(report + ".nsys-rep"); err != nil {
				t.Error(err)
			}
		}
		if err := s.Shutdown(t.Context(), server); err != nil {
			t.Error(err)
		}
		server.Stop()
		if _, taken := Taken(t.Context(), "http://"+address); taken || server.Died() {
			t.Error("the server is alive, or it ended by itself")
		}
		// nsys would make an empty session of that name and report success
		if err := s.Start(t.Context(), filepath.Join(t.TempDir(), "x")); !errors.Is(err, errSessionLost) {
			t.Errorf("got %v, want that the session is lost", err)
		}
	})
	t.Run("killed in a window", func(t *testing.T) {
		s, server, address := launch(t, "dp-killed")
		if err := s.Start(t.Context(), filepath.Join(t.TempDir(), "r")); err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(address)
		number, _ := strconv.Atoi(port)
		p, ok := tool.PortHolder(number)
		if !ok {
			t.Fatalf("nobody has port %d", number)
		}
		holder, err := os.FindProcess(p.PID)
		if err != nil || holder.Kill() != nil {
			t.Fatalf("the server cannot be killed: %v", p)
		}
		select {
		case <-server.Ended():
		case <-time.After(time.Minute):
			t.Fatal("nsys goes on without its server")
		}
		if !server.Died() {
			t.Error("the end counts as wanted")
		}
	})
}

// TestEndSession: where the server ended before a window, nsys makes an empty session; it is
// ended with its agent.
func TestEndSession(t *testing.T) {
	nsight := os.Getenv("DEEPPROF_NSIGHT")
	if nsight == "" {
		t.Skip("DEEPPROF_NSIGHT is not set: no real nsys to drive")
	}
	s := &Session{
		Session: nsys.Session{Name: nsys.SessionName("deepprof-test-end")}, Program: filepath.Join(nsight, "trixie", "nsys"),
		Env: tool.Environ(os.Environ(), "TMPDIR="+t.TempDir()), Log: func(text string) { t.Log(text) }, Limit: time.Minute,
	}
	if err := s.End(t.Context()); err != nil {
		t.Errorf("end a session that is not there: %v", err)
	}
	args, err := s.Session.Start(filepath.Join(t.TempDir(), "window"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	if is, err := s.state(t.Context()); err != nil || is == "" {
		t.Fatalf("nsys no longer makes a session: %q, %v", is, err)
	}
	if err := s.End(t.Context()); err != nil {
		t.Error(err)
	}
	if is, err := s.state(t.Context()); err != nil || is != "" {
		t.Errorf("the session is there: %q, %v", is, err)
	}
}

package tool

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A guard is a process that ends what a supervised program has started if this
// process dies, by SIGKILL or a crash. The kernel's own means, Pdeathsig, reaches
// one process only, and sends one signal for each thread of the parent that
// exits before the others do; the second one makes nsys drop its report.
type guard struct {
	cmd  *exec.Cmd
	pipe *os.File // the guard sees its end when this process dies
}

// guardName is the program name under which this executable is a guard.
const guardName = "deepprof-guard"

// guardScan is how often a guard looks for processes that left their parents:
// once its own parent is dead, only what it has seen before shows as theirs.
const guardScan = 500 * time.Millisecond

// Any program that supervises others, a test for example, can be its own guard.
func init() {
	if len(os.Args) > 0 && os.Args[0] == guardName {
		guardMain()
		os.Exit(0)
	}
}

// startGuard starts the guard of a program that is not started yet. It stays in
// the session of this process, so that no run takes it for a stray, and out of
// its group, so that the terminal's signals do not reach it.
func startGuard() (*guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd := &exec.Cmd{Path: self, Args: []string{guardName}, Dir: "/", Stdin: in}
	cmd.Env = []string{"GOMAXPROCS=1", "TMPDIR=" + os.TempDir()} // nsys stores the environment of what it sees
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		_ = out.Close()
		return nil, err
	}
	return &guard{cmd: cmd, pipe: out}, nil
}

// watch names the program to the guard.
func (g *guard) watch(profiler string, t *tree, grace time.Duration) {
	_, _ = fmt.Fprintf(g.pipe, "%d %d %d %q %q\n", t.self, t.root, grace.Milliseconds(), t.marker, profiler)
}

// dismiss ends the guard; the program has ended.
func (g *guard) dismiss() {
	_, _ = fmt.Fprintln(g.pipe)
	_ = g.pipe.Close()
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
}

// guardMain reads whom to watch, then waits: for a line if all is well, for the
// end of input if the parent has died.
func guardMain() {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	in := bufio.NewReader(os.Stdin)
	var graceMS int64
	var profiler string
	sid, _ := unix.Getsid(0)
	t := newTree(0, "", 0, sid)
	if _, err := fmt.Fscanf(in, "%d %d %d %q %q\n", &t.self, &t.root, &graceMS, &t.marker, &profiler); err != nil {
		return
	}
	t.sessions[t.root] = true
	active.trees = map[*tree]bool{t: true}
	line := make(chan error)
	go func() {
		_, err := in.ReadString('\n')
		line <- err
	}()
	tick := time.NewTicker(guardScan)
	for {
		select {
		case err := <-line:
			if err != nil {
				t.end(profiler, time.Duration(graceMS)*time.Millisecond)
			}
			return
		case <-tick.C:
			_ = t.scan()
		}
	}
}

// end asks a tree to finish as its profiler wants to be asked, and kills what is
// alive after the grace.
func (t *tree) end(profiler string, grace time.Duration) {
	defer t.clearLeft()
	_ = t.scan()
	switch profiler {
	case Nsys: // it ends its target itself
		_ = unix.Kill(t.root, unix.SIGTERM)
	case Ncu:
		_ = unix.Kill(-t.root, unix.SIGINT)
	default:
		_ = unix.Kill(-t.root, unix.SIGTERM)
	}
	for until := time.Now().Add(grace); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		if _ = t.scan(); len(t.live()) == 0 {
			return
		}
	}
	t.kill(10 * time.Second)
}

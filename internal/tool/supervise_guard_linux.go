package tool

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A guard is a process that sends one signal to a supervised program if this
// process dies, by SIGKILL or a crash. The kernel's own means, Pdeathsig, sends
// one signal for each thread of the parent that exits before the others do, and
// the second one makes nsys drop its report.
type guard struct {
	cmd  *exec.Cmd
	pipe *os.File // the guard sees its end when this process dies
}

// guardScript reads whom to signal, then waits: for a line if all is well, for
// the end of input if its parent has died. $1 is the signal, $2 the number of
// seconds after which what still lives is killed; 0 never does.
const guardScript = `trap '' HUP INT QUIT TERM
read -r pid || exit 0
read -r line && exit 0
kill -s "$1" -- "$pid"
left=$2
[ "$left" -gt 0 ] || exit 0
while kill -s 0 -- "$pid"; do
	[ "$left" -gt 0 ] || { kill -s KILL -- "$pid"; exit 0; }
	left=$((left-1))
	sleep 1
done`

// startGuard starts the guard of a program that is not started yet. It stays in
// the session of this process, so that no run takes it for a stray, and out of
// its group, so that the terminal's signals do not reach it.
func startGuard(profiler string, grace time.Duration) (*guard, error) {
	sig, patience := "TERM", max(int(grace.Seconds()), 1)
	switch profiler {
	case Nsys:
		patience = 0 // it ends its target itself, and writing the report takes its time
	case Ncu:
		sig = "INT"
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript, "deepprof-guard", sig, fmt.Sprint(patience))
	cmd.Dir, cmd.Stdin = "/", in
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"} // nsys stores the environment of what it sees
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		_ = out.Close()
		return nil, err
	}
	return &guard{cmd: cmd, pipe: out}, nil
}

// watch names the program: nsys itself, of others the whole group.
func (g *guard) watch(profiler string, pid int) {
	if profiler != Nsys {
		pid = -pid
	}
	_, _ = fmt.Fprintln(g.pipe, pid)
}

// dismiss ends the guard; the program has ended.
func (g *guard) dismiss() {
	_, _ = fmt.Fprintln(g.pipe)
	_ = g.pipe.Close()
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
}

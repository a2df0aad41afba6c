package tool

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// settles says that settle can wait for a process without reaping it.
const settles = true

// ownGroup also ends the process with this one: nobody waits for its answer then.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// groupCPU is the CPU time that the live processes of a group have used.
func groupCPU(pgid int) time.Duration {
	var sum time.Duration
	table, _ := processTable()
	for _, p := range table {
		if p.pgid == pgid {
			sum += p.cpu
		}
	}
	return sum
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// settle waits until pid has ended and kills what it left in its group. The
// leader is dead but not yet reaped then, so that its number cannot have been
// given to another group.
func settle(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	killGroup(pid)
}

package tool

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PortHolder finds the process that listens on a TCP port of this machine; false
// where nobody does, or it belongs to another user.
func PortHolder(port int) (Process, bool) {
	inodes := map[string]bool{}
	_ = sockets(port, func(state, inode string) {
		if state == "0A" { // it listens
			inodes["socket:["+inode+"]"] = true
		}
	})
	if len(inodes) == 0 {
		return Process{}, false
	}
	for _, fd := range Match("/proc", "[0-9]*/fd/*") {
		link, err := os.Readlink(fd)
		if err != nil || !inodes[link] {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(fd, string(filepath.Separator))[2])
		if err != nil {
			continue
		}
		if p, ok := readProc(pid); ok {
			return Process{p.pid, p.name}, true
		}
	}
	return Process{}, false
}

// Connections counts the open connections to a TCP port of this machine, of whomever;
// false where that cannot be told.
func Connections(port int) (n int, ok bool) {
	err := sockets(port, func(state, _ string) {
		if state == "01" { // established
			n++
		}
	})
	return n, err == nil
}

// sockets visits those on a port in the tables of the kernel, with their state and
// the number that the links of their descriptors have.
func sockets(port int, visit func(state, inode string)) error {
	suffix := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if os.IsNotExist(err) && strings.HasSuffix(table, "6") { // a machine without IPv6
			continue
		}
		if err != nil {
			return err
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) > 9 && strings.HasSuffix(fields[1], suffix) {
				visit(fields[3], fields[9])
			}
		}
		f.Close()
	}
	return nil
}

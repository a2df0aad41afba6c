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
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		listening(table, port, inodes)
	}
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

// listening adds the sockets of a table of the kernel that listen on a port, as
// the links of their descriptors name them.
func listening(table string, port int, inodes map[string]bool) {
	f, err := os.Open(table)
	if err != nil {
		return
	}
	defer f.Close()
	const listen = "0A"
	suffix := fmt.Sprintf(":%04X", port)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 9 && strings.HasSuffix(fields[1], suffix) && fields[3] == listen {
			inodes["socket:["+fields[9]+"]"] = true
		}
	}
}

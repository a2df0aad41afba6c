//go:build unix

package format

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// FreeSpace is how many bytes a user may still write to the disk of a folder.
func FreeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// gone tells that a process does not exist.
func gone(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// writtenBytes is how many bytes of a file are no holes; size if the file
// system does not tell. It moves the position of f.
func writtenBytes(f *os.File, size int64) int64 {
	fd, written := int(f.Fd()), int64(0)
	for at, steps := int64(0), 0; at < size; steps++ {
		data, err := unix.Seek(fd, at, seekData)
		if errors.Is(err, unix.ENXIO) { // no data behind at
			break
		}
		if err != nil {
			return size
		}
		hole, err := unix.Seek(fd, data, seekHole)
		if err != nil || steps == 1000 {
			return size
		}
		written += hole - data
		at = hole
	}
	return written
}

//go:build unix

package runs

import (
	"io/fs"
	"syscall"
)

// inode is 0 if the file system does not tell.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}

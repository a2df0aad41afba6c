//go:build unix

package doctor

import (
	"fmt"
	"os"
	"syscall"
)

// ownerOf is the user id and the mode of a path itself; links are not followed.
func ownerOf(path string) (int, os.FileMode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("owner of %s: not told by this system", path)
	}
	return int(st.Uid), info.Mode(), nil
}

//go:build !unix

package doctor

import (
	"errors"
	"os"
)

func freeBytes(string) (uint64, error) { return 0, errors.ErrUnsupported }

func ownerOf(path string) (int, os.FileMode, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, 0, err
	}
	return 0, info.Mode(), errors.ErrUnsupported
}

package format

import (
	"os"

	"golang.org/x/sys/windows"
)

// FreeSpace is how many bytes a user may still write to the disk of a folder.
func FreeSpace(dir string) (int64, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, err
	}
	return int64(min(free, 1<<62)), nil
}

// gone tells that a process does not exist.
func gone(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return err == windows.ERROR_INVALID_PARAMETER
	}
	windows.CloseHandle(h)
	return false
}

// writtenBytes takes every byte of a file for written: NTFS does not tell about
// holes by seeking.
func writtenBytes(_ *os.File, size int64) int64 { return size }

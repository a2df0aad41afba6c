package spill

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"
)

const (
	// residentBytes is how much of the columns may be in memory before the store lets go of it.
	residentBytes = 96 << 20
	// lookEvery is how often the store looks how much is: time to fill some 10 MB.
	lookEvery = 2 * time.Millisecond
	// spareBytes is what columns leave free on the disk, for others.
	spareBytes = 1 << 30

	tmpfsMagic, ramfsMagic = 0x01021994, 0x858458f6
)

var errNoRoom = errors.New("no room on the disk for columns")

// pages is the mapped file.
type pages struct {
	file  *os.File // nil before the first column
	size  int64
	watch chan struct{} // closed: nobody looks any more
	done  chan struct{} // closed: nobody does look any more
}

// add maps new memory at the end of the file. The blocks are taken from the disk at once: a
// write to a page that finds no room would kill the program.
func (s *Store) add(size int) ([]byte, error) {
	if s.file == nil {
		if err := s.open(); err != nil {
			return nil, err
		}
	}
	page := os.Getpagesize()
	size = (size + page - 1) / page * page
	fd := int(s.file.Fd())
	var disk syscall.Statfs_t
	if err := syscall.Fstatfs(fd, &disk); err != nil {
		return nil, err
	}
	if free := int64(disk.Bavail) * disk.Bsize; free < int64(size)+spareBytes {
		return nil, errNoRoom
	}
	if err := syscall.Fallocate(fd, 0, s.size, int64(size)); err != nil {
		return nil, err
	}
	column, err := syscall.Mmap(fd, s.size, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	s.size += int64(size)
	return column, nil
}

// open makes the file, and begins to look how much of it is in memory.
func (s *Store) open() error {
	f, err := File()
	if err != nil {
		return err
	}
	var disk syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &disk); err != nil {
		f.Close()
		return err
	}
	if disk.Type == tmpfsMagic || disk.Type == ramfsMagic {
		f.Close()
		return errNoRoom
	}
	status, err := os.Open("/proc/self/statm")
	if err != nil {
		f.Close()
		return err
	}
	s.file, s.watch, s.done = f, make(chan struct{}), make(chan struct{})
	go s.look(status)
	return nil
}

// look lets go of all pages whenever too many are in memory. They stay in the file, and those
// that are needed come back: what is read in turn costs next to nothing by that.
func (s *Store) look(status *os.File) {
	defer close(s.done)
	defer status.Close()
	before := mappedBytes(status)
	for {
		select {
		case <-s.watch:
			return
		case <-time.After(lookEvery):
		}
		if mappedBytes(status)-before > residentBytes {
			s.letGo()
		}
	}
}

// letGo takes the pages of all columns out of the memory of this process.
func (s *Store) letGo() {
	s.mu.Lock()
	columns := s.columns
	s.mu.Unlock()
	for _, c := range columns {
		syscall.Madvise(c, syscall.MADV_DONTNEED) // advice: without it more stays in memory
	}
}

// mappedBytes is how much of mapped files is in the memory of this process; 0 where the system
// does not tell.
func mappedBytes(status *os.File) int64 {
	var room [128]byte
	n, _ := status.ReadAt(room[:], 0)
	fields := bytes.Fields(room[:n])
	if len(fields) < 3 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// release unmaps the columns and ends the file.
func (s *Store) release(columns [][]byte) {
	if s.file == nil {
		return
	}
	close(s.watch)
	s.mu.Unlock() // look may wait for it
	<-s.done
	s.mu.Lock()
	for _, c := range columns {
		syscall.Munmap(c)
	}
	s.file.Close()
	s.file, s.size = nil, 0
}

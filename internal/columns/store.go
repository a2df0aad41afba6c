// Package columns keeps long tables of numbers in blocks: packed, each number in as few bytes as
// the others of its column and block need, and beyond a bound in a temporary file. Tables are
// written once and then read in order, by any number of readers, so that millions of rows take
// the memory of a few.
package columns

import (
	"fmt"
	"math"
	"os"
	"sync"

	"github.com/deepprof/deepprof/internal/format"
)

// A Store is where the blocks of tables lie: the first in memory, as many as it may hold, and
// the rest in a file without a name, of which nothing is left when the program ends. Several
// goroutines may write and read.
type Store struct {
	background sync.WaitGroup

	waiting sync.Mutex
	toPack  []func()  // blocks that wait to be packed, in their order
	packs   bool      // somebody packs them
	packed  sync.Cond // fewer of them wait

	mu     sync.Mutex
	memory int64 // bytes that may still be kept in memory
	file   *os.File
	size   int64 // of the file
	free   int64 // bytes that may still be written before the disk is looked at
	off    bool  // there is no room for a file: all blocks stay in memory
}

// MostMemory is how many bytes of blocks any store may keep in memory. Only tests change it.
var MostMemory int64 = math.MaxInt64

const (
	// spareBytes is what a store leaves free on the disk, for others.
	spareBytes = 1 << 30
	// lookBytes is how much is written before the store looks again how much is free.
	lookBytes = 64 << 20
)

// NewStore is a store without blocks, which keeps so many bytes of them in memory. Without
// Close its file is gone when the store is collected.
func NewStore(memory int64) *Store {
	s := &Store{memory: min(memory, MostMemory)}
	s.packed.L = &s.waiting
	return s
}

// Go runs a function that uses blocks in the background. Close waits for it.
func (s *Store) Go(do func()) {
	if s == nil {
		go do()
		return
	}
	s.background.Go(do)
}

// mostToPack is how many blocks may wait to be packed.
const mostToPack = 8

// pack packs a block in the background, after those that were handed over before.
func (s *Store) pack(block func()) {
	s.waiting.Lock()
	defer s.waiting.Unlock()
	for len(s.toPack) == mostToPack {
		s.packed.Wait()
	}
	s.toPack = append(s.toPack, block)
	if !s.packs {
		s.packs = true
		s.Go(s.packAll)
	}
}

// packAll packs blocks until none waits.
func (s *Store) packAll() {
	s.waiting.Lock()
	defer s.waiting.Unlock()
	for len(s.toPack) > 0 {
		block := s.toPack[0]
		s.toPack = append(s.toPack[:0], s.toPack[1:]...)
		s.waiting.Unlock()
		block()
		s.waiting.Lock()
		s.packed.Broadcast()
	}
	s.packs = false
}

// Close ends the file once what runs in the background has ended; it does not wait for that.
// Nobody else may use blocks afterwards.
func (s *Store) Close() { go s.close() }

func (s *Store) close() {
	s.background.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// put keeps a block, which belongs to the store from then on if kept is not nil: then it lies
// in memory, else at a place of the file.
func (s *Store) put(block []byte) (kept []byte, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := int64(len(block)); n <= s.memory || s.off || !s.room(n) {
		s.memory -= n
		return block, 0
	}
	at = s.size
	if _, err := s.file.WriteAt(block, at); err != nil {
		s.off = true
		return block, 0
	}
	s.size += int64(len(block))
	return nil, at
}

// room makes the file, and tells whether it may grow by some bytes.
func (s *Store) room(n int64) bool {
	if s.file == nil {
		f, err := File()
		if err != nil {
			s.off = true
			return false
		}
		s.file = f
	}
	if s.free < n {
		free, err := format.FreeSpace(os.TempDir())
		if err != nil || free < spareBytes+lookBytes+n {
			s.off = true
			return false
		}
		s.free = lookBytes + n
	}
	s.free -= n
	return true
}

// read fills the block with what lies at a place of the file. That it cannot be read back
// leaves nothing to go on with.
func (s *Store) read(block []byte, at int64) {
	if _, err := s.file.ReadAt(block, at); err != nil {
		panic(fmt.Errorf("read back %d bytes of a temporary file in %s: %w", len(block), os.TempDir(), err))
	}
}

// File is a new temporary file that has no name: nothing is left of it when the program ends,
// however it does.
func File() (*os.File, error) {
	f, err := os.CreateTemp("", "deepprof-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil { // as on Windows, where an open file keeps its name
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	return f, nil
}

// Blocks are blocks of bytes by their number, from 0. The zero value has none and keeps
// everything in memory.
type Blocks struct {
	store *Store
	list  []block
}

// A block is in memory, or so many bytes at a place of the file.
type block struct {
	data []byte
	at   int64
	size int
}

// NewBlocks is an empty list of blocks in a store; nil keeps them in memory.
func NewBlocks(store *Store) Blocks { return Blocks{store: store} }

// Len is the number of blocks.
func (b *Blocks) Len() int { return len(b.list) }

// Add appends a block, which it takes over or copies to the file. It tells whether the caller
// may use the memory of the block again.
func (b *Blocks) Add(data []byte) (again bool) {
	kept, at := data, int64(0)
	if b.store != nil {
		kept, at = b.store.put(data)
	}
	b.list = append(b.list, block{kept, at, len(data)})
	return kept == nil
}

// Read gives block i, which may not be changed. Room, which may be nil, is memory for a block
// of the file: it is returned, perhaps grown, and the block is valid until it is used again.
func (b *Blocks) Read(i int, room []byte) (data, used []byte) {
	at := &b.list[i]
	if at.data != nil || at.size == 0 {
		return at.data, room
	}
	if cap(room) < at.size {
		room = make([]byte, at.size+at.size/4)
	}
	data = room[:at.size]
	b.store.read(data, at.at)
	return data, room
}

// Package spill keeps large columns of numbers in a file without a name instead of in memory, so
// that a timeline of 30 million launches needs no more memory than one of 3 million. The
// file is mapped: a column is an ordinary slice, and the system reads and writes its pages
// as they are used. The store lets go of them once more than a few are in memory.
//
// Where there is no such file (another system than Linux, no room on the disk, a temporary
// folder that is memory itself), columns are ordinary memory.
package spill

import (
	"os"
	"reflect"
	"sync"
	"unsafe"
)

// A Store has the columns of one timeline. A nil Store makes ordinary memory.
// Several goroutines may use it at the same time.
type Store struct {
	background sync.WaitGroup

	mu      sync.Mutex
	columns [][]byte // mapped
	pages
	off bool // a column could not be put into the file: no further one is tried
}

// FileBytes is the size from which on what is read of a file goes to a store, ColumnBytes the
// size from which on a column of a store goes to its file. Smaller ones are in memory, which is
// faster. Only tests change them.
var FileBytes, ColumnBytes int64 = 768 << 20, 1 << 20

// New is a store without columns; it makes its file when the first large one is asked for.
func New() *Store { return &Store{} }

// Make is make([]T, n). The slice may be used until the store is closed; appending more than
// n moves it to ordinary memory.
func Make[T any](s *Store, n int) []T {
	size := n * int(unsafe.Sizeof(*new(T)))
	if s == nil || int64(size) < ColumnBytes || size == 0 || hasPointers(reflect.TypeFor[T]()) {
		return make([]T, n)
	}
	column := s.column(size)
	if column == nil {
		return make([]T, n)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(column))), n)
}

// Append is append for a slice that Make has made, or that is nil: it grows within the store.
func Append[T any](s *Store, list []T, more T) []T {
	if len(list) == cap(list) && s != nil {
		grown := Make[T](s, max(1024, 2*len(list)))
		list = grown[:copy(grown, list)]
	}
	return append(list, more)
}

// Clone copies a slice, with room for more.
func Clone[T any](s *Store, list []T, more int) []T {
	room := Make[T](s, len(list)+more)
	return room[:copy(room, list)]
}

// Go runs a function that uses columns in the background. Close waits for it.
func (s *Store) Go(do func()) {
	if s == nil {
		go do()
		return
	}
	s.background.Go(do)
}

// Close takes the columns away, and their file with them, once what runs in the background has
// ended; it does not wait for that. Nobody else may use a column afterwards.
func (s *Store) Close() {
	if s != nil {
		go s.close()
	}
}

func (s *Store) close() {
	s.background.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(s.columns)
	s.columns, s.off = nil, true
}

// column is zeroed memory in the file; nil where there is no room for it.
func (s *Store) column(size int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return nil
	}
	c, err := s.add(size)
	if err != nil {
		s.off = true
		return nil
	}
	s.columns = append(s.columns, c)
	return c
}

// hasPointers tells whether values of a type may refer to memory, which the garbage collector
// would not see in a file.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return false
	}
	return true
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

package format

import (
	"fmt"
	"io"
	"os"
)

// ReadFile is os.ReadFile of what Inspect accepts, of at most limit bytes: a pipe
// would be waited for, and a sparse file would fill the memory.
// Compressed content is not unpacked. A file that grows meanwhile may exceed the limit.
func ReadFile(path string, limit int64) ([]byte, error) {
	fi, err := Inspect(path)
	if err != nil {
		return nil, err
	}
	if fi.Size() > limit {
		return nil, fmt.Errorf("read %s: %w: it has %d bytes, at most %d are read", path, ErrTooLarge, fi.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := checkHoles(f, fi.Size()); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return io.ReadAll(f)
}

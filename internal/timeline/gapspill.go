package timeline

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"

	"github.com/deepprof/deepprof/internal/columns"
)

// A gapSpill has the gaps that were found first in a temporary file, so that the memory of
// a gapStore does not grow with them. The file has no name any more: nothing is left of it
// when the program ends, however it does.
// Nobody closes it: rows may be asked for again. The runtime does once the store is collected.
type gapSpill struct {
	file *os.File // nil as long as nothing was written
	size int64
	runs []gapRun
	// off says that there is no room for a file, or that it cannot be without a name: all
	// gaps stay in memory.
	off bool
}

// A gapRun is the gaps of a stretch of time, all of which ended before those of the next
// run. Its bytes are a segment for each chain, the one of the longest gaps first: how much
// lower its number is than that of the segment before (uvarint), how many bytes follow
// (uvarint), and the records as the chain has them.
type gapRun struct{ from, size int64 }

// spilledChunks is how many chunks a store keeps before it writes them to the file: 4 MB.
// Tests keep fewer.
var spilledChunks = uint32(4 << 20 / chunkSize)

// write appends the chains of a store to the file as a run; false where that fails, and
// the store has to keep them.
func (s *gapSpill) write(g *gapStore) bool {
	if s.off {
		return false
	}
	if s.file == nil {
		f, err := columns.File()
		if err != nil {
			s.off = true
			return false
		}
		s.file = f
	}
	w := bufio.NewWriterSize(io.NewOffsetWriter(s.file, s.size), 1<<16)
	n, last := int64(0), len(g.chains)
	var head []byte
	for at := len(g.chains) - 1; at >= 0; at-- {
		c := &g.chains[at]
		if c.first == 0 {
			continue
		}
		size := c.size()
		head = binary.AppendUvarint(head[:0], uint64(last-at))
		head = binary.AppendUvarint(head, uint64(size))
		last = at
		w.Write(head) // an error stays until Flush
		n += int64(len(head) + size)
		for in := (chainReader{g: g, next: c.first, last: c.last, used: int(c.used)}); in.more(); in.rest = nil {
			w.Write(in.rest)
		}
	}
	if w.Flush() != nil {
		s.off = true
		return false
	}
	s.runs = append(s.runs, gapRun{s.size, n})
	s.size += n
	return true
}

// readers go through the runs, in the order of time.
func (s *gapSpill) readers() (list []*runReader) {
	for _, run := range s.runs {
		r := &runReader{in: bufio.NewReaderSize(io.NewSectionReader(s.file, run.from, run.size), 1<<15)}
		r.next(chainedGaps)
		list = append(list, r)
	}
	return list
}

// A runReader goes through the segments of a run.
type runReader struct {
	in    *bufio.Reader
	chain int64 // of the segment; -1 behind the last
	left  int   // bytes of it that were not read
	buf   []byte
	err   error // what the file, which was written before, does not give any more
}

// next goes on to the next segment; before is the chain of the one that was read.
func (r *runReader) next(before int64) {
	less, err := binary.ReadUvarint(r.in)
	if err != nil || r.err != nil {
		r.chain = -1
		return
	}
	size, err := binary.ReadUvarint(r.in)
	r.chain, r.left, r.err = before-int64(less), int(size), err
}

// more reads on in the segment; nothing behind its end.
// The bytes are valid until the next call.
func (r *runReader) more() []byte {
	if r.buf == nil {
		r.buf = make([]byte, 1<<12)
	}
	part := r.buf[:min(r.left, len(r.buf))]
	if _, err := io.ReadFull(r.in, part); err != nil {
		r.err, r.left = err, 0
		return nil
	}
	r.left -= len(part)
	return part
}

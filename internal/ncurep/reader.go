// Package ncurep reads reports of Nsight Compute: the .ncu-rep container
// natively, and the CSV pages that ncu prints, into one model. It also writes
// the raw page as ncu would, so that the two can be compared to the last digit.
//
// docs/ncu-rep.md describes the container and the rules that are applied to it.
//
// 1,500 lines read the container, which has four kinds of results, and 500 the CSV
// pages. The model takes 350, the raw page and the comparison with ncu 550, copies
// without secrets or cubins 300, and the dump 200.
package ncurep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/deepprof/deepprof/internal/fact"
	"github.com/deepprof/deepprof/internal/format"
)

// Bounds on what one length in a file may make the reader hold in memory.
const (
	maxHeader = 16 << 20 // a block header with its string table
	maxField  = 64 << 20 // one metric, rule, section or NVTX state
)

const (
	magic        = format.NcuMagic
	knownVersion = 7
)

// errFormat is in the chain of errors about files that are no .ncu-rep at all. Damage within
// one is no error, but a Warning.
var errFormat = errors.New("not an Nsight Compute report")

// Options choose what is decoded. The zero value reads launches and the
// values of all metrics, which is what most callers want.
type Options struct {
	Instances bool // the values that a metric is made of
	Rules     bool
	Sections  bool
	Sources   bool // list embedded cubins and sources, by size
	NoMetrics bool // launches only
	// Metrics selects metrics by name; nil selects all. It is asked once per name.
	Metrics func(name string) bool
}

// block is a place in the file where results or sources lie.
type block struct {
	at      int64     // of the payload
	size    int64     // announced
	have    int64     // present in the file
	counts  [4]uint32 // results by ResultKind
	sources uint32    // entries before the results
	process Process
}

// Reader delivers the results of one report in the order in which ncu shows
// them: file order, the results of one process together. Everything but the
// results is known when it is made, because the headers of all blocks are
// visited first. It is not safe for concurrent use.
// Memory is that of one result, the string table and the texts that results share.
type Reader struct {
	opts   Options
	closer io.Closer
	info   Info
	// strings is the table of all blocks; metrics name themselves by an index into it.
	strings  []string
	wanted   []int8            // per string: 0 not asked yet, 1 wanted, -1 not
	used     []bool            // per string: a metric of a result read so far has that name
	units    map[string]string // by name, made when the first is asked for
	blocks   []block           // that have results or sources, in the order in which ncu shows them
	warnings []Warning         // at most a hundred, and one that says so
	// interned shares texts that results repeat; see intern.
	interned map[string]string

	// The rest is where Next stands. Before the first call, and behind the last result, no
	// block is open.
	cur     cursor
	block   int    // index of the block being read
	kind    int    // of the next message in it
	seen    uint32 // messages of that kind read
	at      int64  // of the next message
	started bool
	nextID  int
	expect  int // metrics of the previous result: room to reserve for the next
}

// Open opens a report, also one that gzip or zstd has compressed. The caller
// closes the Reader.
func Open(path string, opts Options) (*Reader, error) {
	plain, done, err := format.Plain(context.Background(), path)
	if err != nil {
		return nil, fmt.Errorf("open report: %w", err)
	}
	defer done() // a temporary copy stays readable while it is open
	f, err := os.Open(plain)
	if err != nil {
		return nil, fmt.Errorf("open report: %w", err)
	}
	r, err := newReaderOf(f, opts)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read report %s: %w", path, err)
	}
	r.closer = f
	return r, nil
}

// newReaderOf refuses a folder with words that a person understands.
func newReaderOf(f *os.File, opts Options) (*Reader, error) {
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case st.IsDir():
		return nil, errors.New("it is a directory")
	}
	return NewReader(f, st.Size(), opts)
}

// NewReader reads the headers of the report in src.
// src must stay readable until the last Next. A file that is no report at all is an
// error; a damaged one is not, see Warnings.
func NewReader(src io.ReaderAt, size int64, opts Options) (*Reader, error) {
	r := &Reader{opts: opts, interned: map[string]string{}}
	r.cur.src = src
	r.info.Size = size
	if err := r.scan(); err != nil {
		return nil, err
	}
	return r, nil
}

// Close closes the file that Open opened.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// Info returns what the headers say.
// It is complete from the start and shared: callers do not change it.
func (r *Reader) Info() *Info { return &r.info }

// Warnings returns what was wrong so far; complete once Next returned io.EOF.
func (r *Reader) Warnings() []Warning { return r.warnings }

// All iterates over the results that are left.
// Results are delivered once: a second All begins where the first stopped.
func (r *Reader) All() iter.Seq[*Result] {
	return func(yield func(*Result) bool) {
		for {
			res, err := r.Next()
			if err != nil || !yield(res) {
				return
			}
		}
	}
}

// ReadFile reads a whole report.
// Memory grows with the counters, not with the file, most of which are cubins that are
// passed over.
func ReadFile(path string, opts Options) (*Report, error) {
	r, err := Open(path, opts)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.report(), nil
}

// report reads what is left in r.
func (r *Reader) report() *Report {
	rep := &Report{}
	rep.Results = slices.AppendSeq(rep.Results, r.All())
	rep.Info, rep.Warnings = r.info, r.warnings
	rep.names = r.usedNames()
	rep.assignUnits()
	return rep
}

// Lost are the warnings that tell of results or parts of them that were not read;
// complete once Next returned io.EOF.
func (r *Reader) Lost() []Warning { return lostOf(r.warnings) }

// Lost are the warnings that tell of something that was not read.
func (r *Report) Lost() []Warning { return lostOf(r.Warnings) }

// lostOf leaves the list as it is.
func lostOf(list []Warning) []Warning {
	return slices.DeleteFunc(slices.Clone(list), func(w Warning) bool { return w.Lost == 0 })
}

// at and lost are bytes; lost is 0 if everything could still be read.
func (r *Reader) warn(at, lost int64, code fact.Code, params ...fact.Param) {
	const enough = 100 // a file of noise must not fill memory with complaints
	if len(r.warnings) == enough {
		r.warnings = append(r.warnings, Warning{Offset: -1, What: fact.New(remarksMany)})
	}
	if len(r.warnings) > enough {
		return
	}
	r.warnings = append(r.warnings, placed(Warning{Offset: at, Lost: lost, What: fact.New(code, params...)}))
}

// scan reads the file header and all block headers.
func (r *Reader) scan() error {
	c := &r.cur
	c.ahead = headerWindow
	defer func() { c.ahead = windowSize }()
	c.reset(0, r.info.Size)
	if r.info.Size == 0 {
		return fmt.Errorf("%w: the file is empty", errFormat)
	}
	m, err := c.next(int64(len(magic)))
	if err != nil || string(m) != magic {
		return fmt.Errorf("%w: it does not start with NVR", errFormat)
	}
	if !r.fileHeader() {
		return nil
	}
	for c.left() > 0 && r.blockHeader() {
	}
	r.orderBlocks()
	return nil
}

// orderBlocks brings the blocks of each process together, as ncu does: by
// process id and host. A process has the name that it was first seen with.
func (r *Reader) orderBlocks() {
	type key struct {
		id   uint32
		host string
	}
	names := map[key]string{}
	for i := range r.blocks {
		p := &r.blocks[i].process
		k := key{p.ID, p.Host}
		if name, ok := names[k]; ok {
			p.Name = name
		} else if r.blocks[i].results() > 0 {
			names[k] = p.Name
		}
	}
	slices.SortStableFunc(r.blocks, func(a, b block) int {
		return cmp.Or(cmp.Compare(a.process.ID, b.process.ID), cmp.Compare(a.process.Host, b.process.Host))
	})
}

// fileHeader reports false if nothing after it can be found. An unknown version is
// read like the known one, with a warning.
func (r *Reader) fileHeader() bool {
	c := &r.cur
	head, ok := r.frame(maxHeader, "file-header")
	if !ok {
		return false
	}
	if !decode(head, places{1: &r.info.Version}) {
		r.warn(c.offset(), 0, headerDamaged)
	}
	if r.info.Version != knownVersion {
		r.warn(int64(len(magic)), 0, versionNew, fact.Count("version", int64(r.info.Version)), fact.Count("known", int64(knownVersion)))
	}
	return true
}

// frame reads a length and as many bytes; what is an ID of the domain "ncurep-part". On failure the rest of the file is lost.
func (r *Reader) frame(limit int64, what string) ([]byte, bool) {
	c := &r.cur
	at := c.offset()
	part, lost := fact.ID("part", "ncurep-part", what), fact.Bytes("lost", r.info.Size-at)
	n, err := c.uint32()
	if err != nil {
		r.warn(at, r.info.Size-at, fileEnds, part, lost)
		return nil, false
	}
	if int64(n) > limit && int64(n) <= c.left() {
		r.warn(at, r.info.Size-at, partTooLarge, part, fact.Bytes("size", int64(n)), fact.Bytes("most", limit), lost)
		return nil, false
	}
	b, err := c.next(int64(n))
	if err != nil {
		r.warn(at, r.info.Size-at, partCut, part, fact.Bytes("size", int64(n)), lost)
		return nil, false
	}
	return b, true
}

// blockHeader passes over the payload without reading it and reports false if the
// file ends.
func (r *Reader) blockHeader() bool {
	c := &r.cur
	start := c.offset()
	head, ok := r.frame(maxHeader, "block-header")
	if !ok {
		return false
	}
	b := block{at: c.offset()}
	if !r.decodeBlockHeader(head, &b) {
		r.warn(start, r.info.Size-start, blockHead, fact.Bytes("lost", r.info.Size-start))
		return false
	}
	r.info.NumSource += int(b.sources)
	r.info.Results += b.results()
	b.have = min(b.size, c.left())
	if b.size > 0 {
		r.blocks = append(r.blocks, b)
	}
	if b.have < b.size {
		r.warn(b.at, b.size-b.have, blockCut, fact.Count("results", b.results()), fact.Count("sources", int64(b.sources)), fact.Bytes("size", b.size), fact.Bytes("there", b.have))
		return false
	}
	return c.skip(b.size) == nil
}

// results is the number of results that the header announces.
func (b *block) results() int {
	n := 0
	for _, k := range b.counts {
		n += int(k)
	}
	return n
}

// Package sqlite reads the ordinary tables of SQLite 3 database files without
// a database engine: it walks the table b-trees itself, decodes only the
// columns that are asked for, and scans one table on several goroutines.
//
// Reading never writes, locks or maps anything. A file that is cut or rewritten
// while it is read gives damage that is counted, not a fault. Indexes, views,
// virtual tables and WITHOUT ROWID tables are not read. EditTexts and EditTables
// overwrite texts in place with others of the same length.
//
// It is this large because it stands in for an engine: 650 lines parse schemas and the
// write-ahead log, 450 edit in place for redaction; the rest walks pages and decodes
// rows, whole ones and, for the largest tables, numbers alone.
package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/deepprof/deepprof/internal/fact"
)

// errNotSQLite is wrapped by Open when the file is no SQLite 3 database.
var errNotSQLite = errors.New("not an SQLite database")

// errBusy is wrapped by Open when the file holds a half-written transaction.
var errBusy = errors.New("being written by another program, or left so by one that died")

// DB is an open database file. It is safe for concurrent scans.
type DB struct {
	path    string
	beside  string // the path without symbolic links, where SQLite puts its logs
	file    io.ReaderAt
	closers []io.Closer
	head    header
	wal     *wal   // nil without committed frames in a write-ahead log
	pages   uint32 // highest page number that can be read
	size    int64  // bytes of the main file when it was opened
	// tables and views are in the order of the schema.
	tables []Table
	views  []string
	// warnings are all that was found when the file was opened; damage are those that
	// tell of a part that is gone.
	warnings []fact.Fact
	damage   []Damage
	// stamps are of the main file, and of the log if there is one.
	stamps []stamp
}

// stamp is the state of a file at Open, to tell later whether it has changed.
type stamp struct {
	path string
	size int64
	mod  time.Time
}

// Open reads the header and the schema of the database at path.
// A write-ahead log beside it is read too, a hot journal is errBusy. A file that is cut
// or damaged opens as long as one table can be found; Warnings and Damage tell.
func Open(path string) (*DB, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open SQLite file: %w", err)
	}
	// Opening a pipe would block, and a device has no size to bound lengths by.
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w: it is a %s", path, errNotSQLite, kindOf(info.Mode()))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open SQLite file: %w", err)
	}
	db := &DB{path: path, beside: path, file: file, size: info.Size(), closers: []io.Closer{file}}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		db.beside = real
	}
	db.stamps = append(db.stamps, stamp{path, info.Size(), info.ModTime()})
	if err := db.openAll(); err != nil {
		db.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

// openAll reads the database together with the files that SQLite keeps beside
// it while it writes.
func (db *DB) openAll() error {
	var err error
	if db.head, err = readHeader(db.file, db.size); err != nil {
		return err
	}
	if err := checkJournal(db.beside); err != nil {
		return err
	}
	log, size, err := db.openLog()
	if err != nil {
		return err
	}
	return db.load(log, size)
}

// load reads the log, which has no bytes if there is none, and the schema.
func (db *DB) load(log io.ReaderAt, size int64) error {
	db.pages = uint32(min(db.size/int64(db.head.pageSize), maxPages))
	if size >= walHeaderSize {
		if err := db.loadWAL(log, size); err != nil {
			return err
		}
	}
	if declared := int64(db.head.pageCount) * int64(db.head.pageSize); db.wal == nil && declared > db.size {
		db.lose("", fact.New(fileCut, fact.Bytes("there", db.size), fact.Bytes("declared", declared), fact.Bytes("missing", declared-db.size)))
	}
	return db.loadSchema()
}

// Close releases the file.
// No scan may be running.
func (db *DB) Close() error {
	var err error
	for _, c := range db.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Size is the length of the main database file in bytes at Open.
func (db *DB) Size() int64 { return db.size }

// Warnings tells what was found wrong or doubtful when the file was opened.
// What scans find is in their ScanStats instead. The list belongs to the DB.
func (db *DB) Warnings() []fact.Fact { return db.warnings }

// Schema is the table that lists the others.
const Schema = "sqlite_schema"

// Damage is a part of the file that is gone: Schema, or "" for its end.
type Damage struct {
	Part string
	What fact.Fact
}

// Damage are those of the warnings that tell of a part that is gone: what is not
// there may have been there.
func (db *DB) Damage() []Damage { return db.damage }

// Tables lists the tables in the order of the schema.
// The slice belongs to the DB. Tables that cannot be scanned are among them.
func (db *DB) Tables() []Table { return db.tables }

// Table finds a table by name, without regard to the case of ASCII letters.
// The table belongs to the DB and is valid after Close, though it cannot be scanned then.
func (db *DB) Table(name string) (*Table, bool) {
	for i := range db.tables {
		if strings.EqualFold(db.tables[i].Name, name) {
			return &db.tables[i], true
		}
	}
	return nil, false
}

// Unreadable says why what the schema lists under a name cannot be scanned; it
// is zero where it can, and where there is nothing of that name.
func (db *DB) Unreadable(name string) fact.Fact {
	if t, ok := db.Table(name); ok {
		return t.refuse
	}
	if slices.ContainsFunc(db.views, func(v string) bool { return strings.EqualFold(v, name) }) {
		return fact.New(tableIsView)
	}
	return fact.Fact{}
}

// Workers is the number of goroutines that Scan uses at most when it is asked
// for n: worker numbers are below it.
func Workers(n int) int {
	if n <= 0 {
		return runtime.GOMAXPROCS(0)
	}
	return n
}

// lose warns of a part that is gone.
func (db *DB) lose(part string, what fact.Fact) {
	db.warnings = append(db.warnings, what)
	db.damage = append(db.damage, Damage{part, what})
}

// changed reports whether one of the files is not as it was at Open.
func (db *DB) changed() bool {
	for _, s := range db.stamps {
		info, err := os.Stat(s.path)
		if err != nil || info.Size() != s.size || !info.ModTime().Equal(s.mod) {
			return true
		}
	}
	return false
}

// kindOf names what is no plain file, for an error.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	default:
		return "device"
	}
}

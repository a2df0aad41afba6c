// Package format tells what a path holds, by its content: people rename files.
// It has one row per format, and it opens compressed files. What is in a file of
// a format, its reader says (nsys, ncurep, runs, flops, workload).
package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deepprof/deepprof/internal/sqlite"
)

// Kind names a format. That of a JSON file that deepprof knows is the usual name of
// such a file.
type Kind string

const (
	SQLite      Kind = "sqlite" // an export of Nsight Systems, or any other SQLite file
	NsysReport  Kind = "nsys-rep"
	Stream      Kind = "qdstrm"      // complete: QdstrmImporter can import it
	CutStream   Kind = "qdstrm, cut" // the collection was cut: nothing can
	NcuReport   Kind = "ncu-rep"
	Parquet     Kind = "parquet"
	Result      Kind = "result.json"
	Metrics     Kind = "metrics.json"
	Operators   Kind = "operators.json"
	Flops       Kind = "flops.json"
	Targets     Kind = "targets.json"
	ModelConfig Kind = "config.json"
	JSON        Kind = "json"     // of nobody we know
	NcuCSV      Kind = "ncu-csv"  // printed by ncu --csv
	NsysCSV     Kind = "nsys-csv" // printed by nsys stats --format csv
	CSV         Kind = "csv"      // text with commas; the table of ncu may begin far below what the workload printed
	Run         Kind = "run"      // a folder with run.json
	Folder      Kind = "folder"   // any other
	Pack        Kind = "pack"     // what runs pack wrote
	Empty       Kind = "empty"
	Unknown     Kind = "unknown"
)

// Holds is what a command can take from a file of a format.
type Holds int

const (
	Nothing  Holds = iota // deepprof does not read it
	Timeline              // the timeline of Nsight Systems
	Counters              // the counters of Nsight Compute
	Table                 // rows that a vendor's tool printed
	Captures              // files of a run
	Facts                 // JSON that one of our steps wrote, or a model's configuration
)

// Format is one row of the table.
type Format struct {
	Kind        Kind
	Description string // with its article: "an SQLite file"
	Holds       Holds

	magic string                  // how it begins; "" if match decides
	match func(head *sample) bool // nil if magic decides
	exts  []string                // endings of names of such files, in lower case; nil if names say nothing
}

// NcuMagic begins every report of Nsight Compute, NsysMagic every one of Nsight
// Systems, ELFMagic every program of Linux that is no script.
const (
	ELFMagic  = "\x7fELF"
	NcuMagic  = "NVR\x00"
	NsysMagic = "NVIDIA Tegra Profiler Report "
)

// Names of files that say what they are by their name: RunManifest makes a folder a
// run, PackIndex is the first member of a pack, and CommandLine holds the command of a
// step of a run. The other names of a run are in the layout of package runs.
const (
	RunManifest = "run.json"
	PackIndex   = "pack.json"
	CommandLine = "cmd.txt"
)

// formats are tried in order.
var formats = []Format{
	{Kind: SQLite, Description: "an SQLite file", Holds: Timeline, magic: sqlite.Magic, exts: []string{".sqlite", ".sqlite3", ".db"}},
	{Kind: NsysReport, Description: "a report of Nsight Systems (.nsys-rep, .qdrep)", Holds: Timeline, magic: NsysMagic, exts: []string{".nsys-rep", ".qdrep"}},
	{Kind: NcuReport, Description: "a report of Nsight Compute (.ncu-rep)", Holds: Counters, magic: NcuMagic, exts: []string{".ncu-rep"}},
	{Kind: Stream, Description: "the raw stream of a capture (.qdstrm)", magic: "U3w[END]", exts: []string{".qdstrm"}},
	{Kind: CutStream, Description: "the raw stream of a capture that was cut off", magic: "\x00\xff\x00\xff\x00\xff\x00\xff"},
	{Kind: Parquet, Description: "a Parquet file", magic: "PAR1", exts: []string{".parquet"}},
	{Kind: Pack, Description: "a packed run", Holds: Captures, match: func(s *sample) bool {
		return bytes.HasPrefix(s.head, []byte(PackIndex+"\x00")) && len(s.head) > 262 && string(s.head[257:262]) == "ustar"
	}},
	{Kind: Result, Description: "a result of deepprof (result.json)", Holds: Facts, match: keys("schema", "deepprof_version")},
	{Kind: Targets, Description: "the launches chosen for ncu (targets.json)", Holds: Facts, match: keys("schema", "timeline", "limits")},
	{Kind: Operators, Description: "operators of the torch profiler (operators.json)", Holds: Facts, match: keys("schema", "activities")},
	{Kind: Metrics, Description: "what the workload measured of itself (metrics.json)", Holds: Facts, match: keys("schema", "complete", "stage")},
	{Kind: Flops, Description: "counted FLOPs (flops.json)", Holds: Facts, match: keys("schema", "model", "shape")},
	{Kind: ModelConfig, Description: "the configuration of a model (config.json)", Holds: Facts, match: keys("model_type")},
	{Kind: JSON, Description: "JSON", match: func(s *sample) bool { return s.json }},
	{Kind: NcuCSV, Description: "CSV of ncu", Holds: Table, match: func(s *sample) bool { return s.text && bytes.Contains(s.head, []byte(`"ID","Process ID",`)) }},
	{Kind: NsysCSV, Description: "CSV of nsys stats", Holds: Table, match: func(s *sample) bool {
		return s.text && bytes.ContainsRune(s.head, ',') && (bytes.Contains(s.head, []byte("Time (%),")) || bytes.Contains(s.head, []byte(",Total Time (")))
	}},
	{Kind: CSV, Description: "text with commas", Holds: Table, match: func(s *sample) bool { return s.text && bytes.ContainsRune(s.head, ',') }},
	{Kind: Unknown, Description: "text", match: func(s *sample) bool { return s.text }},
	{Kind: Unknown, Description: "zero bytes, as a copy leaves them that broke off", match: func(s *sample) bool { return len(bytes.Trim(s.head, "\x00")) == 0 }},
	{Kind: Unknown, Description: "a zip archive", magic: "PK\x03\x04"},
	{Kind: Unknown, Description: "xz data", magic: "\xfd7zXZ\x00"},
	{Kind: Unknown, Description: "an Arrow file", magic: "ARROW1"},
	{Kind: Unknown, Description: "an HDF5 file", magic: "\x89HDF"},
	{Kind: Unknown, Description: "a picture", magic: "\x89PNG"},
	{Kind: Unknown, Description: "a picture", magic: "\xff\xd8\xff"},
	{Kind: Unknown, Description: "an ELF program", magic: ELFMagic},
	{Kind: Unknown, Description: "data of an unknown format", match: func(*sample) bool { return true }},
}

// headBytes is how much of a file is looked at.
const headBytes = 64 << 10

// sample is the head of a file with what several rows ask of it.
type sample struct {
	head []byte
	name string
	text bool // UTF-8 or Latin text without NUL
	json bool
	keys []string // of the outermost object, as far as the head has them
}

// The name decides only between JSON files whose keys do not tell.
func newSample(head []byte, name string) *sample {
	s := &sample{head: head, name: strings.ToLower(name), text: len(head) > 0 && !bytes.ContainsRune(head, 0)}
	if s.text {
		s.json, s.keys = jsonKeys(head)
	}
	return s
}

// recognize finds the row of a head.
func recognize(head []byte, name string) Format {
	s := newSample(head, name)
	for _, f := range formats {
		if f.magic != "" && bytes.HasPrefix(head, []byte(f.magic)) || f.match != nil && f.match(s) {
			if f.Kind != JSON && (f.Kind != Unknown || !s.text) {
				return f
			}
			// Its keys do not tell: the name does, and its reader says what is wrong with it.
			if i := slices.IndexFunc(formats, func(f Format) bool { return f.Kind.isName() && strings.HasSuffix(s.name, string(f.Kind)) }); i >= 0 {
				return formats[i]
			}
			return f
		}
	}
	panic("the last row matches everything")
}

// isName tells a kind that is the name of a file.
func (k Kind) isName() bool { return strings.HasSuffix(string(k), ".json") }

// Of tells the kind of a file by its first bytes.
// A compressed head is Unknown here: Recognize looks through compressions.
func Of(head []byte) Kind {
	if len(head) == 0 {
		return Empty
	}
	return recognize(head, "").Kind
}

// Named is the kind that the name of a file promises: for a file that is not to be
// opened, or whose content is too damaged to tell. Unknown for any other name.
func Named(path string) Kind {
	ext := strings.ToLower(filepath.Ext(path))
	if i := slices.IndexFunc(formats, func(f Format) bool { return slices.Contains(f.exts, ext) }); i >= 0 {
		return formats[i].Kind
	}
	return Unknown
}

// keys matches a JSON object that has all of these.
func keys(names ...string) func(*sample) bool {
	return func(s *sample) bool {
		return s.json && !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(s.keys, n) })
	}
}

// jsonKeys tells the beginning of a JSON document, and the keys of its outermost
// object. What a program printed before the rows of ncu may begin like one, but
// goes on as something else.
func jsonKeys(head []byte) (ok bool, keys []string) {
	if text := bytes.TrimSpace(head); len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return false, nil
	}
	d := json.NewDecoder(bytes.NewReader(head))
	depth, key := 0, false
	for {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return true, keys
		case err != nil:
			return false, nil
		}
		if delim, ok := token.(json.Delim); ok {
			switch delim {
			case '{', '[':
				depth++
				key = depth == 1 && delim == '{'
				continue
			}
			if depth--; depth == 0 && d.More() {
				return false, nil
			}
			key = depth == 1
			continue
		}
		if depth != 1 {
			continue
		}
		if name, ok := token.(string); ok && key {
			keys = append(keys, name)
			key = false
			continue
		}
		key = true
	}
}

package message

import "github.com/deepprof/deepprof/internal/fact"

// runWords are about the store of runs and its packs: why a run or file was kept, left out or
// changed. internal/runs states them. size is bytes, recorded a moment, secrets counts what
// redaction replaced.
var runWords = map[fact.Code]words{
	// Why a run is not listed, kept or removed.
	"run-unreadable":  {Text: "{error}"},
	"left-alone":      {Text: "left alone: {why}"},
	"no-run-folder":   {Text: "a folder that is no run"},
	"no-run-link":     {Text: "a link"},
	"no-run-file":     {Text: "a file"},
	"run-is-running":  {Text: "it is or may be running[: {note}]"},
	"run-locked":      {Text: "a process holds its lock"},
	"run-taken-up":    {Text: "it was resumed meanwhile"},
	"run-not-removed": {Text: "{error}"},
	"run-not-packed":  {Text: "{error}"},

	// Why a pack leaves a file out, or changed it.
	"pack-not-plain":    {Text: "not a plain file"},
	"pack-name":         {Text: "its name cannot be cleaned"},
	"pack-raw":          {Text: "it holds the environment of the machine in a form that cannot be cleaned; its SQLite export can"},
	"pack-unclean":      {Text: "it cannot be cleaned: {error}"},
	"pack-log":          {Text: "part of it is still in its write-ahead log"},
	"pack-gone":         {Text: "it was gone when the run was packed"},
	"pack-as-it-is":     {Text: "packed as it is: it holds the command line, names of the host and the user, and {n} environment variables[: {names}][; these look like secrets: {secrets}]"},
	"pack-not-stripped": {Text: "not stripped: {error}"},

	// How a file of a run differs from what its manifest says.
	"file-left-out":  {Text: "left out of the pack: {why}"},
	"file-missing":   {Text: "missing"},
	"file-not-read":  {Text: "{error}"},
	"file-not-plain": {Text: "not a plain file"},
	"file-resized":   {Text: "{size} bytes, recorded with {recorded}"},
	"file-changed":   {Text: "its content changed since it was recorded (sha256 {sha256}, recorded {recorded})"},
}

package show

// Kind is what a path holds, as far as commands differ.
type Kind = inputKind

// Kinds of input that commands tell apart.
const (
	Timeline = inputTimeline
	Counters = inputCounters
	CSV      = inputCSV
	Result   = inputResult
	Folder   = inputDirectory
	Pack     = inputPack
)

// Recognize tells what a path holds.
func Recognize(path string) (Kind, error) { return sniff(path) }

// Named gives the path that a person means: a file or folder, or a run of the
// store ./runs by its id or as "latest".
func Named(path string) (string, error) { return named(path) }

// NameAll is Named for each of several.
func NameAll(paths []string) error { return nameAll(paths) }

// NoReport refuses a text that has commas, and is of no tool; nil for CSV of one.
func NoReport(command, path string) error { return noReport(command, path) }

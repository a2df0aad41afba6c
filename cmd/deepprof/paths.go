package main

import (
	"fmt"

	"github.com/deepprof/deepprof/internal/show"
)

// What commands call by short names; internal/show has it.
type inputKind = show.Kind

const (
	inputTimeline  = show.Timeline
	inputCounters  = show.Counters
	inputCSV       = show.CSV
	inputResult    = show.Result
	inputDirectory = show.Folder
	inputPack      = show.Pack
)

func sniff(path string) (inputKind, error) { return show.Recognize(path) }
func nameAll(paths []string) error         { return show.NameAll(paths) }
func noReport(command, path string) error  { return show.NoReport(command, path) }

// texts words a list for people.
func texts[T fmt.Stringer](list []T) []string {
	var out []string
	for _, x := range list {
		out = append(out, x.String())
	}
	return out
}

package runs

import "github.com/deepprof/deepprof/internal/fact"

// Codes of what this package states; internal/message has their words.
const (
	processEnded fact.Code = "process-ended" // while a step ran

	// Why something of a store is not touched, or could not be used.
	runUnreadable fact.Code = "run-unreadable" // error
	leftAlone     fact.Code = "left-alone"     // why
	noRunFolder   fact.Code = "no-run-folder"
	noRunLink     fact.Code = "no-run-link"
	noRunFile     fact.Code = "no-run-file"
	runIsRunning  fact.Code = "run-is-running" // note
	runLocked     fact.Code = "run-locked"
	runTakenUp    fact.Code = "run-taken-up"
	runNotRemoved fact.Code = "run-not-removed" // error
	runNotPacked  fact.Code = "run-not-packed"  // error

	// Why a file is not in a pack, or is in it otherwise than asked for.
	packNotPlain    fact.Code = "pack-not-plain"
	packName        fact.Code = "pack-name"
	packRaw         fact.Code = "pack-raw"
	packUnclean     fact.Code = "pack-unclean" // error
	packLog         fact.Code = "pack-log"
	packGone        fact.Code = "pack-gone"
	packAsItIs      fact.Code = "pack-as-it-is"     // n, names, secrets
	packNotStripped fact.Code = "pack-not-stripped" // error

	// What is wrong with a file of a step.
	fileLeftOut  fact.Code = "file-left-out" // why
	fileMissing  fact.Code = "file-missing"
	fileNotRead  fact.Code = "file-not-read" // error
	fileNotPlain fact.Code = "file-not-plain"
	fileResized  fact.Code = "file-resized" // size, recorded
	fileChanged  fact.Code = "file-changed" // sha256, recorded
)

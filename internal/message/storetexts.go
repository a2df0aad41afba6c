package message

import "maps"

// StoreTexts are the words of the page of a store (deepprof serve), by ID. The page puts
// values into the places that they name; they have no brackets.
func StoreTexts() map[string]string {
	texts := maps.Clone(storeTexts)
	if codesOnly {
		for id := range texts {
			texts[id] = id
		}
	}
	return texts
}

// storeTexts are by where they stand: the list of runs, a run, a comparison, the timeline. A
// test holds the IDs against internal/web/page.
var storeTexts = map[string]string{
	"token": "Token of the server", "open": "Open", "no-rows": "no rows", "rows-left-out": "{n:more row is|more rows are} left out", "apply": "Apply", "clear": "clear",
	"any": "any", "model-or-program": "Model or program", "status": "Status", "tag": "Tag", "since": "Since", "before": "Before", "runs": "{n:run|runs}",
	"compare": "Compare", "compare-run": "compare {id}", "compare-with": "Compare the chosen runs with", "baseline": "baseline {name}",
	"uploading": "uploading", "upload-files": "A packed run, or files of nsys and ncu", "label": "Label", "upload": "Upload",

	"options": "Options", "saved": "saved", "tags": "Tags, with commas between them", "note": "Note", "save": "Save", "report": "report", "no-view": "there is no view {name}",
	"delete": "Delete…", "delete-sure": "Delete this run and its captures for good",

	"compare-none": "choose a run beside the one to compare with", "everything": "everything", "comparison": "Comparison", "against": "{base} against {others}",
	"as-report": "as a report", "rows-of": "Rows of",

	"timeline": "Timeline", "timeline-label": "timeline; w and s zoom, a and d move, 0 shows all of it",
	"timeline-help": "Point at a box. Wheel or W and S zoom, drag or A and D move, 0 shows all of it.",
	"tile-shows":    "{from} to {to} of {of}; events: nvtx {nvtx}, kernel {kernel}, copy {copy}", "box-of-one": "{name}: {time}, at {at}",
	"box-of-several": "{name}: {n} events, busy {busy}; the longest is named, at {at}",
}

package ncurep

import "github.com/deepprof/deepprof/internal/fact"

// Codes of what was wrong with a report or a table of ncu. internal/message has
// their words; a comment names the parameters beside the place: offset or line.
const (
	remarksMany   fact.Code = "ncurep-more"          //
	headerDamaged fact.Code = "ncurep-header"        //
	versionNew    fact.Code = "ncurep-version"       // version, known
	stringsLost   fact.Code = "ncurep-strings"       //
	sessionLost   fact.Code = "ncurep-session"       //
	fileEnds      fact.Code = "ncurep-ends"          // part, lost
	partTooLarge  fact.Code = "ncurep-part-large"    // part, size, most, lost
	partCut       fact.Code = "ncurep-part-cut"      // part, size, lost
	blockHead     fact.Code = "ncurep-block-header"  // lost
	blockCut      fact.Code = "ncurep-block-cut"     // results, sources, size, there
	blockUnknown  fact.Code = "ncurep-block-unknown" // lost
	blockEnds     fact.Code = "ncurep-block-ends"    // lost
	messageLong   fact.Code = "ncurep-message-long"  // size, lost
	resultEmpty   fact.Code = "ncurep-result-empty"  // result
	resultDamaged fact.Code = "ncurep-result"        // result, error, lost
	fieldLarge    fact.Code = "ncurep-field-large"   // result, size, most
	fieldDamaged  fact.Code = "ncurep-field"         // result, field
	sourceDamaged fact.Code = "ncurep-source"        // error

	rowsUnread  fact.Code = "ncucsv-rows-unread" // n
	rowsMany    fact.Code = "ncucsv-rows-many"   // most
	rowLeftOut  fact.Code = "ncucsv-row"         // error
	headLeftOut fact.Code = "ncucsv-header"      // error
	columnTwice fact.Code = "ncucsv-column"      // name
	twoLocales  fact.Code = "ncucsv-locales"     //
	rowShort    fact.Code = "ncucsv-row-short"   // n, of
	cellLeftOut fact.Code = "ncucsv-cell"        // metric, cell, error
)

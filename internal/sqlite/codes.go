package sqlite

import (
	"github.com/deepprof/deepprof/internal/fact"
)

// Codes of what was found damaged or doubtful. internal/message has their words; a
// comment names the parameters.
const (
	fileCut       fact.Code = "sqlite-cut"            // there, declared, missing
	logRead       fact.Code = "sqlite-log-read"       // n, file
	schemaDamaged fact.Code = "sqlite-schema-damaged" // why
	scanned       fact.Code = "sqlite-scanned"        // rows, bad_rows, bad_pages, disordered, changed, first

	tableStatement fact.Code = "sqlite-statement" // error
	tableNoRowID   fact.Code = "sqlite-no-rowid"  //
	tableRoot      fact.Code = "sqlite-root"      // page
	tableIsView    fact.Code = "sqlite-view"      //

	// Of a page. page
	pageOutside fact.Code = "sqlite-page-outside" // pages
	pageTwice   fact.Code = "sqlite-page-twice"   //
	pageUnread  fact.Code = "sqlite-page-unread"  // error
	pageKind    fact.Code = "sqlite-page-kind"    // kind
	pageCells   fact.Code = "sqlite-page-cells"   // n
	pageChild   fact.Code = "sqlite-page-child"   // n

	// Of a row in a page. page, row
	rowOutside  fact.Code = "sqlite-row-outside"  //
	rowTwice    fact.Code = "sqlite-row-twice"    //
	rowOverEnd  fact.Code = "sqlite-row-over-end" //
	rowHuge     fact.Code = "sqlite-row-huge"     //
	rowHeader   fact.Code = "sqlite-row-header"   //
	rowType     fact.Code = "sqlite-row-type"     //
	rowLong     fact.Code = "sqlite-row-long"     //
	rowOverflow fact.Code = "sqlite-row-overflow" //
	rowCycle    fact.Code = "sqlite-row-cycle"    //
)

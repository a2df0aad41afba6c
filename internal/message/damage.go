package message

import "github.com/deepprof/deepprof/internal/fact"

// damageLabels name the parts of a .ncu-rep, as docs/ncu-rep.md does.
var damageLabels = map[string]map[string]string{
	"sqlite":      {"changed": "the file changed while it was read"},
	"ncurep-part": {"file-header": "file header", "block-header": "block header"},
}

// Ends of sentences of damaged files.
const (
	again   = "print the table again with `nsys stats --format csv`"
	place   = "[offset {offset}: ][line {line}: ]"
	ofPage  = "page {page}: "
	ofRow   = "page {page}, row {row} of it: "
	andLost = "; {lost} lost"
)

// damageWords are what the readers of files found damaged or doubtful: internal/ncurep,
// internal/nsys and internal/sqlite state them. A reader goes on with what is left, so each
// says what is lost and not that something failed.
//
// line, page, cell, column and result are places in the file, counted as its own tools count
// them; size, there and declared are bytes; n, rows and bad_rows count what is lost or left.
var damageWords = map[fact.Code]words{
	// CSV of nsys stats and of ncu.
	"stats-row-lost":    {Text: "line {line}: row left out: {error}", Next: again},
	"stats-row-cells":   {Text: "line {line}: row left out: {cells:cell|cells} under {columns:column|columns}", Next: again},
	"stats-number-lost": {Text: "line {line}: {column} left out: \"{text}\": {error}", Next: again},
	"stats-rows-cut":    {Text: "line {line}: too many rows; the rest was not read", Next: "narrow the summary with --filter-nvtx or --filter-time of nsys stats"},
	"stats-more":        {Text: "line {line}: further warnings were left out"},
	"stats-no-number":   {Text: "line {line}: no number for {column}", Next: again},

	// The SQLite export of a timeline.
	"sqlite-cut":            {Text: "the file is cut: {there} of {declared} are there, {missing} are missing"},
	"sqlite-log-read":       {Text: "{n:committed page was|committed pages were} read from {file}-wal: another program has the file open, or died; `sqlite3 {file} 'PRAGMA wal_checkpoint'` merges them"},
	"sqlite-schema-damaged": {Text: "the schema is damaged, tables may be missing: {why}"},
	"sqlite-scanned":        {Text: "{rows:row|rows} read[, {bad_rows:damaged row|damaged rows} skipped][, {bad_pages:damaged or missing page|damaged or missing pages} skipped][, {disordered:row|rows} out of order][, {changed}][ (first: {first})]"},
	"sqlite-statement":      {Text: "its CREATE statement is not understood: {error}"},
	"sqlite-no-rowid":       {Text: "it is a WITHOUT ROWID table, which this reader does not know"},
	"sqlite-root":           {Text: "its root page {page} cannot be"},
	"sqlite-view":           {Text: "it is a view, and only tables are read"},
	"sqlite-page-outside":   {Text: ofPage + "outside the file of {pages:page|pages}"},
	"sqlite-page-twice":     {Text: ofPage + "reached twice"},
	"sqlite-page-unread":    {Text: ofPage + "{error}; what lies below it is lost"},
	"sqlite-page-kind":      {Text: ofPage + "kind {kind} where a page of a table should be; what lies below it is lost"},
	"sqlite-page-cells":     {Text: ofPage + "{n:cell does|cells do} not fit"},
	"sqlite-page-child":     {Text: ofPage + "child {n} lies outside the page"},
	"sqlite-row-outside":    {Text: ofRow + "it lies outside the page"},
	"sqlite-row-twice":      {Text: ofRow + "it repeats the row before"},
	"sqlite-row-over-end":   {Text: ofRow + "it runs over the end of the page"},
	"sqlite-row-huge":       {Text: ofRow + "the record does not fit in the file"},
	"sqlite-row-header":     {Text: ofRow + "the header of the record does not fit"},
	"sqlite-row-type":       {Text: ofRow + "a type in the record is out of range"},
	"sqlite-row-long":       {Text: ofRow + "the values are longer than the record"},
	"sqlite-row-overflow":   {Text: ofRow + "an overflow page cannot be read"},
	"sqlite-row-cycle":      {Text: ofRow + "its overflow pages form a cycle"},

	// Reports of ncu.
	"ncurep-more":          {Text: "further warnings were suppressed"},
	"ncurep-header":        {Text: place + "the file header is damaged"},
	"ncurep-version":       {Text: place + "file version {version} is not known (known: {known}); what is understood of it was read"},
	"ncurep-strings":       {Text: place + "a string table is damaged; metrics that it names are numbered"},
	"ncurep-session":       {Text: place + "session details are damaged"},
	"ncurep-ends":          {Text: place + "truncated: the file ends inside a {part}" + andLost},
	"ncurep-part-large":    {Text: place + "a {part} claims {size}, more than the {most} allowed" + andLost},
	"ncurep-part-cut":      {Text: place + "truncated: a {part} of {size} does not fit into the file" + andLost},
	"ncurep-block-header":  {Text: place + "a block header is damaged" + andLost},
	"ncurep-block-cut":     {Text: place + "truncated: a block of {results:result|results} and {sources:source|sources} announces {size}, of which the file has {there}"},
	"ncurep-block-unknown": {Text: place + "{lost} of a block are of no known kind of result"},
	"ncurep-block-ends":    {Text: place + "a block ends before the messages that it announces" + andLost},
	"ncurep-message-long":  {Text: place + "a message of {size} does not fit into its block" + andLost},
	"ncurep-result-empty":  {Text: place + "result {result} is empty and was left out"},
	"ncurep-result":        {Text: place + "result {result} is damaged: {error}; {lost} of it lost"},
	"ncurep-field-large":   {Text: place + "result {result}: a field of {size} is over the limit of {most} and was left out"},
	"ncurep-field":         {Text: place + "result {result}: field {field} is damaged"},
	"ncurep-source":        {Text: place + "an embedded source is damaged: {error}"},
	"ncucsv-rows-unread":   {Text: "{n:row|rows} could not be read"},
	"ncucsv-rows-many":     {Text: place + "more than {most} rows; the rest was not read"},
	"ncucsv-row":           {Text: place + "row left out: {error}"},
	"ncucsv-header":        {Text: place + "header left out: {error}"},
	"ncucsv-column":        {Text: place + "column {name} occurs twice; the first counts"},
	"ncucsv-locales":       {Text: "numbers are written in two ways (1,234.5 and 1.234,5); those that can be read both ways were left out"},
	"ncucsv-row-short":     {Text: place + "row ends after {n} of {of} cells"},
	"ncucsv-cell":          {Text: place + "{metric} left out: \"{cell}\" is {error}"},
}

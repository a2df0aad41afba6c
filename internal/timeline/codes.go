package timeline

import (
	"github.com/deepprof/deepprof/internal/fact"
)

// Codes of what was absent, damaged or doubtful in a timeline.
const (
	CodeSchema         fact.Code = "timeline-schema"          // schema, known
	CodeTableDamaged   fact.Code = "timeline-table-damaged"   // table, why
	CodeTableLost      fact.Code = "timeline-table-lost"      // table, why
	CodeColumnMissing  fact.Code = "timeline-column-missing"  // table, columns
	CodeColumnsUnknown fact.Code = "timeline-columns-unknown" // table, n, columns
	CodeRowsSkipped    fact.Code = "timeline-rows-skipped"    // table, n
	CodeGPUImpossible  fact.Code = "timeline-gpu-impossible"  // table, gpu, column, value
	CodeNamesMissing   fact.Code = "timeline-names-missing"   // n
	CodeEndsEarly      fact.Code = "timeline-ends-early"      // n, what
	CodeEndless        fact.Code = "timeline-endless"         // n, what
	CodeUnclosed       fact.Code = "timeline-unclosed"        // n
	CodeNoKernels      fact.Code = "timeline-no-kernels"      // table
	CodeNoCalls        fact.Code = "timeline-no-calls"        // table
	CodeNoRanges       fact.Code = "timeline-no-ranges"       // table
	CodeGraphsWhole    fact.Code = "timeline-graphs-whole"    //
	CodePythonBare     fact.Code = "python-without-frames"    // n
	CodePhases         fact.Code = "phases-detected"          // before, n, kernels, median, min, max
	// CodeProfilerSays is a message of the profiler about the capture. text
	CodeProfilerSays fact.Code = "profiler-says"

	// Where work of CUDA graphs is shown by the ranges of capture. n, time, of,
	// of_time
	CodeCaptureWhole   fact.Code = "capture-graphs-whole"
	CodeCaptureNone    fact.Code = "capture-no-graphs"
	CodeCaptureNoNodes fact.Code = "capture-no-nodes"
	CodeCaptureLost    fact.Code = "capture-nodes-lost"
	CodeCaptureEarly   fact.Code = "capture-before-file"
	codeInLayers       fact.Code = "time-in-layers"

	CodeOverflow     fact.Code = "timeline-overflow"     //
	CodeNoLaunchCall fact.Code = "timeline-no-launch"    // n
	codeDeepRanges   fact.Code = "timeline-deep-ranges"  // n, most, name
	codeManyDomains  fact.Code = "timeline-many-domains" // n, most
	codeManyOpen     fact.Code = "timeline-many-open"    // n
	codeManyHeld     fact.Code = "timeline-many-held"    // n, most
	codeSharedCalls  fact.Code = "timeline-shared-calls" // n
)

// Package capture runs a profiler and says what came of it. It owns the
// engine that drives one prepared nsys or ncu command from a clean output
// directory to a checked report, and the judgement of the result: a typed
// outcome with its evidence, likely cause and next step, decided from the exit
// code, the messages and the files, because none of them can be trusted alone.
//
// It also keeps what a step of a run made: the attempts in the manifest, the checked
// export of a timeline, conditions of the GPU meanwhile, and timelines of ranks.
//
// The messages it knows are rows of patterns.tsv; how they combine is in
// judge. docs/outcomes.md lists both.
//
// A third of the lines are the judgement with its evidence, a quarter the engine; the rest
// are checks of timelines and counters, progress, recordings that can be played, and what
// goes into the manifest.
package capture

// Package pick owns the choice of the kernel launches that are worth counting,
// and what follows from it: the translation of the choice into as few runs of
// Nsight Compute as possible, the proof afterwards that the launches counted
// are those that were meant, and the extrapolation of their counters over the
// regions of the timeline.
//
// Nothing here starts a process: Counting has each started by its caller, and
// reads the reports that come of it. docs/pick.md explains the
// rules and the format of targets.json.
//
// Half of the package chooses launches and finds the cheapest way to have ncu count them:
// by configuration, by number, between gates, and each in several processes. A quarter
// proves what was counted and extrapolates it; the rest drives the processes and is the
// format of targets.json.
package pick

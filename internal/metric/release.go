package metric

import (
	_ "embed"
	"strings"
	"sync"
)

// Release is a generation of Nsight Compute that prints units and numbers alike.
type Release uint8

// The generations that are told apart. What lies between two of them is
// treated as the older one.
const (
	R2022 Release = iota // 2022.x
	R2024                // 2023.x and 2024.x
	R2025                // 2025.x and later
)

// Latest is the newest release whose output is known.
const Latest = R2025

// ReleaseOf chooses the release for a version such as 2025.3.
func ReleaseOf(major, minor int) Release {
	switch {
	case major >= 2025:
		return R2025
	case major >= 2023:
		return R2024
	}
	return R2022
}

//go:embed data/since2025.txt
var since2025Text string

// since2025 holds the base names that 2024.1 does not know and guesses at.
var since2025 = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(since2025Text) {
		m[name] = true
	}
	return m
})

// knows reports whether a release has a counter in its tables.
func (r Release) knows(group, hw, base string) bool {
	if r >= R2025 {
		return true
	}
	if group != "" {
		return false
	}
	switch hw {
	case "gcc", "lrc", "syslrc", "syslts":
		return false
	}
	return !since2025()[base]
}

// spell writes a unit as the release does.
func (r Release) spell(u string) string {
	if r >= R2025 {
		if u == "cycle/s" {
			return "hz"
		}
		return u
	}
	num, den, ok := strings.Cut(u, "/")
	if !ok {
		return longName(u)
	}
	if num == one {
		num = ""
	}
	return longName(num) + "/" + longName(den)
}

// longName: releases before 2025 write out second.
func longName(u string) string {
	switch u {
	case "ns":
		return "nsecond"
	case "s":
		return "second"
	}
	return u
}

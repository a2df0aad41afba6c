package main

import (
	"fmt"
	"io"
)

// writeCommands prints what each command cost.
func writeCommands(w io.Writer, results []*result) {
	fmt.Fprintln(w, "| command | rounds | wall s median (min) | CPU s median | peak MB |")
	fmt.Fprintln(w, "|---|---:|---:|---:|---:|")
	for _, r := range results {
		if r.reason != "" {
			fmt.Fprintf(w, "| %s | – | not measured: %s | | |\n", r.name, r.reason)
			continue
		}
		fmt.Fprintf(w, "| %s | %d | %.3f (%.3f) | %.3f | %.0f |\n", r.name, len(r.samples),
			r.median(wall), r.least(wall), r.median(cpu), r.median(memory))
	}
}

// writeRatios prints the comparisons and counts the goals that are missed.
func writeRatios(w io.Writer, rows []ratio, results []*result) (missed int) {
	byName := map[string]*result{}
	for _, r := range results {
		byName[r.name] = r
	}
	fmt.Fprintln(w, "| what | of | measured | goal | |")
	fmt.Fprintln(w, "|---|---|---:|---|---|")
	for _, row := range rows {
		value, reason := row.value(byName)
		if reason != "" {
			fmt.Fprintf(w, "| %s | %s | – | %s | not measured: %s |\n", row.title, row.of.name, row.goal(), reason)
			continue
		}
		verdict := row.verdict(value)
		if verdict == "missed" {
			missed++
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", row.title, row.of.name, row.format(value), row.goal(), verdict)
	}
	return missed
}

func (r ratio) value(results map[string]*result) (float64, string) {
	names := []string{r.over}
	if r.under != "" {
		names = append(names, r.under)
	}
	for _, name := range names {
		switch got := results[name]; {
		case got == nil:
			return 0, "there is no command " + name
		case got.reason != "":
			return 0, name + ": " + got.reason
		case len(got.samples) == 0:
			return 0, name + ": no rounds"
		}
	}
	value := results[r.over].median(r.of)
	if r.under == "" {
		return value, ""
	}
	under := results[r.under].median(r.of)
	if under == 0 {
		return 0, r.under + " is too short for the clock"
	}
	return value / under, ""
}

func (r ratio) format(value float64) string {
	if r.under == "" {
		return fmt.Sprintf("%.0f MB", value)
	}
	return fmt.Sprintf("%.2f×", value)
}

func (r ratio) goal() string {
	switch {
	case r.atLeast > 0:
		return "≥ " + r.format(r.atLeast)
	case r.atMost > 0:
		return "≤ " + r.format(r.atMost)
	}
	return ""
}

func (r ratio) verdict(value float64) string {
	switch {
	case r.atLeast > 0 && value < r.atLeast, r.atMost > 0 && value > r.atMost:
		return "missed"
	case r.atLeast > 0 || r.atMost > 0:
		return "met"
	}
	return ""
}

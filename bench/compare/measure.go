package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// sample is the cost of one run. The peak memory of a child is never below
// that of this program, which the command "nothing" shows.
type sample struct {
	wall, cpu time.Duration
	rss       int64 // bytes
}

// result is a command with its samples, or the reason why there are none.
type result struct {
	command
	samples []sample
	reason  string
}

// slowRounds is in how many rounds a slow command takes part.
const slowRounds = 3

// measureAll runs every command once to warm the caches and to see whether it
// works, and then in rounds, so that a disturbance hits all of them.
func measureAll(ctx context.Context, list []command, rounds int, log io.Writer) ([]*result, error) {
	var results []*result
	for _, c := range list {
		fmt.Fprintf(log, "try %s\n", c.name)
		results = append(results, &result{command: c, reason: try(ctx, c)})
	}
	for round := range rounds {
		fmt.Fprintf(log, "round %d of %d\n", round+1, rounds)
		for _, r := range results {
			if r.reason != "" || r.slow && round >= slowRounds {
				continue
			}
			s, err := once(ctx, r.command, nil)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				r.reason = err.Error()
				continue
			}
			r.samples = append(r.samples, s)
		}
	}
	return results, ctx.Err()
}

// try says why a command cannot be measured, or nothing.
func try(ctx context.Context, c command) string {
	if c.lacks != "" {
		return "needs " + c.lacks
	}
	var out head
	if _, err := once(ctx, c, &out); err != nil {
		return err.Error()
	}
	if !strings.Contains(string(out), c.proof) {
		return fmt.Sprintf("exits 0 but its output lacks %q: %s", c.proof, firstLine(out))
	}
	return ""
}

// once runs a command; its output goes to /dev/null when stdout is nil.
func once(ctx context.Context, c command, stdout io.Writer) (sample, error) {
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdout = stdout
	var stderr head
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		return sample{}, fmt.Errorf("%v: %s", err, firstLine(stderr))
	}
	s := sample{wall: took, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	s.rss = peakBytes(cmd.ProcessState)
	return s, nil
}

// head keeps the first part of an output and swallows the rest.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	const most = 64 << 10
	*h = append(*h, p[:min(len(p), most-len(*h))]...)
	return len(p), nil
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return strings.ReplaceAll(string(line[:min(len(line), 160)]), "|", "\\|")
}

// median of a quantity over the samples; of an even number the mean of two.
func (r *result) median(q quantity) float64 {
	values := make([]float64, len(r.samples))
	for i, s := range r.samples {
		values[i] = q.of(s)
	}
	slices.SortFunc(values, cmp.Compare[float64])
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// least is the smallest value of a quantity.
func (r *result) least(q quantity) float64 {
	low := q.of(r.samples[0])
	for _, s := range r.samples {
		low = min(low, q.of(s))
	}
	return low
}

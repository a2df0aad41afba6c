package timeline

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// parse builds a timeline from a text form, one event a line; a thread is
// written pid.tid:
//
//	push 1.1 NAME START END [domain=D]
//	start 1.1 NAME START END [domain=D] [closedby=1.2]
//	call 1.1 NAME START END CORRELATION
//	kernel 1 NAME START END CORRELATION [device=0] [stream=7] [node=N]
//	copy 1 START END CORRELATION [bytes=N]
//	graph 1 START END CORRELATION
//
// An END of ? leaves a range unclosed.
func parse(t testing.TB, text string) *Timeline {
	t.Helper()
	p := &parser{t: &Timeline{Names: []string{""}, Domains: []Domain{{Process: None}}}}
	for i, line := range strings.Split(text, "\n") {
		if fields := strings.Fields(line); len(fields) > 0 {
			if err := p.line(fields); err != nil {
				t.Fatalf("line %d: %v: %s", i+1, err, line)
			}
		}
	}
	p.closeRanges()
	return p.t
}

type parser struct{ t *Timeline }

func (p *parser) line(f []string) error {
	options := map[string]string{}
	for len(f) > 0 && strings.Contains(f[len(f)-1], "=") {
		key, value, _ := strings.Cut(f[len(f)-1], "=")
		options[key] = value
		f = f[:len(f)-1]
	}
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	option := func(name string, otherwise int64) int64 {
		if v, ok := options[name]; ok {
			return number(v)
		}
		return otherwise
	}
	t := p.t
	switch f[0] {
	case "push", "start":
		r := Range{
			Thread: p.thread(f[1]), Name: p.name(f[2]), Start: number(f[3]), EndThread: None, Payload: None,
			Unclosed: f[4] == "?", Domain: p.domain(f[1], options["domain"]),
		}
		if f[0] == "start" {
			r.Kind = StartEnd
		}
		if !r.Unclosed {
			r.End = number(f[4])
		}
		if by := options["closedby"]; by != "" {
			r.EndThread = p.thread(by)
		}
		t.Ranges = append(t.Ranges, r)
	case "call":
		t.Calls.Add(Call{
			Thread: p.thread(f[1]), Name: p.name(f[2]), Start: number(f[3]), End: number(f[4]), Correlation: uint32(number(f[5])),
		})
	case "kernel":
		t.Functions = append(t.Functions, Function{Demangled: p.name(f[2]), Short: p.name(f[2])})
		if len(t.Configs) == 0 {
			t.Configs = append(t.Configs, LaunchConfig{Grid: [3]int32{1, 1, 1}, Block: [3]int32{32, 1, 1}})
		}
		t.Kernels = append(t.Kernels, Kernel{
			Start: number(f[3]), End: number(f[4]), Correlation: uint32(number(f[5])), Function: uint32(len(t.Functions) - 1),
			Queue: p.queue(f[1], option("device", 0), option("stream", 7)), GraphNode: option("node", 0),
		})
	case "copy":
		t.Copies = append(t.Copies, Copy{
			Start: number(f[2]), End: number(f[3]), Correlation: uint32(number(f[4])), Kind: 1, Bytes: option("bytes", 0),
			Queue: p.queue(f[1], option("device", 0), option("stream", 7)),
		})
	case "graph":
		t.Graphs = append(t.Graphs, GraphLaunch{
			Start: number(f[2]), End: number(f[3]), Correlation: uint32(number(f[4])),
			Queue: p.queue(f[1], option("device", 0), option("stream", 7)),
		})
	default:
		return fmt.Errorf("unknown event %q", f[0])
	}
	return nil
}

func (p *parser) name(s string) StringID {
	for i, n := range p.t.Names {
		if n == s {
			return StringID(i)
		}
	}
	p.t.Names = append(p.t.Names, s)
	return StringID(len(p.t.Names) - 1)
}

func (p *parser) process(pid string) uint32 {
	n, _ := strconv.Atoi(pid)
	for i, q := range p.t.Processes {
		if q.PID == n {
			return uint32(i)
		}
	}
	p.t.Processes = append(p.t.Processes, Process{PID: n, Global: int64(n) << 24})
	return uint32(len(p.t.Processes) - 1)
}

func (p *parser) thread(s string) uint32 {
	pid, tid, _ := strings.Cut(s, ".")
	process := p.process(pid)
	n, _ := strconv.Atoi(tid)
	for i, th := range p.t.Threads {
		if th.Process == process && th.TID == n {
			return uint32(i)
		}
	}
	p.t.Threads = append(p.t.Threads, Thread{Process: process, TID: n, Global: p.t.Processes[process].Global | int64(n)})
	return uint32(len(p.t.Threads) - 1)
}

func (p *parser) domain(thread, name string) uint32 {
	if name == "" {
		return 0
	}
	pid, _, _ := strings.Cut(thread, ".")
	process, id := p.process(pid), p.name(name)
	for i, d := range p.t.Domains {
		if i > 0 && d.Process == process && d.Name == id {
			return uint32(i)
		}
	}
	p.t.Domains = append(p.t.Domains, Domain{Process: process, ID: int64(len(p.t.Domains)), Name: id})
	return uint32(len(p.t.Domains) - 1)
}

func (p *parser) queue(pid string, device, stream int64) uint32 {
	q := Queue{Process: p.process(pid), Device: int32(device), Context: 1, Stream: int32(stream)}
	for i := range p.t.Queues {
		if p.t.Queues[i] == q {
			return uint32(i)
		}
	}
	p.t.Queues = append(p.t.Queues, q)
	return uint32(len(p.t.Queues) - 1)
}

func (p *parser) closeRanges() {
	var last int64
	for _, r := range p.t.Ranges {
		last = max(last, r.Start, r.End)
	}
	p.t.LastNVTX, p.t.LastRange = Time{last, true}, Time{last, true}
	for i := range p.t.Ranges {
		if p.t.Ranges[i].Unclosed {
			p.t.Ranges[i].End = last
		}
	}
}

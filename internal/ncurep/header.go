package ncurep

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// decodeBlockHeader merges a BlockHeader into what is known of the report.
// String tables are cumulative over the whole file, and the session comes in
// pieces that later blocks add to.
// Field numbers are those of the .proto files that Nsight Compute installs under
// extras/FileFormat.
func (r *Reader) decodeBlockHeader(head []byte, b *block) bool {
	return r.decode(head, places{
		1: &b.sources, 2: &b.counts[Kernel], 3: r.sessionDetails, 4: r.stringTable,
		5: func(size uint64) { b.size = int64(uint32(size)) },
		6: func(data []byte) { b.process = r.process(data) },
		7: &b.counts[Range], 8: &b.counts[CommandList], 9: &b.counts[Graph],
	})
}

// stringTable appends the strings of one table. They share one copy of it.
func (r *Reader) stringTable(b []byte) {
	if len(b) == 0 {
		return
	}
	text, at := string(b), 0
	for at < len(b) {
		f, n := consumeField(b[at:])
		if n <= 0 {
			break
		}
		at += n
		if f.num == 1 && f.typ == protowire.BytesType {
			r.strings = append(r.strings, text[at-len(f.data):at])
		}
	}
	if at < len(b) {
		r.warn(r.cur.offset(), 0, stringsLost)
	}
}

// process notes each process once, 65,536 of them at most.
func (r *Reader) process(b []byte) Process {
	var p Process
	r.decode(b, places{1: &p.ID, 2: &p.Host, 3: &p.Name})
	if !slices.Contains(r.info.Processes, p) && len(r.info.Processes) < 1<<16 {
		r.info.Processes = append(r.info.Processes, p)
	}
	return p
}

// intern returns one shared copy of short texts that results repeat.
// Texts over 16 KiB, and new ones once there are 65,536, get a copy of their own. The
// result never aliases b.
func (r *Reader) intern(b []byte) string {
	if len(b) > 16<<10 {
		return string(b)
	}
	if s, ok := r.interned[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(r.interned) < 1<<16 {
		r.interned[s] = s
	}
	return s
}

// sessionDetails adds to what earlier blocks said: lists grow, single values are
// replaced. The program's environment may hold secrets and is only noted.
func (r *Reader) sessionDetails(b []byte) {
	s := &r.info.Session
	sound := decode(b, places{
		2: &s.CreationTime, 3: s.Host.places(), 4: s.Target.places(),
		5: places{1: list(&s.Properties, (*Property).places)},
		6: list(&s.Devices, func(d *Device) places {
			return places{1: &d.ID, 2: &d.Name, 3: func([]byte) { d.Attributes++ }}
		}),
		7: &s.Comments, 8: list(&s.Versions, (*Property).places),
		9: places{1: &s.Executable, 2: &s.WorkDirectory, 3: &s.Arguments,
			4: func(env []byte) { s.HasEnvironment = len(env) > 0 }},
		11: &s.CommandLine,
	})
	if !sound {
		r.warn(r.cur.offset(), 0, sessionLost)
	}
}

// Field numbers are those of the .proto files; a later message replaces single values.
func (s *System) places() places {
	return places{1: &s.OS, 2: &s.Build, 3: &s.Processor, 4: &s.Architecture, 5: &s.Name}
}

func (p *Property) places() places { return places{1: &p.Name, 2: &p.Value} }

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
	return eachField(head, func(f field) {
		switch f.num {
		case 1:
			b.sources = uint32(f.val)
		case 2:
			b.counts[Kernel] = uint32(f.val)
		case 3:
			r.sessionDetails(f.data)
		case 4:
			r.stringTable(f.data)
		case 5:
			if f.typ == protowire.VarintType {
				b.size = int64(uint32(f.val))
			}
		case 6:
			b.process = r.process(f.data)
		case 7:
			b.counts[Range] = uint32(f.val)
		case 8:
			b.counts[CommandList] = uint32(f.val)
		case 9:
			b.counts[Graph] = uint32(f.val)
		}
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
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			p.ID = uint32(f.val)
		case 2:
			p.Host = r.intern(f.data)
		case 3:
			p.Name = r.intern(f.data)
		}
	})
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
// replaced.
func (r *Reader) sessionDetails(b []byte) {
	s := &r.info.Session
	ok := eachField(b, func(f field) {
		switch f.num {
		case 1:
			s.ProcessID = uint32(f.val)
		case 2:
			s.CreationTime = f.val
		case 3:
			decodeSystem(f.data, &s.Host)
		case 4:
			decodeSystem(f.data, &s.Target)
		case 5:
			eachField(f.data, func(f field) {
				if f.num == 1 {
					s.Properties = append(s.Properties, decodeProperty(f.data))
				}
			})
		case 6:
			s.Devices = append(s.Devices, r.device(f.data))
		case 7:
			s.Comments = string(f.data)
		case 8:
			s.Versions = append(s.Versions, decodeProperty(f.data))
		case 9:
			decodeExecutable(f.data, s)
		case 11:
			s.CommandLine = string(f.data)
		}
	})
	if !ok {
		r.warn(r.cur.offset(), 0, sessionLost)
	}
}

func decodeSystem(b []byte, s *System) {
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			s.OS = string(f.data)
		case 2:
			s.Build = string(f.data)
		case 3:
			s.Processor = string(f.data)
		case 4:
			s.Architecture = string(f.data)
		case 5:
			s.Name = string(f.data)
		case 6:
			s.Platform = uint32(f.val)
		}
	})
}

func decodeProperty(b []byte) Property {
	var p Property
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			p.Name = string(f.data)
		case 2:
			p.Value = string(f.data)
		}
	})
	return p
}

// device keeps all attributes that the driver gave, under its names.
func (r *Reader) device(b []byte) Device {
	var d Device
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			d.ID = uint32(f.val)
		case 2:
			d.Name = string(f.data)
		case 3:
			var a Attribute
			eachField(f.data, func(f field) {
				switch f.num {
				case 1:
					a.Name = r.intern(f.data)
				case 2:
					a.Value, _ = decodeValue(f.data)
				}
			})
			d.Attributes = append(d.Attributes, a)
		}
	})
	return d
}

// decodeExecutable keeps the program's path and arguments. The environment
// may hold secrets and is only noted.
func decodeExecutable(b []byte, s *Session) {
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			s.Executable = string(f.data)
		case 2:
			s.WorkDirectory = string(f.data)
		case 3:
			s.Arguments = string(f.data)
		case 4:
			s.HasEnvironment = len(f.data) > 0
		}
	})
}

package ncurep

import (
	"maps"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// nvtx decodes an NvtxState. Domains are named in a table of their own, which
// is read first.
// The state is that of all threads of the process at the launch, not of the launching
// thread alone. It reports false for damage, with what could be read.
func (r *Reader) nvtx(b []byte) (NVTX, bool) {
	n := NVTX{Recorded: true}
	domains := domainTable{}
	ok := eachField(b, func(f field) {
		if f.num == 1 {
			id, d := r.domain(f.data)
			domains[id] = d
		}
	})
	domains.share()
	eachField(b, func(f field) {
		switch f.num {
		case 2:
			ok = r.nvtxThread(f.data, domains, &n) && ok
		case 3:
			ok = r.nvtxOpen(f.data, domains, &n) && ok
		}
	})
	return n, ok
}

// domain is the name and the registered strings of an NVTX domain.
type domain struct {
	name    string
	strings map[uint64]string
	all     map[uint64]string // of all domains
}

func (r *Reader) domain(b []byte) (uint64, domain) {
	var id uint64
	var d domain
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			id = f.val
		case 2:
			d.name = r.intern(f.data)
		case 3:
			p := r.registered(f.data)
			if d.strings == nil {
				d.strings = map[uint64]string{}
			}
			d.strings[p.id] = p.text
		}
	})
	return id, d
}

// domainTable finds a domain by its id.
type domainTable map[uint64]domain

// share gives every domain the registered strings of all: ncu looks payloads
// up without regard to the domain.
func (t domainTable) share() {
	all := map[uint64]string{}
	for _, d := range t {
		maps.Copy(all, d.strings)
	}
	for id, d := range t {
		d.all = all
		t[id] = d
	}
}

type registered struct {
	id   uint64
	text string
}

func (r *Reader) registered(b []byte) registered {
	var p registered
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			p.id = f.val
		case 2:
			p.text = r.intern(f.data)
		}
	})
	return p
}

// nvtxThread adds one stack for each domain of a thread; empty stacks are left out. The
// thread's id may come after its stacks on the wire.
func (r *Reader) nvtxThread(b []byte, domains domainTable, n *NVTX) bool {
	var tid uint32
	first := len(n.Stacks)
	ok := eachField(b, func(f field) {
		switch f.num {
		case 1:
			tid = uint32(f.val)
		case 2:
			var s NVTXStack
			var ranges [][]byte
			eachField(f.data, func(f field) {
				switch f.num {
				case 1:
					s.DomainID = f.val
				case 3:
					ranges = append(ranges, f.data)
				}
			})
			d := domains[s.DomainID]
			s.Domain = d.name
			for _, data := range ranges {
				s.Ranges = append(s.Ranges, r.pushPop(data, d))
			}
			if len(s.Ranges) > 0 {
				n.Stacks = append(n.Stacks, s)
			}
		}
	})
	for i := first; i < len(n.Stacks); i++ {
		n.Stacks[i].Thread = tid
	}
	return ok
}

func (r *Reader) pushPop(b []byte, d domain) NVTXRange {
	var rg NVTXRange
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			rg.Name = r.intern(f.data)
		case 2:
			r.attributes(f.data, d, &rg)
		}
	})
	return rg
}

// nvtxOpen adds the start/end ranges of one domain.
func (r *Reader) nvtxOpen(b []byte, domains domainTable, n *NVTX) bool {
	var id uint64
	first := len(n.Open)
	ok := eachField(b, func(f field) {
		if f.num == 1 {
			id = f.val
		}
	})
	d := domains[id]
	eachField(b, func(f field) {
		if f.num != 3 {
			return
		}
		o := NVTXOpen{}
		eachField(f.data, func(f field) {
			switch f.num {
			case 1:
				o.ID = f.val
			case 2:
				o.Name = r.intern(f.data)
			case 3:
				r.attributes(f.data, d, &o.NVTXRange)
			case 5:
				o.Thread = uint32(f.val)
			}
		})
		n.Open = append(n.Open, o)
	})
	for i := first; i < len(n.Open); i++ {
		n.Open[i].DomainID, n.Open[i].Domain = id, d.name
	}
	return ok
}

func (r *Reader) attributes(b []byte, d domain, rg *NVTXRange) {
	rg.HasAttributes = true
	eachField(b, func(f field) {
		switch f.num {
		case 2:
			rg.Category = uint32(f.val)
		case 3:
			rg.color(f.data)
		case 4:
			rg.payload(f.data, d)
		case 5:
			r.nvtxMessage(f.data, d, rg)
		}
	})
}

// color is kept in the form that ncu prints, 0xaarrggbb without leading zeros.
func (rg *NVTXRange) color(b []byte) {
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			if f.val == 1 {
				rg.ColorType = "RGB"
			}
		case 2:
			rg.Color = "0x" + strconv.FormatUint(f.val, 16)
		}
	})
	if rg.ColorType == "" {
		rg.Color = ""
	}
}

// payloadTypes are indexed by NvtxPayloadType.
var payloadTypes = []string{"", "Uint64", "Int64", "Double", "Uint32", "Int32", "Float", "Json", "JsonRegistered"}

// payload keeps the value in the field that belongs to the type.
func (rg *NVTXRange) payload(b []byte, d domain) {
	var kind uint64
	values := map[protowire.Number]field{}
	eachField(b, func(f field) {
		if f.num == 1 {
			kind = f.val
		} else if f.num <= 8 {
			values[f.num] = f
		}
	})
	if kind == 0 || kind >= uint64(len(payloadTypes)) {
		return
	}
	rg.PayloadType = payloadTypes[kind]
	switch kind {
	case 1:
		rg.Payload = strconv.FormatUint(values[2].val, 10)
	case 2:
		rg.Payload = strconv.FormatInt(int64(values[3].val), 10)
	case 3:
		rg.Payload = strconv.FormatFloat(values[4].float64(), 'f', 6, 64)
	case 4:
		rg.Payload = strconv.FormatUint(uint64(uint32(values[5].val)), 10)
	case 5:
		rg.Payload = strconv.FormatInt(int64(int32(values[6].val)), 10)
	case 6:
		rg.Payload = strconv.FormatFloat(float64(math.Float32frombits(uint32(values[7].val))), 'f', 6, 64)
	case 7:
		rg.Payload = string(values[8].data)
	case 8:
		rg.Payload = d.all[values[2].val]
	}
}

// nvtxMessage gives a handle that was never registered the text that ncu prints for it.
func (r *Reader) nvtxMessage(b []byte, d domain, rg *NVTXRange) {
	var kind, handle uint64
	var text string
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			kind = f.val
		case 2:
			text = r.intern(f.data)
		case 3:
			handle = f.val
		}
	})
	switch kind {
	case 1:
		rg.MessageType, rg.Message = "ASCII", text
	case 2:
		rg.MessageType, rg.Message = "UNICODE", text
	case 3:
		if s, ok := d.strings[handle]; ok {
			rg.MessageType, rg.Message = "REGISTERED", s
		} else {
			rg.Message = invalidHandle
		}
	}
}

// invalidHandle is what ncu prints for a registered string that was not registered.
const invalidHandle = "invalid handle"

package ncurep

import (
	"math"
	"strconv"
)

// domain is the name and the registered strings of an NVTX domain, by handle.
type domain struct {
	name         string
	strings, all map[uint64]string // all is of all domains: ncu looks payloads up without regard to the domain
}

// nvtx decodes an NvtxState. Domains are named in a table of their own, which
// is read first.
// The state is that of all threads of the process at the launch, not of the launching
// thread alone. It reports false for damage, with what could be read.
func (r *Reader) nvtx(b []byte) (NVTX, bool) {
	n := NVTX{Recorded: true}
	domains, all := map[uint64]domain{}, map[uint64]string{}
	ok := r.decode(b, places{1: func(b []byte) {
		var id uint64
		d := domain{strings: map[uint64]string{}, all: all}
		r.decode(b, places{1: &id, 2: &d.name, 3: func(b []byte) {
			var handle uint64
			var text string
			r.decode(b, places{1: &handle, 2: &text})
			d.strings[handle], all[handle] = text, text
		}})
		domains[id] = d
	}})
	r.decode(b, places{
		2: func(b []byte) { ok = r.nvtxThread(b, domains, &n) && ok },
		3: func(b []byte) { ok = r.nvtxOpen(b, domains, &n) && ok },
	})
	return n, ok
}

// nvtxThread adds one stack for each domain of a thread; empty stacks are left out. The
// thread's id may come after its stacks on the wire.
func (r *Reader) nvtxThread(b []byte, domains map[uint64]domain, n *NVTX) bool {
	var thread uint32
	first := len(n.Stacks)
	ok := r.decode(b, places{1: &thread, 2: func(b []byte) {
		var id uint64
		var ranges [][]byte
		r.decode(b, places{1: &id, 3: func(b []byte) { ranges = append(ranges, b) }})
		d := domains[id]
		s := NVTXStack{Domain: d.name}
		for _, data := range ranges {
			var rg NVTXRange
			r.decode(data, places{1: &rg.Name, 2: func(b []byte) { r.attributes(b, d, &rg) }})
			s.Ranges = append(s.Ranges, rg)
		}
		if len(s.Ranges) > 0 {
			n.Stacks = append(n.Stacks, s)
		}
	}})
	for i := first; i < len(n.Stacks); i++ {
		n.Stacks[i].Thread = thread
	}
	return ok
}

// nvtxOpen adds the start/end ranges of one domain; false for damage, with those before it.
func (r *Reader) nvtxOpen(b []byte, domains map[uint64]domain, n *NVTX) bool {
	var id uint64
	ok := decode(b, places{1: &id})
	d := domains[id]
	r.decode(b, places{3: func() places {
		n.Open = append(n.Open, NVTXOpen{Domain: d.name})
		o := &n.Open[len(n.Open)-1]
		return places{1: &o.ID, 2: &o.Name, 3: func(b []byte) { r.attributes(b, d, &o.NVTXRange) }}
	}})
	return ok
}

// attributes keeps a color in the form that ncu prints, 0xaarrggbb without leading zeros.
func (r *Reader) attributes(b []byte, d domain, rg *NVTXRange) {
	var colorType uint64
	r.decode(b, places{
		2: &rg.Category,
		3: places{1: &colorType, 2: func(v uint64) { rg.Color = "0x" + strconv.FormatUint(v, 16) }},
		4: func(b []byte) { rg.payload(b, d) },
		5: func(b []byte) { r.nvtxMessage(b, d, rg) },
	})
	if colorType == 1 {
		rg.ColorType = "RGB"
	} else {
		rg.Color = ""
	}
}

// payloadTypes are indexed by NvtxPayloadType.
var payloadTypes = []string{"", "Uint64", "Int64", "Double", "Uint32", "Int32", "Float", "Json", "JsonRegistered"}

// payload keeps the value in the field that belongs to the type.
// A type that is not known is left out, with its value.
func (rg *NVTXRange) payload(b []byte, d domain) {
	var values [9]field // 1 is the type
	for len(b) > 0 {
		f, n := consumeField(b)
		if n <= 0 {
			break
		}
		if int(f.num) < len(values) {
			values[f.num] = f
		}
		b = b[n:]
	}
	kind := values[1].val
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
		rg.Payload = strconv.FormatFloat(math.Float64frombits(values[4].val), 'f', 6, 64)
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
	r.decode(b, places{1: &kind, 2: &text, 3: &handle})
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

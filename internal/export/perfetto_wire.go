package export

import (
	"io"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of the messages of Perfetto that are written. The schema is
// protos/perfetto/trace of github.com/google/perfetto; the test holds every
// packet against it.
const (
	tracePacket = 1

	packetTimestamp  = 8
	packetSequence   = 10
	packetTrackEvent = 11
	packetInterned   = 12
	packetFlags      = 13
	packetTrack      = 60

	eventAnnotations      = 4
	eventType             = 9
	eventNameIID          = 10
	eventTrack            = 11
	eventDoubleValue      = 44
	eventFlows            = 47 // fixed64
	eventTerminatingFlows = 48 // fixed64

	internedNames           = 2
	internedAnnotationNames = 3
	internedStrings         = 29

	trackUUID    = 1
	trackName    = 2
	trackProcess = 3
	trackThread  = 4
	trackParent  = 5
	trackCounter = 8

	annotationNameIID   = 1
	annotationUint      = 3
	annotationStringIID = 17

	counterUnitName = 6
)

// Values of TrackEvent.Type and of TracePacket.SequenceFlags.
const (
	sliceBegin   = 1
	sliceEnd     = 2
	instant      = 3
	counterValue = 4

	stateCleared = 1
	needsState   = 2
)

// A perfettoWriter writes packets of one sequence. Names are interned: the first
// packet that uses one brings it along.
// The first error is kept in err, and nothing is written after it.
type perfettoWriter struct {
	w io.Writer
	// err is the first that came; nothing is written after it.
	err error

	packet, event, interned, item []byte // reused

	names, keys, texts map[string]uint64 // iid by text, of names of events, of annotations and of their values
	tracks             uint64            // uuids given out
	// started: the packet that resets the state of the reader was written.
	started bool
}

// newPerfettoWriter writes to w, which it does not buffer.
func newPerfettoWriter(w io.Writer) *perfettoWriter {
	return &perfettoWriter{w: w, names: map[string]uint64{}, keys: map[string]uint64{}, texts: map[string]uint64{}}
}

// appendUint appends a field of a varint.
func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

// appendFixed appends a field of 64 bits.
func appendFixed(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}

// appendBytes appends a field of a text or of a message.
func appendBytes(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// appendText replaces what is not UTF-8, which a string of protobuf must be.
func appendText(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), strings.ToValidUTF8(v, "\uFFFD"))
}

// intern gives the iid of a text in an index of the sequence; a new one goes into
// the packet in work.
func (p *perfettoWriter) intern(index map[string]uint64, field protowire.Number, text string) uint64 {
	if iid, ok := index[text]; ok {
		return iid
	}
	iid := uint64(len(index) + 1)
	index[text] = iid
	p.item = appendText(appendUint(p.item[:0], 1, iid), 2, text) // EventName, DebugAnnotationName and InternedString are alike
	p.interned = appendBytes(p.interned, field, p.item)
	return iid
}

// A flow joins a call to what it launched; 0 is none.
type flow uint64

// begin starts an event on a track. Fields are added before emit.
func (p *perfettoWriter) begin(kind, track uint64) {
	p.event = appendUint(appendUint(p.event[:0], eventType, kind), eventTrack, track)
	p.interned = p.interned[:0]
}

// name, flow, annotate and value go between begin and emit.
func (p *perfettoWriter) name(text string) {
	p.event = appendUint(p.event, eventNameIID, p.intern(p.names, internedNames, text))
}

// flow leads on from this event, or ends in it.
func (p *perfettoWriter) flow(f flow, ends bool) {
	switch {
	case f == 0:
	case ends:
		p.event = appendFixed(p.event, eventTerminatingFlows, uint64(f))
	default:
		p.event = appendFixed(p.event, eventFlows, uint64(f))
	}
}

// annotate adds a text to the event that is being written, shown when it is selected.
func (p *perfettoWriter) annotate(key string, text string) {
	iid := p.intern(p.keys, internedAnnotationNames, key)
	value := p.intern(p.texts, internedStrings, text)
	p.item = appendUint(appendUint(p.item[:0], annotationNameIID, iid), annotationStringIID, value)
	p.event = appendBytes(p.event, eventAnnotations, p.item)
}

// annotateUint is annotate for a number, which Perfetto's SQL can sum.
func (p *perfettoWriter) annotateUint(key string, v uint64) {
	iid := p.intern(p.keys, internedAnnotationNames, key)
	p.item = appendUint(appendUint(p.item[:0], annotationNameIID, iid), annotationUint, v)
	p.event = appendBytes(p.event, eventAnnotations, p.item)
}

// value is that of a counter, in the unit of its track.
func (p *perfettoWriter) value(v float64) {
	p.event = appendFixed(p.event, eventDoubleValue, math.Float64bits(v))
}

// emit writes the event in work.
// time is in ns on the axis of the export and not negative.
func (p *perfettoWriter) emit(time int64) {
	b := appendUint(p.packet[:0], packetTimestamp, uint64(time))
	if len(p.interned) > 0 {
		b = appendBytes(b, packetInterned, p.interned)
	}
	p.write(appendBytes(b, packetTrackEvent, p.event))
}

// end closes the innermost open slice of a track.
func (p *perfettoWriter) end(track uint64, time int64) {
	p.begin(sliceEnd, track)
	p.emit(time)
}

// track describes a new track and gives its uuid. A parent of 0 is none; what
// appends further fields of the descriptor.
func (p *perfettoWriter) track(parent uint64, name string, what func([]byte) []byte) uint64 {
	p.tracks++
	b := appendUint(nil, trackUUID, p.tracks)
	if parent != 0 {
		b = appendUint(b, trackParent, parent)
	}
	if name != "" {
		b = appendText(b, trackName, name)
	}
	if what != nil {
		b = what(b)
	}
	p.write(appendBytes(p.packet[:0], packetTrack, b))
	return p.tracks
}

// write finishes a packet.
// The first packet clears the state of the sequence, as readers of interned names need.
func (p *perfettoWriter) write(packet []byte) {
	flags := uint64(needsState)
	if !p.started {
		p.started, flags = true, stateCleared
	}
	packet = appendUint(appendUint(packet, packetSequence, 1), packetFlags, flags)
	p.packet = packet
	var head [16]byte
	if p.err == nil {
		_, p.err = p.w.Write(protowire.AppendVarint(protowire.AppendTag(head[:0], tracePacket, protowire.BytesType), uint64(len(packet))))
	}
	if p.err == nil {
		_, p.err = p.w.Write(packet)
	}
}

// processFields, threadFields and counterFields append descriptors; an empty name or unit is left out.
func processFields(pid int, name string) func([]byte) []byte {
	return func(b []byte) []byte {
		p := appendUint(nil, 1, uint64(pid))
		if name != "" {
			p = appendText(p, 6, name)
		}
		return appendBytes(b, trackProcess, p)
	}
}

// threadFields describe the track of a thread; Perfetto puts it below its process.
func threadFields(pid, tid int, name string) func([]byte) []byte {
	return func(b []byte) []byte {
		t := appendUint(appendUint(nil, 1, uint64(pid)), 2, uint64(tid))
		if name != "" {
			t = appendText(t, 5, name)
		}
		return appendBytes(b, trackThread, t)
	}
}

// counterFields describe the track of a counter; unit may be "".
func counterFields(unit string) func([]byte) []byte {
	return func(b []byte) []byte {
		var c []byte
		if unit != "" {
			c = appendText(c, counterUnitName, unit)
		}
		return appendBytes(b, trackCounter, c)
	}
}

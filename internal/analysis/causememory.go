package analysis

import "github.com/deepprof/deepprof/internal/fact"

// l2Misses: data is read again from L2, and more comes from DRAM than L2 can hold.
func l2Misses(s *causeInput) (finding, answer) {
	v, ok := s.several(counterL2Reads, counterDRAMRead)
	if !ok {
		return finding{}, unknown
	}
	holds, okSize := s.value(counterL2Bytes)
	if v[0]*sectorBytes < reuseLimit*v[1] || v[1] <= 0 || okSize && v[1] <= holds {
		return finding{}, no
	}
	reuse := v[0] * sectorBytes / v[1]
	f := finding{[]fact.Param{fact.Num("reuse", fact.KindNumber, round(reuse)), fact.Bytes("read", v[1])},
		[]CauseEvidence{reaches(counterL2Reads, v[0], "sector", reuseLimit*v[1]/sectorBytes), told(counterDRAMRead, v[1], "byte")}}
	if okSize {
		f.params = append(f.params, fact.Bytes("holds", holds))
		f.evidence = append(f.evidence, told(counterL2Bytes, holds, "byte"))
	}
	return f, yes
}

// streaming: what DRAM moves is asked for once, or L2 holds all of it: no cache can
// help. L2 can be busier than DRAM with it, because it keeps what is written.
func streaming(s *causeInput) (finding, answer) {
	v, ok := s.several(counterL2Reads, counterDRAMRead)
	switch {
	case !ok:
		return finding{}, unknown
	case s.kind == limitL2 && v[0]*sectorBytes >= reuseLimit*v[1]:
		return finding{}, no
	}
	return finding{[]fact.Param{fact.Share("level", s.level(s.kind)), fact.Bytes("read", v[1])},
		[]CauseEvidence{told(counterL2Reads, v[0], "sector"), told(counterDRAMRead, v[1], "byte")}}, yes
}

// sharedTraffic: shared memory is what keeps L1 busy, without conflicts.
func sharedTraffic(s *causeInput) (finding, answer) {
	part, ok := s.sharedPart()
	if !ok {
		return finding{}, unknown
	}
	if part < sharedLimit {
		return finding{}, no
	}
	v, _ := s.value(counterDataShared)
	return finding{[]fact.Param{fact.Share("part", part)}, []CauseEvidence{reaches(counterDataShared, v, "%", v*sharedLimit/part)}}, yes
}

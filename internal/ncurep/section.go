package ncurep

import "slices"

// decodeSection keeps the head of a ProfilerSection. Its body describes tables
// and charts of the vendor's interface and is only searched for metric names.
func decodeSection(b []byte) (Section, bool) {
	var s Section
	var body []SectionMetric
	ok := decode(b, places{1: &s.Identifier, 2: &s.DisplayName, 3: &s.Order,
		4: places{2: list(&s.Header, (*SectionMetric).places)}, 6: places{1: list(&body, (*SectionMetric).places)}})
	for _, m := range slices.Concat(s.Header, body) {
		if m.Name != "" && !slices.Contains(s.Metrics, m.Name) {
			s.Metrics = append(s.Metrics, m.Name)
		}
	}
	return s, ok
}

// places are those of a row of the header table.
func (m *SectionMetric) places() places { return places{1: &m.Name, 2: &m.Label} }

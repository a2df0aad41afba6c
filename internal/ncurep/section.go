package ncurep

// decodeSection keeps the head of a ProfilerSection. Its body describes tables
// and charts of the vendor's interface and is only searched for metric names.
func decodeSection(b []byte) (Section, bool) {
	var s Section
	seen := map[string]bool{}
	mention := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			s.Metrics = append(s.Metrics, name)
		}
	}
	ok := eachField(b, func(f field) {
		switch f.num {
		case 1:
			s.Identifier = string(f.data)
		case 2:
			s.DisplayName = string(f.data)
		case 3:
			s.Order = uint32(f.val)
		case 4:
			eachField(f.data, func(f field) {
				if f.num == 2 {
					m := decodeSectionMetric(f.data)
					s.Header = append(s.Header, m)
					mention(m.Name)
				}
			})
		case 6:
			eachField(f.data, func(f field) {
				if f.num == 1 {
					mention(decodeSectionMetric(f.data).Name)
				}
			})
		}
	})
	return s, ok
}

func decodeSectionMetric(b []byte) SectionMetric {
	var m SectionMetric
	eachField(b, func(f field) {
		switch f.num {
		case 1:
			m.Name = string(f.data)
		case 2:
			m.Label = string(f.data)
		}
	})
	return m
}

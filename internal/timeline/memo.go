package timeline

// A Memo holds what was made for each key. Millions of events have few keys, which come
// again soon: most are found without hashing. The zero value is empty.
// It is for one goroutine.
type Memo[K comparable, V any] struct {
	slots [256]struct {
		key   K
		value V
		used  bool
	}
	all map[K]V
}

// At is the value of a key, which is made where it is asked for first. The hint need not
// tell keys apart; it is best where keys that come together differ in its lowest bits.
// Make is called once for each key.
func (m *Memo[K, V]) At(hint uint32, key K, make func() V) V {
	s := &m.slots[hint%uint32(len(m.slots))]
	if s.used && s.key == key {
		return s.value
	}
	value, ok := m.all[key]
	if !ok {
		if m.all == nil {
			m.all = map[K]V{}
		}
		value = make()
		m.all[key] = value
	}
	s.key, s.value, s.used = key, value, true
	return value
}

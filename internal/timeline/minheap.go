package timeline

// A minHeap gives the least of its items first. The zero value but for less is empty.
type minHeap[T any] struct {
	list []T
	less func(x, y *T) bool
}

func (h *minHeap[T]) push(v T) {
	h.list = append(h.list, v)
	for at := len(h.list) - 1; at > 0; {
		above := (at - 1) / 2
		if !h.less(&h.list[at], &h.list[above]) {
			return
		}
		h.list[at], h.list[above] = h.list[above], h.list[at]
		at = above
	}
}

// pop takes the least item, of which there is one.
func (h *minHeap[T]) pop() T {
	least, n := h.list[0], len(h.list)-1
	h.list[0] = h.list[n]
	h.list = h.list[:n]
	for at := 0; ; {
		least := at
		for _, below := range [2]int{2*at + 1, 2*at + 2} {
			if below < n && h.less(&h.list[below], &h.list[least]) {
				least = below
			}
		}
		if least == at {
			break
		}
		h.list[at], h.list[least] = h.list[least], h.list[at]
		at = least
	}
	return least
}

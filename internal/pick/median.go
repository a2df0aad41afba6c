package pick

// lowerMedian is the middle one of numbers in their order, the lower of two, of which
// there is at least one. It puts them in another order, and takes about as long as going
// through them three times, where sorting would go through them twenty times.
func lowerMedian(list []int64) int64 {
	low, high, want := 0, len(list)-1, (len(list)-1)/2
	for low < high {
		pivot := middleOf(list[low], list[low+(high-low)/2], list[high])
		i, j := low, high
		for i <= j {
			for list[i] < pivot {
				i++
			}
			for list[j] > pivot {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch { // list[:j+1] is at most the pivot, list[i:] at least
		case want <= j:
			high = j
		case want >= i:
			low = i
		default:
			return pivot
		}
	}
	return list[low]
}

// middleOf is neither the least nor the most of three.
func middleOf(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }

package message

// labels are the words for enumerated IDs, by domain.
var labels = causeLabels

// Label is the word for an ID of a domain; the ID itself where there is none.
func Label(domain, id string) string {
	if s, ok := labels[domain][id]; ok && !codesOnly {
		return s
	}
	return id
}

package message

// labels are the words for enumerated IDs, by domain; a domain stands in one table, beside
// the words of its area. A parameter of kind ID names its domain, and tables and the page ask
// Label themselves.
var labels = []map[string]map[string]string{causeLabels, analysisLabels, pickLabels, modelLabels, methodLabels,
	limiterLabels, findingLabels, compareLabels, rankLabels,
	captureLabels, annotationLabels, toldLabels, doctorLabels, damageLabels, pageLabels, phraseLabels}

// Label is the word for an ID of a domain; the ID itself where there is none.
func Label(domain, id string) string {
	for _, table := range labels {
		if s, ok := table[domain][id]; ok && !codesOnly {
			return s
		}
	}
	return id
}

package gpu

// Publications are the sources of all peaks.
func Publications() (ids []string) {
	for _, a := range archs {
		ids = append(ids, a.Source)
	}
	for _, s := range sheets {
		ids = append(ids, s.Source)
	}
	return ids
}

package capture

import "strings"

// An archiveFile is one file of a text archive in the txtar layout: a line
// "-- name --" before each file, free text before the first.
type archiveFile struct{ name, data string }

func parseArchive(text string) (comment string, files []archiveFile) {
	var b strings.Builder
	name := ""
	keep := func() {
		if name == "" {
			comment = b.String()
		} else {
			files = append(files, archiveFile{name, b.String()})
		}
		b.Reset()
	}
	for line := range strings.Lines(text) {
		next, ok := archiveName(line)
		if !ok {
			b.WriteString(line)
			continue
		}
		keep()
		name = next
	}
	keep()
	return comment, files
}

func archiveName(line string) (string, bool) {
	line = strings.TrimRight(line, "\r\n")
	name, ok := strings.CutPrefix(line, "-- ")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, " --")
	name = strings.TrimSpace(name)
	return name, ok && name != ""
}

package tool

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxQuote bounds a line of foreign output that is quoted, in characters: a
// workload may print megabytes without an end of line.
const maxQuote = 300

// terminalSequence is a command to a terminal: colors, cursor moves, titles.
var terminalSequence = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[@-Z\\\\^_])")

// Quote makes one line of a program's output fit to be stored and shown: at most
// about 300 characters, valid UTF-8, and nothing that commands a terminal. Blanks
// and control characters in a row become one blank.
func Quote(text string) string {
	const look = 16 * maxQuote // what is dropped may be longer than what is kept
	cut := len(text) > look
	if cut {
		text = text[:look]
	}
	text = terminalSequence.ReplaceAllLiteralString(text, "")
	words := strings.FieldsFunc(strings.ToValidUTF8(text, " "), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	})
	text = strings.Join(words, " ")
	if utf8.RuneCountInString(text) > maxQuote {
		text, cut = string([]rune(text)[:maxQuote]), true
	}
	if cut {
		text += "..."
	}
	return text
}

// Text runs a program for what it prints; one that fails is an error.
func Text(ctx context.Context, path string, args ...string) ([]byte, error) {
	stdout, stderr, exit, err := Output(ctx, Command{Path: path, Args: args})
	if err == nil && !exit.OK() {
		err = fmt.Errorf("%s: %s", exit, strings.TrimSpace(string(stderr)))
	}
	return stdout, err
}

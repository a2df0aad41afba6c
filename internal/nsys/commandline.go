package nsys

import (
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// commandLine joins the entries COMMAND and ARGUMENT_n of a capture.
// The result is quoted for a shell; "" if the capture does not name a command. The
// list of arguments ends at the first number that is missing.
func commandLine(parts map[string]string) string {
	if parts["COMMAND"] == "" {
		return ""
	}
	line := []string{shellescape.Quote(parts["COMMAND"])}
	for i := 0; ; i++ {
		arg, ok := parts["ARGUMENT_"+strconv.Itoa(i)]
		if !ok {
			return strings.Join(line, " ")
		}
		line = append(line, shellescape.Quote(arg))
	}
}

package config

import (
	"regexp"
	"strings"
)

// simpleInterpolation is omegaconf's short cut at load time: text that looks
// like common interpolations is not parsed until it is used.
var simpleInterpolation = regexp.MustCompile(`^\$\{\s*(?:` +
	`\.*(?:[$\w]+|\[[$\w]+\])(?:\.[$\w]+|\[[$\w]+\])*` +
	`|(?:[a-zA-Z_]\w*(?:\.[a-zA-Z_]\w*)*)?\s*:\s*(?:[a-zA-Z_0-9/\-+.$%*@?|]+(?:\s*,\s*[a-zA-Z_0-9/\-+.$%*@?|]+)*)?` +
	`)\s*\}`)

// checkInterpolation validates a string as it is loaded.
func checkInterpolation(src string) error {
	_, err := parseText(src)
	if err == nil {
		return nil
	}
	for rest := src; ; {
		i := strings.Index(rest, "${")
		if i < 0 {
			return nil
		}
		m := simpleInterpolation.FindStringIndex(rest[i:])
		if m == nil {
			return err
		}
		rest = rest[i+m[1]:]
	}
}

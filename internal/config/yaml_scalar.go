package config

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// plainTag resolves an unquoted scalar.
// It is for plain text only; quoted text is always a string.
func plainTag(s string) string {
	switch {
	case nullPattern.MatchString(s):
		return "!!null"
	case strings.IndexByte("-+.0123456789", s[0]) >= 0:
		if intPattern.MatchString(s) {
			return "!!int"
		}
		if floatPattern.MatchString(s) {
			return "!!float"
		}
	case boolPattern.MatchString(s):
		return "!!bool"
	case s == "<<":
		return "!!merge"
	case s == "=":
		return "!!value"
	}
	return "!!str"
}

// scalarOf constructs a scalar; nil where the text does not fit the tag or the
// tag is not known.
func scalarOf(tag, s string) *Node {
	switch tag {
	case "!!null":
		return newNull()
	case "!!bool":
		switch strings.ToLower(s) {
		case "yes", "true", "on":
			return newBool(true)
		case "no", "false", "off":
			return newBool(false)
		}
	case "!!int":
		return yamlInt(s)
	case "!!float":
		return yamlFloat(s)
	case "!!str", "!":
		return newText(s)
	}
	return nil
}

// yamlInt reads an integer of YAML 1.1: 0b101, 0x1f, 017 is octal, 1:30 is
// ninety.
func yamlInt(s string) *Node {
	s = strings.ReplaceAll(s, "_", "")
	digits, base := s[sign(s):], 10
	switch {
	case strings.HasPrefix(digits, "0b"):
		digits, base = digits[2:], 2
	case strings.HasPrefix(digits, "0x"):
		digits, base = digits[2:], 16
	case len(digits) > 1 && digits[0] == '0':
		base = 8
	}
	total := new(big.Int)
	for part := range strings.SplitSeq(digits, ":") {
		n, ok := new(big.Int).SetString(part, base)
		if !ok {
			return nil
		}
		total.Mul(total, big.NewInt(60)).Add(total, n)
	}
	if s[0] == '-' {
		total.Neg(total)
	}
	return newInt(total)
}

// yamlFloat reads a float of YAML 1.1: 1e3, .5, 1:30.5 is 90.5.
func yamlFloat(s string) *Node {
	s = strings.ToLower(strings.ReplaceAll(s, "_", ""))
	total := 0.0
	for part := range strings.SplitSeq(s[sign(s):], ":") {
		switch part {
		case ".inf", ".nan":
			part = part[1:]
		}
		f, err := strconv.ParseFloat(part, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil
		}
		total = total*60 + f
	}
	if strings.HasPrefix(s, "-") {
		total = -total
	}
	return newFloat(total)
}

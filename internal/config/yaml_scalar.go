package config

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// plainTag resolves an unquoted scalar.
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

// intOf reads an integer as Python's int(text, base) does: blanks around it, a
// sign, the prefix of the base and single underscores are allowed.
func intOf(s string, base int) (*big.Int, bool) {
	s = strings.TrimSpace(s)
	digits := s[sign(s):]
	if prefix := map[int]string{2: "0b", 8: "0o", 16: "0x"}[base]; prefix != "" && len(digits) > 2 && strings.EqualFold(digits[:2], prefix) {
		digits = strings.TrimPrefix(digits[2:], "_")
	}
	if digits == "" || strings.IndexByte("+-_", digits[0]) >= 0 || strings.HasSuffix(digits, "_") || strings.Contains(digits, "__") {
		return nil, false
	}
	n, ok := new(big.Int).SetString(strings.ReplaceAll(digits, "_", ""), base)
	if ok && s[0] == '-' {
		n.Neg(n)
	}
	return n, ok
}

// signed takes one sign off a number, as PyYAML does.
func signed(s string) (text string, negative bool) {
	return s[sign(s):], strings.HasPrefix(s, "-")
}

func yamlInt(s string) *Node {
	s, negative := signed(strings.ReplaceAll(s, "_", ""))
	var n *big.Int
	var ok bool
	switch {
	case strings.HasPrefix(s, "0b"):
		n, ok = intOf(s[2:], 2)
	case strings.HasPrefix(s, "0x"):
		n, ok = intOf(s[2:], 16)
	case len(s) > 1 && s[0] == '0':
		n, ok = intOf(s, 8)
	case strings.Contains(s, ":"):
		n, ok = new(big.Int), true
		for part := range strings.SplitSeq(s, ":") {
			digit, valid := intOf(part, 10)
			if !valid {
				return nil
			}
			n.Mul(n, big.NewInt(60)).Add(n, digit)
		}
	default:
		n, ok = intOf(s, 10)
	}
	if !ok {
		return nil
	}
	if negative {
		n.Neg(n)
	}
	return newInt(n)
}

// floatOf reads a number as Python's float() does, which knows no hexadecimal.
func floatOf(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "xXpP_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

func yamlFloat(s string) *Node {
	s, negative := signed(strings.ToLower(strings.ReplaceAll(s, "_", "")))
	factor := 1.0
	if negative {
		factor = -1
	}
	switch {
	case s == ".inf":
		return newFloat(factor * parseFloat("inf"))
	case s == ".nan":
		return newFloat(parseFloat("nan"))
	case strings.Contains(s, ":"):
		total := 0.0
		for part := range strings.SplitSeq(s, ":") {
			f, ok := floatOf(part)
			if !ok {
				return nil
			}
			total = total*60 + f
		}
		return newFloat(factor * total)
	}
	f, ok := floatOf(s)
	if !ok {
		return nil
	}
	return newFloat(factor * f)
}

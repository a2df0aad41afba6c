package config

import (
	"encoding/base64"
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
	case "!!binary":
		text := strings.Map(func(r rune) rune {
			if r == '\n' || r == ' ' || r == '\r' || r == '\t' {
				return -1
			}
			return r
		}, s)
		data, err := base64.StdEncoding.DecodeString(text)
		if err == nil {
			return &Node{kind: Bytes, text: string(data)}
		}
	}
	return nil
}

func yamlInt(s string) *Node {
	s = strings.ReplaceAll(s, "_", "")
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimLeft(s, "+-")
	var n *big.Int
	var ok bool
	switch {
	case strings.HasPrefix(s, "0b"):
		n, ok = new(big.Int).SetString(s[2:], 2)
	case strings.HasPrefix(s, "0x"):
		n, ok = new(big.Int).SetString(s[2:], 16)
	case len(s) > 1 && s[0] == '0':
		n, ok = new(big.Int).SetString(s, 8)
	case strings.Contains(s, ":"):
		n, ok = new(big.Int), true
		for part := range strings.SplitSeq(s, ":") {
			digit, valid := new(big.Int).SetString(part, 10)
			if !valid {
				return nil
			}
			n.Mul(n, big.NewInt(60)).Add(n, digit)
		}
	default:
		n, ok = new(big.Int).SetString(s, 10)
	}
	if !ok {
		return nil
	}
	if negative {
		n.Neg(n)
	}
	return newBig(n)
}

func yamlFloat(s string) *Node {
	s = strings.ToLower(strings.ReplaceAll(s, "_", ""))
	sign := 1.0
	if strings.HasPrefix(s, "-") {
		sign = -1
	}
	s = strings.TrimLeft(s, "+-")
	switch {
	case s == ".inf":
		return newFloat(sign * parseFloat("inf"))
	case s == ".nan":
		return newFloat(parseFloat("nan"))
	case strings.Contains(s, ":"):
		total := 0.0
		for part := range strings.SplitSeq(s, ":") {
			f, err := strconv.ParseFloat(part, 64)
			if err != nil {
				return nil
			}
			total = total*60 + f
		}
		return newFloat(sign * total)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil
	}
	return newFloat(sign * f)
}

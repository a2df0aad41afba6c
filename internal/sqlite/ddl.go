package sqlite

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

var errVirtual = errors.New("a virtual table")

// parseCreate parses the text that sqlite_schema keeps for a table.
// Constraints, indexes and defaults that do not change how records are read are passed
// over. The error is errVirtual for a virtual table. Columns have no place in the
// record yet.
func parseCreate(sql string) (columns []Column, withoutRowID bool, err error) {
	tokens := lex(sql)
	open := slices.IndexFunc(tokens, func(t token) bool { return t.is("(") })
	if len(tokens) > 1 && tokens[1].is("VIRTUAL") {
		return nil, false, errVirtual
	}
	if open < 3 || !tokens[0].is("CREATE") {
		return nil, false, errors.New("not a CREATE TABLE statement")
	}
	parts, rest := splitList(tokens[open+1:])
	for i, part := range parts {
		if len(part) == 0 {
			return nil, false, fmt.Errorf("column %d is empty", i+1)
		}
		if anyOf(part[0], "CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN") {
			markRowID(columns, part)
			continue
		}
		c, err := parseColumn(sql, part)
		if err != nil {
			return nil, false, fmt.Errorf("column %d: %w", i+1, err)
		}
		columns = append(columns, c)
	}
	for i := range rest {
		if rest[i].is("WITHOUT") && i+1 < len(rest) && rest[i+1].is("ROWID") {
			withoutRowID = true
		}
	}
	return columns, withoutRowID, nil
}

// splitList cuts what follows an opening parenthesis at the commas of its own
// level; rest comes after the closing one.
func splitList(tokens []token) (parts [][]token, rest []token) {
	depth, from := 0, 0
	for i, t := range tokens {
		switch {
		case t.is("("):
			depth++
		case t.is(")") && depth == 0:
			return append(parts, tokens[from:i]), tokens[i+1:]
		case t.is(")"):
			depth--
		case t.is(",") && depth == 0:
			parts = append(parts, tokens[from:i])
			from = i + 1
		}
	}
	return append(parts, tokens[from:]), nil
}

func anyOf(t token, words ...string) bool {
	return slices.ContainsFunc(words, t.is)
}

// markRowID finds PRIMARY KEY (column) among table constraints, which need no
// comma between them, and marks an INTEGER column as an alias of the rowid.
func markRowID(columns []Column, part []token) {
	for i := 0; i+2 < len(part); i++ {
		if !part[i].is("PRIMARY") || !part[i+1].is("KEY") || !part[i+2].is("(") {
			continue
		}
		keys, _ := splitList(part[i+3:])
		if len(keys) != 1 || len(keys[0]) == 0 {
			return
		}
		for j := range columns {
			c := &columns[j]
			if strings.EqualFold(c.Name, keys[0][0].text) && strings.EqualFold(c.Type, "INTEGER") {
				c.rowID = true
			}
		}
		return
	}
}

// sql is the whole statement: the type is cut out of it with its own spaces.
func parseColumn(sql string, part []token) (Column, error) {
	var c Column
	if !part[0].isName() {
		return c, fmt.Errorf("%q where a name should be", part[0].text)
	}
	c.Name = part[0].text
	part = part[1:]
	end := slices.IndexFunc(part, func(t token) bool {
		return anyOf(t, "CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE",
			"REFERENCES", "GENERATED", "AS", "DEFERRABLE")
	})
	if end < 0 {
		end = len(part)
	}
	if end > 0 {
		c.Type = sql[part[0].from:part[end-1].to]
		if end == 1 {
			c.Type = part[0].text
		}
	}
	c.constraints(part[end:])
	return c, nil
}

// constraints reads what follows the type of a column.
// What stands in parentheses, such as CHECK, is passed over.
func (c *Column) constraints(part []token) {
	depth := 0
	for i, t := range part {
		rest := part[i+1:]
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth > 0:
		case t.is("PRIMARY") && len(rest) > 0 && rest[0].is("KEY"):
			// DESC makes it an ordinary column: a mistake of an early version
			// that SQLite keeps for compatibility.
			c.rowID = strings.EqualFold(c.Type, "INTEGER") && !(len(rest) > 1 && rest[1].is("DESC"))
		case t.is("AS"):
			c.computed = true
		case t.is("STORED"):
			c.computed = false
		case t.is("DEFAULT"):
			c.missing = affinityOf(c.Type).apply(literal(rest))
		}
	}
}

// literal is the value of a DEFAULT clause. SQLite adds columns only with
// constant defaults; anything else never stands for a missing value.
// Parentheses around it are passed over without a check that they are closed.
func literal(tokens []token) value {
	sign := int64(1)
	for len(tokens) > 0 && (tokens[0].is("(") || tokens[0].is("+") || tokens[0].is("-")) {
		if tokens[0].is("-") {
			sign = -sign
		}
		tokens = tokens[1:]
	}
	if len(tokens) == 0 {
		return value{}
	}
	switch t := tokens[0]; {
	case t.kind == tokenNumber:
		return number(t.text, sign)
	case t.is("TRUE"):
		return value{kind: Integer, i: 1}
	case t.is("FALSE"):
		return value{kind: Integer}
	case t.is("NULL"):
		return value{}
	case t.is("x") && len(tokens) > 1 && tokens[1].kind == tokenString && tokens[1].from == t.to:
		b, err := hex.DecodeString(tokens[1].text)
		if err != nil {
			return value{}
		}
		return value{kind: Blob, b: b}
	case t.isName():
		return value{kind: Text, b: []byte(t.text)}
	}
	return value{}
}

// number is the zero value, NULL, for text that is no number. Hexadecimal digits are
// the bits of a signed number, as in SQLite.
func number(text string, sign int64) value {
	text = strings.ReplaceAll(text, "_", "")
	if isHex(text) {
		u, err := strconv.ParseUint(text[2:], 16, 64)
		if err != nil {
			return value{}
		}
		return value{kind: Integer, i: sign * int64(u)}
	}
	if sign < 0 {
		text = "-" + text
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return value{kind: Integer, i: i}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return value{}
	}
	return value{kind: Float, f: f}
}

// apply converts a default as SQLite does when it stores one in such a column.
func (a affinity) apply(v value) value {
	if v.kind == Text && a >= affinityNumeric {
		text := strings.TrimSpace(string(v.b))
		if n := number(text, 1); n.kind != Null && strings.Trim(text, "+-.0123456789eE") == "" {
			v = n
		}
	}
	switch {
	case a == affinityText && v.kind == Integer:
		return value{kind: Text, b: strconv.AppendInt(nil, v.i, 10)}
	case a == affinityText && v.kind == Float:
		b := strconv.AppendFloat(nil, v.f, 'g', 15, 64)
		if !strings.ContainsAny(string(b), ".en") {
			b = append(b, ".0"...)
		}
		return value{kind: Text, b: b}
	case a == affinityReal && v.kind == Integer:
		return value{kind: Float, f: float64(v.i)}
	case (a == affinityInteger || a == affinityNumeric) && v.kind == Float && v.f < math.MaxInt64 && v.f == float64(truncate(v.f)):
		return value{kind: Integer, i: truncate(v.f)}
	}
	return v
}

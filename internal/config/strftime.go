package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// strftime formats a time as Python's datetime.strftime does on Linux in the C
// locale. A directive that is not known stays as it is.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		flag := byte(0)
		if strings.IndexByte("-_0^#", format[i]) >= 0 && i+1 < len(format) {
			flag = format[i]
			i++
		}
		text, ok := directive(t, format[i])
		if !ok {
			b.WriteByte('%')
			if flag != 0 {
				b.WriteByte(flag)
			}
			b.WriteByte(format[i])
			continue
		}
		b.WriteString(flagged(text, flag))
	}
	return b.String()
}

func flagged(text string, flag byte) string {
	switch flag {
	case '-':
		if trimmed := strings.TrimLeft(text, "0 "); trimmed != "" || text == "" {
			return trimmed
		}
		return "0"
	case '_':
		trimmed := strings.TrimLeft(text, "0")
		if trimmed == "" && text != "" {
			trimmed = "0"
		}
		return strings.Repeat(" ", len(text)-len(trimmed)) + trimmed
	case '0':
		trimmed := strings.TrimLeft(text, " ")
		return strings.Repeat("0", len(text)-len(trimmed)) + trimmed
	case '^':
		return strings.ToUpper(text)
	}
	return text
}

func directive(t time.Time, d byte) (string, bool) {
	two := func(n int) string { return fmt.Sprintf("%02d", n) }
	hour12 := (t.Hour()+11)%12 + 1
	isoYear, isoWeek := t.ISOWeek()
	switch d {
	case '%':
		return "%", true
	case 'Y':
		return strconv.Itoa(t.Year()), true
	case 'C':
		return two(t.Year() / 100), true
	case 'y':
		return two(t.Year() % 100), true
	case 'm':
		return two(int(t.Month())), true
	case 'd':
		return two(t.Day()), true
	case 'e':
		return fmt.Sprintf("%2d", t.Day()), true
	case 'H':
		return two(t.Hour()), true
	case 'k':
		return fmt.Sprintf("%2d", t.Hour()), true
	case 'I':
		return two(hour12), true
	case 'l':
		return fmt.Sprintf("%2d", hour12), true
	case 'M':
		return two(t.Minute()), true
	case 'S':
		return two(t.Second()), true
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay()), true
	case 'p':
		return t.Format("PM"), true
	case 'P':
		return strings.ToLower(t.Format("PM")), true
	case 'a':
		return t.Format("Mon"), true
	case 'A':
		return t.Weekday().String(), true
	case 'b', 'h':
		return t.Format("Jan"), true
	case 'B':
		return t.Month().String(), true
	case 'u':
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1), true
	case 'w':
		return strconv.Itoa(int(t.Weekday())), true
	case 'U':
		return two((t.YearDay() + 6 - int(t.Weekday())) / 7), true
	case 'W':
		return two((t.YearDay() + 6 - (int(t.Weekday())+6)%7) / 7), true
	case 'V':
		return two(isoWeek), true
	case 'G':
		return strconv.Itoa(isoYear), true
	case 'g':
		return two(isoYear % 100), true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	case 'z', 'Z':
		return "", true // the time has no zone, as in Python
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case 'F':
		return strftime(t, "%Y-%m-%d"), true
	case 'T', 'X':
		return strftime(t, "%H:%M:%S"), true
	case 'R':
		return strftime(t, "%H:%M"), true
	case 'D', 'x':
		return strftime(t, "%m/%d/%y"), true
	case 'r':
		return strftime(t, "%I:%M:%S %p"), true
	case 'c':
		return strftime(t, "%a %b %e %H:%M:%S %Y"), true
	}
	return "", false
}

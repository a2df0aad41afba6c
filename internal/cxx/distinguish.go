package cxx

import (
	"regexp"
	"slices"
	"strings"
)

// words are what the names of two kernels of the same short name differ in:
// identifiers, and numbers that stand alone.
var words = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*|\b[0-9]+\b`)

// mostWords is how many differing words still help a reader.
const mostWords = 3

// Distinguish returns a short name for each name. Where several names shorten
// to the same, the words that not all of them share are added in brackets, so
// that the rows of a table can be told apart.
func Distinguish(names []string) []string {
	short := make([]string, len(names))
	groups := map[string][]int{}
	for i, n := range names {
		short[i] = Short(n)
		groups[short[i]] = append(groups[short[i]], i)
	}
	for _, group := range groups {
		distinct := map[string]bool{}
		for _, i := range group {
			distinct[names[i]] = true
		}
		if len(distinct) > 1 {
			addWords(short, names, group)
		}
	}
	return short
}

func addWords(short, names []string, group []int) {
	count := map[string]int{} // names of the group that hold a word so often
	seen := make([][]string, len(group))
	for g, i := range group {
		seen[g] = occurrences(words.FindAllString(Demangle(names[i]), -1))
		for _, w := range seen[g] {
			count[w]++
		}
	}
	for g, i := range group {
		var own []string
		for _, w := range seen[g] {
			word, _, _ := strings.Cut(w, "#")
			if count[w] < len(group) && len(own) < mostWords && !slices.Contains(own, word) {
				own = append(own, word)
			}
		}
		if len(own) > 0 {
			short[i] += " [" + strings.Join(own, " ") + "]"
		}
	}
}

// occurrences numbers repeated words, so that a word that one name holds twice
// and another once counts as a difference.
func occurrences(list []string) []string {
	n := map[string]int{}
	for i, w := range list {
		n[w]++
		if n[w] > 1 {
			list[i] = w + "#" + strings.Repeat("#", n[w])
		}
	}
	return list
}

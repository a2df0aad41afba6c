package cxx

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// words are what the names of two kernels of the same short name differ in:
// identifiers, and numbers with their sign and suffix. An identifier before ::
// is a namespace or class around the word that counts.
var words = regexp.MustCompile(`-?\b[0-9][A-Za-z0-9_.]*|[A-Za-z_$][A-Za-z0-9_$]*(?:\s*::)?`)

const (
	mostWords = 3       // differing words that still help a reader
	mostRead  = 1 << 10 // words of a name that are looked at
	mostTried = 1 << 6  // places in which names differ that are weighed
	longWord  = 16      // letters of a word that is left out where the others tell as much
)

// Distinguish returns a short name for each name. Where several names shorten
// to the same, a few words in which they differ are added in brackets, types
// and numbers first, so that no two different names share a row of a table.
// The result is parallel to names; equal names have equal results. It depends on all
// names together, so the same kernel may be called otherwise in another table.
func Distinguish(names []string) []string {
	short := make([]string, len(names))
	groups := map[string][]int{} // by short name: the first of each distinct name
	first := map[string]int{}
	for i, n := range names {
		if _, ok := first[n]; ok {
			continue
		}
		first[n] = i
		short[i] = Short(n)
		groups[short[i]] = append(groups[short[i]], i)
	}
	for _, group := range groups {
		if len(group) > 1 {
			addWords(short, names, group)
		}
	}
	for i, n := range names {
		short[i] = short[first[n]]
	}
	return short
}

// addWords changes short at the indices of the group, which are of different names that
// shorten to the same. Names that still come out alike are numbered.
func addWords(short, names []string, group []int) {
	lists := make([][]string, len(group))
	alike, build := true, ""
	for g, i := range group {
		var b string
		lists[g], b = wordsOf(names[i])
		alike = alike && (g == 0 || b == build && len(lists[g]) == len(lists[0]))
		build = b
	}
	label := byCount
	if alike {
		label = byPlace
	}
	labels := label(lists)
	seen := map[string]int{}
	for g, i := range group {
		label := strings.Join(labels[g], " ")
		seen[label]++
		if n := seen[label]; n > 1 {
			label = strings.TrimSpace(fmt.Sprint(label, " #", n))
		}
		if label != "" {
			short[i] += " [" + label + "]"
		}
	}
}

// wordsOf gives the words of a name and its build: what stands between them. Both are empty
// for a name that is too long to be one.
func wordsOf(name string) (list []string, build string) {
	if len(name) > maxName {
		return nil, ""
	}
	full := tidy(Demangle(name))
	var b strings.Builder
	last := 0
	for _, at := range words.FindAllStringIndex(full, mostRead) {
		b.WriteString(full[last:at[0]])
		last = at[1]
		if w := full[at[0]:at[1]]; !strings.HasSuffix(w, ":") {
			list = append(list, w)
			b.WriteByte('w')
		}
	}
	b.WriteString(full[last:])
	return list, b.String()
}

// byPlace compares names of the same build word by word. The labels are parallel to lists,
// which all have the same length.
func byPlace(lists [][]string) [][]string {
	n := len(lists[0])
	column := func(at int) []string {
		c := make([]string, len(lists))
		for g := range lists {
			c[g] = lists[g][at]
		}
		return c
	}
	var places []int
	known := map[string]bool{} // the types of the template come again as those of the parameters
	for at := 0; at < n && len(places) < mostTried; at++ {
		c := column(at)
		key := strings.Join(c, " ")
		if distinct(c) > 1 && !known[key] {
			known[key] = true
			places = append(places, at)
		}
	}
	chosen := choose(lists, places, func(at int) bool { return !slices.ContainsFunc(column(at), notFlag) })
	labels := make([][]string, len(lists))
	for g := range lists {
		for _, at := range chosen {
			labels[g] = append(labels[g], lists[g][at])
		}
	}
	return labels
}

// choose takes the places that tell the most names apart, then the first of the
// others; flags come last, because a 1 or 0 tells a reader little. Long words are
// mostly helpers inside a library, and stay only where they tell names apart.
func choose(lists [][]string, places []int, flag func(int) bool) []int {
	var chosen []int
	apart := 1
	for len(chosen) < mostWords && len(places) > 0 {
		best, most, score := -1, 0, 0
		for i, at := range places {
			n := distinctAt(lists, append(slices.Clone(chosen), at))
			s := 0
			if n > apart {
				s = 2
			}
			if !flag(at) {
				s++
			}
			if best < 0 || s > score || s == score && n > most {
				best, most, score = i, n, s
			}
		}
		if score == 0 || apart == len(lists) && flag(places[best]) {
			break
		}
		chosen = append(chosen, places[best])
		apart = max(apart, most)
		places = slices.Delete(places, best, best+1)
	}
	slices.Sort(chosen)
	for i := len(chosen) - 1; i >= 0; i-- {
		long := slices.ContainsFunc(lists, func(l []string) bool { return len(l[chosen[i]]) > longWord })
		if rest := slices.Delete(slices.Clone(chosen), i, i+1); long && distinctAt(lists, rest) == apart {
			chosen = rest
		}
	}
	return chosen
}

// distinct counts different texts.
func distinct(list []string) int {
	seen := map[string]bool{}
	for _, s := range list {
		seen[s] = true
	}
	return len(seen)
}

// distinctAt counts the names that differ in the words at some of the places.
func distinctAt(lists [][]string, places []int) int {
	rows := make([]string, len(lists))
	for g, l := range lists {
		for _, at := range places {
			rows[g] += l[at] + " "
		}
	}
	return distinct(rows)
}

// notFlag reports words that are neither a truth value nor the 0 or 1 of one: those of
// different demanglers may be either.
func notFlag(word string) bool {
	return !slices.Contains([]string{"0", "1", "true", "false"}, word)
}

// byCount gives each name the words that not all names hold as often. It is for names of
// different builds, whose words have no places in common.
func byCount(lists [][]string) [][]string {
	type nth struct {
		word string
		n    int // of this word in the name
	}
	count := map[nth]int{} // names that hold a word so often
	seen := make([][]nth, len(lists))
	for g, list := range lists {
		times := map[string]int{}
		for _, w := range list {
			times[w]++
			seen[g] = append(seen[g], nth{w, times[w]})
			count[nth{w, times[w]}]++
		}
	}
	labels := make([][]string, len(lists))
	for g := range lists {
		var own []string
		for _, w := range seen[g] {
			if count[w] < len(lists) && !slices.Contains(own, w.word) {
				own = append(own, w.word)
			}
		}
		// The rarest say most; among equals the first.
		slices.SortStableFunc(own, func(x, y string) int {
			return cmp.Or(cmp.Compare(flagLast(x), flagLast(y)), cmp.Compare(count[nth{x, 1}], count[nth{y, 1}]))
		})
		labels[g] = own[:min(len(own), mostWords)]
	}
	return labels
}

// flagLast is a sort key: what tells a reader little comes after all else.
func flagLast(word string) int {
	if notFlag(word) {
		return 0
	}
	return 1
}

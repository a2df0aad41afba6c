package report

import "github.com/deepprof/deepprof/internal/fact"

// says is a fact that no message has words for: it is shown as it is.
func says(text string) fact.Fact { return fact.Fact{Code: fact.Code(text)} }

func facts(text string) []fact.Fact { return []fact.Fact{says(text)} }

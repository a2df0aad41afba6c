package runs

import "github.com/deepprof/deepprof/internal/fact"

// Codes of what this package states; internal/message has their words.
const (
	processEnded fact.Code = "process-ended" // while a step ran
)

package export

import (
	"context"
	"encoding/json"
	"io"
)

// writeJSON writes result.json: see docs/schemas.
// Keys are those of analysis.Result; numbers keep their full precision.
func writeJSON(ctx context.Context, s *Source, w io.Writer) ([]string, error) {
	result, err := s.Result(ctx)
	if err != nil {
		return nil, err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return nil, e.Encode(result)
}

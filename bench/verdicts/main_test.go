package main

import (
	"strings"
	"testing"
)

func TestVerdicts(t *testing.T) {
	var out strings.Builder
	ok, err := run(&out)
	if err != nil || !ok {
		t.Errorf("%v\n%s", err, &out)
	}
}

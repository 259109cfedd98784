package server

import (
	"math"
	"strconv"
	"testing"
)

func TestAppendDigits(t *testing.T) {
	numbers := []uint64{1 << 53, math.MaxUint64}
	for n := range uint64(1_100) {
		numbers = append(numbers, n)
	}
	for _, n := range numbers {
		if got := string(appendDigits([]byte("x"), n)); got != "x"+strconv.FormatUint(n, 10) {
			t.Errorf("%d is written %s", n, got)
		}
	}
}

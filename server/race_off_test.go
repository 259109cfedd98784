//go:build !race

package server

// raceDetector is on where every memory access costs ten times as much; counts of
// calls are smaller then.
const raceDetector = false

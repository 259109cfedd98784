//go:build !race

package sluicetest

const raceOn = false

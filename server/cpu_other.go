//go:build !unix

package server

// What the process has used of its processors is not known here. The server is for Unix;
// elsewhere it is there only for the tests of programs that use the client (client/sluicetest).

func processorSeconds() (system, user float64) { return 0, 0 }

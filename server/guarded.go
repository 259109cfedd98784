// guarded is true. A build without guards is for make bench-guards alone, which measures
// what they cost: the limits of requests, and for each read the looks at what holds
// commands back and at how a connection behaves. The binary cannot be built without.

//go:build !unguarded

package server

const guarded = true

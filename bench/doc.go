// Package bench measures Sluice beside what people use instead, on the reader's machine: redis-server with limiters in Lua,
// with INCR and PING, a loop that answers a constant, and any other limiter that speaks the Redis protocol. It knows Sluice
// only by its protocol, its command line and the Go client.
//
//	load.go      what a run of the load generator is, and what comes out of it
//	load_linux.go  the generator: one thread, one epoll set, many connections
//	request.go   the bytes that are sent, reply.go the bytes that come back
//	keys.go      which key comes next
//	process_linux.go, servers.go  the servers: started, watched, ended
//	race.go      servers in turns, round after round
//	gateways.go  what the Go client makes of traffic
//	stage_*.go   what is measured
//	targets.go   the ratios to reach
//	accuracy.go  how many calls may pass, and how many did
//	report.go, markdown.go  what is written down
//	draw/        the pictures, a program of its own: a server need not carry what draws them
//
// What is compared takes turns within each round, so that a machine that slows down slows down all. Ratios are taken round by
// round; the median is told, with the lowest and the highest.
package bench

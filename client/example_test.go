package client_test

import (
	"fmt"
	"time"

	"sluice/client"
	"sluice/client/sluicetest"
)

// server is what the examples talk to.
func server() (srv *sluicetest.Server, c *client.Client) {
	srv, err := sluicetest.Start()
	if err != nil {
		panic(err)
	}
	return srv, srv.Client()
}

func Example() {
	srv, c := server() // c, err := client.New("127.0.0.1:6380")
	defer srv.Close()
	defer c.Close()

	for range 3 {
		d, err := c.Allow(ctx, "user:42", client.TokenBucket(2, time.Second), 1)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d.Allowed, d.Remaining, d.RetryAfter)
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 500ms
}

func ExampleClient_AllowAll() {
	srv, c := server()
	defer srv.Close()
	defer c.Close()

	d, err := c.AllowAll(ctx, []client.Call{
		{Key: "user:42", Limit: client.TokenBucket(10, time.Second), Cost: 1},
		{Key: "tenant:7", Limit: client.SlidingCounter(1000, time.Minute), Cost: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Allowed, d.Each[0].Remaining, d.Each[1].Remaining)
	// Output: true 9 999
}

func ExampleClient_Reserve() {
	srv, c := server()
	defer srv.Close()
	defer c.Close()

	r, err := c.Reserve(ctx, "llm:42", client.TokenBucket(1000, time.Minute), 400)
	if err != nil || !r.Allowed {
		fmt.Println(err)
		return
	}
	d, err := r.Commit(ctx, 250) // it took less
	fmt.Println(d.Remaining, err)
	// Output: 750 <nil>
}

func ExampleClient_Acquire() {
	srv, c := server()
	defer srv.Close()
	defer c.Close()

	p, err := c.Acquire(ctx, "jobs", 8, 30*time.Second)
	if err != nil || !p.Allowed {
		fmt.Println(err)
		return
	}
	defer p.Release(ctx)
	fmt.Println(p.Remaining, "more may start")
	// Output: 7 more may start
}

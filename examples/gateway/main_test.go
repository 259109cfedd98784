package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The gateway as a user starts it: with a server of its own, and plans by key and by
// address.
func TestGateway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- run(ctx, l, "", 10*time.Second) }()
	call := func(method, path, key string) (int, http.Header) {
		t.Helper()
		r, _ := http.NewRequest(method, "http://"+l.Addr().String()+path, nil)
		if key != "" {
			r.Header.Set("X-API-Key", key)
		}
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close()
		io.Copy(io.Discard, w.Body)
		return w.StatusCode, w.Header
	}
	for i := range 6 {
		want := 200
		if i == 5 {
			want = 429
		}
		status, header := call("POST", "/api/orders", "alice")
		if status != want || !strings.HasPrefix(header.Get("RateLimit-Policy"), `"orders";q=5;w=60`) || (header.Get("Retry-After") != "") != (want == 429) {
			t.Errorf("order %d: %d, %v", i, status, header)
		}
	}
	if status, header := call("GET", "/api/hello", "alice"); status != 200 || header.Get("RateLimit") == "" {
		t.Errorf("%d, %v", status, header)
	}
	denied := 0
	for range 12 {
		if status, _ := call("GET", "/api/hello", ""); status == 429 {
			denied++
		}
	}
	if denied != 2 {
		t.Errorf("%d of 12 calls without a key were denied, want 2", denied)
	}
	if status, header := call("GET", "/health", ""); status != 200 || header.Get("RateLimit") != "" {
		t.Errorf("%d, %v", status, header)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

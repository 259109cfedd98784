package middleware_test

// What the README shows of the middleware: its ten lines, and what curl prints.

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/client"
	"sluice/client/middleware"
	"sluice/client/sluicetest"
)

// shown is a block of the README between its marks, without the fence.
func shown(t *testing.T, mark string) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "<!-- "+mark+":begin")
	_, block, _ = strings.Cut(block, "```")
	_, block, _ = strings.Cut(block, "\n")
	block, _, ok := strings.Cut(block, "```")
	if !ok {
		t.Fatalf("the README has no block %s", mark)
	}
	return block
}

func TestReadme(t *testing.T) {
	c := sluicetest.New(t).Client()
	limit, err := middleware.New(c, middleware.By(client.TokenBucket(2, time.Minute)), middleware.Per(middleware.Header("X-API-Key")))
	if err != nil {
		t.Fatal(err)
	}
	code := shown(t, "middleware")
	for _, line := range []string{
		"middleware.New(c, middleware.By(client.TokenBucket(2, time.Minute)), middleware.Per(middleware.Header(\"X-API-Key\")))",
		"limit(mux)",
	} {
		if !strings.Contains(code, line) {
			t.Errorf("the README does not show %s", line)
		}
	}
	if lines := strings.Count(code, "\n"); lines > 10 {
		t.Errorf("%d lines", lines)
	}
	mux := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	s := httptest.NewServer(limit(mux))
	defer s.Close()
	for range 2 {
		raw(t, s.Listener.Addr().String())
	}
	got := "$ curl -i -H 'X-API-Key: k1' http://127.0.0.1:8080/\n" + raw(t, s.Listener.Addr().String())
	if want := shown(t, "curl"); got != want {
		t.Errorf("got\n%s\nthe README shows\n%s", got, want)
	}
}

// raw is a response as curl -i prints it, without its date.
func raw(t *testing.T, addr string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nX-API-Key: k1\r\nConnection: close\r\n\r\n", addr)
	text := ""
	for r := bufio.NewReader(conn); ; {
		line, err := r.ReadString('\n')
		line = strings.TrimSuffix(line, "\r\n")
		if !strings.HasPrefix(line, "Date:") && !strings.HasPrefix(line, "Connection:") && (err == nil || line != "") {
			text += strings.TrimSuffix(line, "\n") + "\n"
		}
		if err == io.EOF {
			return text
		}
	}
}

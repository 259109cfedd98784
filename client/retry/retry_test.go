package retry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// base answers in turns, and notes when it was asked and with what body.
type base struct {
	mu      sync.Mutex
	answers []string // "200", "429 5"; the last one for ever
	at      []time.Time
	bodies  []string
}

func (b *base) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	answer := b.answers[min(len(b.at), len(b.answers)-1)]
	b.at = append(b.at, time.Now())
	if r.Body != nil {
		body, _ := io.ReadAll(r.Body)
		b.bodies = append(b.bodies, string(body))
	}
	code, after, _ := strings.Cut(answer, " ")
	w := &http.Response{StatusCode: map[string]int{"200": 200, "429": 429, "503": 503}[code], Header: http.Header{}, Body: http.NoBody} // and no Request, as of a fake
	if after == "DATE" {
		after = time.Now().Add(5 * time.Second).UTC().Format(http.TimeFormat)
	}
	if after != "" {
		w.Header.Set("Retry-After", after)
	}
	return w, nil
}

// C124: a thousand clients that were sent away for five seconds come back within the
// sixth, spread over it, and none of them early.
func TestNobodyComesBackEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		back := make([]time.Duration, 1000)
		var group sync.WaitGroup
		for i := range back {
			group.Go(func() {
				b := &base{answers: []string{"429 5", "200"}}
				r, _ := http.NewRequest("GET", "http://gateway/", nil)
				if w, err := (&Transport{Base: b, Seed: uint64(i + 1)}).RoundTrip(r); err != nil || w.StatusCode != 200 {
					t.Errorf("%+v, %v", w, err)
				}
				back[i] = b.at[1].Sub(began)
			})
		}
		group.Wait()
		tenths := [10]int{}
		for _, at := range back {
			if at < 5*time.Second || at >= 6*time.Second {
				t.Fatalf("one is back after %s", at)
			}
			tenths[(at-5*time.Second)/(100*time.Millisecond)]++
		}
		for i, n := range tenths {
			if n < 50 || n > 150 {
				t.Errorf("%d of 1000 in tenth %d", n, i)
			}
		}
	})
}

func TestRoundTrip(t *testing.T) {
	for _, row := range []struct {
		name, method string
		answers      []string
		status, sent int
		least, most  time.Duration
	}{
		{"at once", "GET", []string{"200"}, 200, 1, 0, 0},
		{"after the wait", "GET", []string{"429 5", "200"}, 200, 2, 5 * time.Second, 6 * time.Second},
		{"a date", "GET", []string{"429 DATE", "200"}, 200, 2, 5 * time.Second, 6 * time.Second},
		{"at once, spread", "GET", []string{"429 0", "200"}, 200, 2, 0, 200 * time.Millisecond},
		{"any method", "POST", []string{"429 1", "200"}, 200, 2, time.Second, 1200 * time.Millisecond},
		{"it never passes", "GET", []string{"429"}, 429, 1, 0, 0},
		{"nonsense", "GET", []string{"429 soon"}, 429, 1, 0, 0},
		{"below zero", "GET", []string{"429 -5"}, 429, 1, 0, 0},
		{"too long", "GET", []string{"429 61"}, 429, 1, 0, 0},
		{"too often", "GET", []string{"429 1"}, 429, TriesMaxDefault, 3 * time.Second, 3600 * time.Millisecond},
		{"503", "GET", []string{"503 1", "200"}, 200, 2, time.Second, 1200 * time.Millisecond},
		{"503 that may have been done", "POST", []string{"503 1", "200"}, 503, 1, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &base{answers: row.answers}
				var body io.Reader
				if row.method == "POST" {
					body = strings.NewReader("order")
				}
				r, _ := http.NewRequest(row.method, "http://gateway/", body)
				began := time.Now()
				w, err := (&Transport{Base: b, Seed: 7}).RoundTrip(r)
				if err != nil || w.StatusCode != row.status || len(b.at) != row.sent {
					t.Fatalf("%+v, %v after %d", w, err, len(b.at))
				}
				if took := time.Since(began); took < row.least || took > row.most {
					t.Errorf("took %s", took)
				}
				for _, sent := range b.bodies {
					if sent != "order" {
						t.Errorf("sent %q", sent)
					}
				}
			})
		})
	}
}

// A wait past the deadline is not begun, and one that is under way ends with its context.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &base{answers: []string{"429 5"}}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, "GET", "http://gateway/", nil)
		began := time.Now()
		if w, err := (&Transport{Base: b}).RoundTrip(r); err != nil || w.StatusCode != 429 || time.Since(began) != 0 {
			t.Errorf("%+v, %v after %s", w, err, time.Since(began))
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		r, _ = http.NewRequestWithContext(ctx, "GET", "http://gateway/", nil)
		if _, err := (&Transport{Base: b}).RoundTrip(r); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// A body that cannot be had again is sent once.
func TestBodyThatIsGone(t *testing.T) {
	b := &base{answers: []string{"429 1", "200"}}
	r, _ := http.NewRequest("POST", "http://gateway/", io.NopCloser(strings.NewReader("order")))
	if w, err := (&Transport{Base: b}).RoundTrip(r); err != nil || w.StatusCode != 429 || len(b.at) != 1 {
		t.Errorf("%+v, %v", w, err)
	}
}

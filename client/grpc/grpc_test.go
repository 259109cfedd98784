package grpc_test

// Calls through the interceptors, of a real gRPC server and client, against the real
// limiter under its test clock. The service is gRPC's own health check.

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	ggrpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	health1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sluice/client"
	"sluice/client/grpc"
	"sluice/client/sluicetest"
)

// serve starts a limited server, and returns a client of its service.
func serve(t *testing.T, c *client.Client, l client.Limit) health1.HealthClient {
	t.Helper()
	limit, err := grpc.New(c, l, grpc.Metadata("x-api-key"))
	if err != nil {
		t.Fatal(err)
	}
	s := ggrpc.NewServer(ggrpc.UnaryInterceptor(limit.Unary), ggrpc.StreamInterceptor(limit.Stream))
	health1.RegisterHealthServer(s, health.NewServer())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(listener)
	t.Cleanup(s.Stop)
	conn, err := ggrpc.NewClient(listener.Addr().String(), ggrpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return health1.NewHealthClient(conn)
}

func as(key string) context.Context {
	return metadata.AppendToOutgoingContext(context.Background(), "x-api-key", key)
}

func TestDenied(t *testing.T) {
	srv := sluicetest.New(t)
	calls := serve(t, srv.Client(), client.TokenBucket(1, 2500*time.Millisecond))
	if _, err := calls.Check(as("k1"), &health1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	var trailer metadata.MD
	_, err := calls.Check(as("k1"), &health1.HealthCheckRequest{}, ggrpc.Trailer(&trailer))
	s := status.Convert(err)
	if s.Code() != codes.ResourceExhausted || len(s.Details()) != 1 {
		t.Fatalf("%v: %v", err, s.Details())
	}
	if info, ok := s.Details()[0].(*errdetails.RetryInfo); !ok || info.RetryDelay.AsDuration() != 2500*time.Millisecond {
		t.Errorf("%v", s.Details())
	}
	if got := trailer.Get("grpc-retry-pushback-ms"); len(got) != 1 || got[0] != "2500" {
		t.Errorf("%v", trailer)
	}
	if _, err := calls.Check(as("k2"), &health1.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	// Without a key the peer's address counts.
	if _, err := calls.Check(context.Background(), &health1.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	if n := srv.Redis().Exists(context.Background(), "ip:127.0.0.1").Val(); n != 1 {
		t.Error(srv.Redis().Keys(context.Background(), "*").Val())
	}
	srv.Advance(2500 * time.Millisecond)
	if _, err := calls.Check(as("k1"), &health1.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
}

func TestStream(t *testing.T) {
	calls := serve(t, sluicetest.New(t).Client(), client.FixedWindow(1, time.Minute))
	for _, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
		ctx, cancel := context.WithCancel(as("k1"))
		defer cancel()
		stream, err := calls.Watch(ctx, &health1.HealthCheckRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A plan's permit is held while the call is under way, and then it is back.
func TestPermitOfAPlan(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	if err := c.SetPlan(context.Background(), "pro", "{limits: {inflight: {algorithm: concurrency, limit: 1, window: 30s}}}"); err != nil {
		t.Fatal(err)
	}
	calls := serve(t, c, client.Plan("pro"))
	for range 3 {
		if _, err := calls.Check(as("k1"), &health1.HealthCheckRequest{}); err != nil {
			t.Error(err)
		}
	}
}

// Who goes away while a leaky bucket has a call wait leaves no permit behind.
func TestPermitOfAWait(t *testing.T) {
	srv := sluicetest.New(t)
	c := srv.Client()
	const plan = "{limits: {inflight: {algorithm: concurrency, limit: 9, window: 30s}, queue: {algorithm: leaky_bucket, limit: 1, window: 1h, burst: 2}}}"
	if err := c.SetPlan(context.Background(), "pro", plan); err != nil {
		t.Fatal(err)
	}
	limit, err := grpc.New(c, client.Plan("pro"), grpc.Metadata("x-api-key"))
	if err != nil {
		t.Fatal(err)
	}
	held := func() int {
		list, err := c.Holders(context.Background(), "{api_key:k1}#inflight")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	ctx, cancel := context.WithCancel(metadata.NewIncomingContext(context.Background(), metadata.Pairs("x-api-key", "k1")))
	defer cancel()
	call := func() error {
		_, err := limit.Unary(ctx, nil, &ggrpc.UnaryServerInfo{FullMethod: "/a/b"}, func(context.Context, any) (any, error) { return nil, nil })
		return err
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- call() }()
	for held() == 0 { // it waits for an hour
		select {
		case err := <-ended:
			t.Fatalf("it does not wait: %v", err)
		default:
		}
	}
	cancel()
	if err := <-ended; status.Code(err) != codes.Canceled || held() != 0 {
		t.Errorf("%d permits are held, %v", held(), err)
	}
}

func TestUnavailable(t *testing.T) {
	srv := sluicetest.New(t)
	calls := serve(t, srv.Client(client.OnFailure(client.FailClosed)), client.FixedWindow(1, time.Minute))
	srv.Down()
	if _, err := calls.Check(as("k1"), &health1.HealthCheckRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := grpc.New(nil, client.Plan("pro")); err == nil {
		t.Error("a nil client was taken")
	}
	if _, err := grpc.New(sluicetest.New(t).Client(), client.TokenBucket(0, time.Second)); err == nil {
		t.Error("a limit of 0 was taken")
	}
}

// Package grpc limits the calls of a gRPC server. It is a module of its own, so that the
// client does not need gRPC.
//
//	limit, err := grpc.New(c, client.Plan("pro"), grpc.Metadata("x-api-key"))
//	...
//	s := ggrpc.NewServer(ggrpc.UnaryInterceptor(limit.Unary), ggrpc.StreamInterceptor(limit.Stream))
//
// A call is counted for whom it comes from, or else for its peer's address. One that is
// denied fails with RESOURCE_EXHAUSTED and a google.rpc.RetryInfo, and the trailer
// grpc-retry-pushback-ms tells retrying clients the same; one whose cost can never pass
// has neither. UNAVAILABLE is only for client.FailClosed, while the limiter cannot be
// reached. A stream is one call, when it begins.
package grpc

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"sluice/client"
	"sluice/client/middleware"
)

// pushback is the trailer that tells a client when to retry, in milliseconds (gRFC A6).
const pushback = "grpc-retry-pushback-ms"

// Identity finds out whom a call comes from, as a key; "" if it cannot.
type Identity func(ctx context.Context, method string) string

// Metadata is an API key in the call's metadata. Put what checks the key before this, or
// everybody who makes keys up is somebody new.
func Metadata(name string) Identity {
	return func(ctx context.Context, _ string) string {
		if values := metadata.ValueFromIncomingContext(ctx, name); len(values) > 0 && values[0] != "" {
			return "api_key:" + values[0]
		}
		return ""
	}
}

// Limiter has the interceptors. Use New.
type Limiter struct {
	client     *client.Client
	limit      client.Limit
	identities []Identity
}

// New makes the interceptors that limit each caller, found by the first of the identities
// that it has, or else its address.
func New(c *client.Client, l client.Limit, identities ...Identity) (*Limiter, error) {
	if c == nil {
		return nil, errors.New("grpc: the client must not be nil")
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	return &Limiter{c, l, identities}, nil
}

// Unary is a grpc.UnaryServerInterceptor.
func (l *Limiter) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	done, err := l.pass(ctx, info.FullMethod, func(md metadata.MD) { grpc.SetTrailer(ctx, md) })
	if err != nil {
		return nil, err
	}
	defer done()
	return next(ctx, request)
}

// Stream is a grpc.StreamServerInterceptor.
func (l *Limiter) Stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	done, err := l.pass(stream.Context(), info.FullMethod, stream.SetTrailer)
	if err != nil {
		return err
	}
	defer done()
	return next(server, stream)
}

// pass decides a call. done gives back what the call holds, a permit of the plan.
func (l *Limiter) pass(ctx context.Context, method string, trailer func(metadata.MD)) (done func(), err error) {
	key, err := l.key(ctx, method)
	if err != nil {
		return nil, err
	}
	d, err := l.client.Allow(ctx, key, l.limit, 1)
	done = func() {
		if d.ID != "" {
			l.client.ReleasePlan(context.WithoutCancel(ctx), key, l.limit.PlanName(), d.ID)
		}
	}
	switch {
	case ctx.Err() != nil:
		done() // it may have passed all the same
		return nil, status.FromContextError(ctx.Err()).Err()
	case err != nil:
		return nil, status.Errorf(codes.Internal, "the call could not be limited: %v", err)
	case !d.Allowed:
		return nil, denied(d, trailer)
	}
	if d.Delay > 0 {
		timer := time.NewTimer(d.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			done()
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	return done, nil
}

// key is whom a call is counted for.
func (l *Limiter) key(ctx context.Context, method string) (string, error) {
	for _, identity := range l.identities {
		if key := identity(ctx, method); key != "" {
			return key, nil
		}
	}
	if p, ok := peer.FromContext(ctx); ok {
		if key, ok := middleware.AddressKey(p.Addr.String(), middleware.IPv6BitsDefault); ok {
			return key, nil
		}
	}
	return "", status.Error(codes.Internal, "the call has neither an identity nor an address to be counted for")
}

// denied is the error of a call that is denied.
func denied(d client.Decision, trailer func(metadata.MD)) error {
	if d.Unavailable {
		return status.Error(codes.Unavailable, "calls cannot be counted at the moment")
	}
	if d.RetryAfter == client.Never {
		return status.Error(codes.ResourceExhausted, "the call costs more than its limit ever holds")
	}
	trailer(metadata.Pairs(pushback, strconv.FormatInt(d.RetryAfter.Milliseconds(), 10)))
	s := status.New(codes.ResourceExhausted, "too many calls")
	if with, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d.RetryAfter)}); err == nil {
		s = with
	}
	return s.Err()
}

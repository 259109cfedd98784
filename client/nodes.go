package client

// Which node of the server has a key, where there are several: those of a go-redis Ring or
// ClusterClient, which place keys by their {tag}. A server that is one node is the plain case.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// nodeOf is the node that a key lives on.
func (c *Client) nodeOf(ctx context.Context, key string) (*node, error) {
	var rdb *redis.Client
	var err error
	switch many := c.rdb.(type) {
	case *redis.Ring:
		rdb, err = many.GetShardClientForKey(key)
	case *redis.ClusterClient:
		rdb, err = c.masterOf(ctx, many, key)
	default:
		return c.single, nil
	}
	switch {
	case errors.Is(err, redis.ErrClosed):
		return nil, ErrClosed
	case isAway(err), ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return c.nodeBy(rdb), nil
}

// nodeBy is the node behind a connection of its own.
func (c *Client) nodeBy(rdb *redis.Client) *node {
	found, ok := c.nodes.Load(rdb)
	if !ok {
		found, _ = c.nodes.LoadOrStore(rdb, &node{client: c, rdb: rdb})
	}
	return found.(*node)
}

// masterOf is nodeOf in a cluster. The first look-up has the cluster tell which node has
// which keys, and waits for that no longer than for any call; what it waits for counts as a
// call of c.single, which stands for the cluster. From then on looking up asks nobody.
func (c *Client) masterOf(ctx context.Context, many *redis.ClusterClient, key string) (*redis.Client, error) {
	if c.mapped.Load() {
		return many.MasterForKey(ctx, key)
	}
	if c.single.away.Load() {
		return nil, ErrUnavailable
	}
	type found struct {
		rdb *redis.Client
		err error
	}
	done := make(chan found, 1)
	if !c.spawn(func() {
		ctx, cancel := context.WithTimeout(c.life, lateFactor*c.timeout)
		defer cancel()
		rdb, err := many.MasterForKey(ctx, key)
		if err == nil {
			c.mapped.Store(true)
		}
		done <- found{rdb, err}
	}) {
		return nil, ErrClosed
	}
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	select {
	case f := <-done:
		if f.err != nil {
			c.single.failed(f.err.Error())
		}
		return f.rdb, f.err
	case <-timer.C:
		c.single.failed("no map of the cluster in time")
		return nil, fmt.Errorf("%w: no map of the cluster within %s", ErrUnavailable, c.timeout)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// byNode puts n things together by the node that the key of each lives on.
func (c *Client) byNode(ctx context.Context, n int, key func(i int) string) (map[*node][]int, error) {
	groups := make(map[*node][]int, 1)
	for i := range n {
		on, err := c.nodeOf(ctx, key(i))
		if err != nil {
			return nil, err
		}
		groups[on] = append(groups[on], i)
	}
	return groups, nil
}

// eachNode does something with every node of the server. Those of a Ring that it holds for
// down are an error.
func (c *Client) eachNode(ctx context.Context, do func(*node) error) error {
	if c.closed.Load() {
		return ErrClosed
	}
	with := func(_ context.Context, rdb *redis.Client) error {
		n := c.nodeBy(rdb)
		if n.away.Load() {
			return ErrUnavailable
		}
		return do(n)
	}
	var err error
	switch many := c.rdb.(type) {
	case *redis.Ring:
		if up, all := many.Len(), len(many.Options().Addrs); up < all {
			return fmt.Errorf("%w: %d of %d nodes are up", ErrUnavailable, up, all)
		}
		err = many.ForEachShard(ctx, with)
	case *redis.ClusterClient:
		ctx, cancel := context.WithTimeout(ctx, max(ManageTimeout, lateFactor*c.timeout))
		defer cancel()
		err = many.ForEachMaster(ctx, with)
	default:
		if c.single.away.Load() {
			return ErrUnavailable
		}
		return do(c.single)
	}
	return err
}

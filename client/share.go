package client

// How much of all traffic comes through this process, as far as the server has told:
// one number for all keys, beside the share that each key has of its own.

import "sync"

// usualShare is the part that this process gets of what all processes are granted, over
// all keys: what stands for a key's own share where nothing of it was seen.
type usualShare struct {
	mu    sync.Mutex
	value float64
}

// usualMemory is how much of the value before a new observation leaves.
const usualMemory = 0.95

func (c *Client) sawShare(part float64) {
	u := &c.usual
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.value == 0 {
		u.value = part
	}
	u.value = u.value*usualMemory + part*(1-usualMemory)
}

func (c *Client) usualShare() float64 {
	c.usual.mu.Lock()
	defer c.usual.mu.Unlock()
	return c.usual.value
}

"""Momentum with frozen layers and weight decay, and an average of the weights."""

from typing import Any, Dict, NamedTuple, Optional

import jax
import jax.numpy as jnp
from jax import tree_leaves, tree_map


class OptState(NamedTuple):
    velocity: Dict[str, Optional[Any]]  # None for a frozen layer
    step: Any


def init(params, frozen=()):
    velocity = {
        name: None if name in frozen else tree_map(jnp.zeros_like, layer)
        for name, layer in params.items()
    }
    return OptState(velocity, jnp.zeros((), jnp.int32))


def clip(grads, max_norm):
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in tree_leaves(grads)))
    scale = jnp.minimum(1.0, max_norm / (norm + 1e-6))
    return tree_map(lambda g: g * scale, grads)


def decay(params, rate):
    """The pull of weight decay on each layer; biases are left alone."""
    mask = {name: {"w": rate, "b": None} for name in params}
    return jax.tree_util.tree_map(lambda r, p: r * p, mask, params)


def update(params, grads, state, lr=0.05, momentum=0.9, weight_decay=1e-3):
    grads = clip(grads, 1.0)
    pull = decay(params, weight_decay)
    grads = tree_map(lambda g, d: g if d is None else g + d, grads, pull)
    # Frozen layers stay None from here on.
    velocity = tree_map(lambda v, g: momentum * v + g, state.velocity, grads)
    moved = tree_map(
        lambda v, p: p - lr * v,  # one step downhill
        velocity,
        params,
    )
    params = {
        name: params[name] if layer is None else layer for name, layer in moved.items()
    }
    return params, OptState(velocity, state.step + 1)


def init_average(params):
    """Only weights are averaged."""
    return {name: {"w": layer["w"], "b": None} for name, layer in params.items()}


def _mix(old, new, rate=0.95):
    return rate * old + (1.0 - rate) * new


def update_average(average, params):
    return jax.tree_map(_mix, average, params)

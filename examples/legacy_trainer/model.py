"""A multilayer perceptron; its parameters are plain dictionaries."""

import jax.numpy as jnp
import numpy as np
from jax import tree_leaves


def init_linear(rng, n_in, n_out, use_bias=True):
    scale = 1.0 / np.sqrt(n_in)
    return {
        "w": jnp.asarray(scale * rng.randn(n_in, n_out), jnp.float32),
        "b": jnp.zeros(n_out) if use_bias else None,
    }


def init_mlp(rng, n_in, width):
    return {
        "embed": init_linear(rng, n_in, width, use_bias=False),
        "hidden": init_linear(rng, width, width),
        "gate": init_linear(rng, width, width, use_bias=False),
        "readout": init_linear(rng, width, 1),
    }


def linear(layer, x):
    y = x @ layer["w"]
    return y if layer["b"] is None else y + layer["b"]


def mlp(params, x):
    h = jnp.tanh(linear(params["embed"], x))
    h = jnp.tanh(linear(params["hidden"], h)) * linear(params["gate"], h)
    return linear(params["readout"], h)[:, 0]


def mse(params, batch):
    x, y = batch
    return jnp.mean((mlp(params, x) - y) ** 2)


def count_params(params):
    return sum(leaf.size for leaf in tree_leaves(params))

"""Fit a small network to a made-up function, and print how it went."""

import jax
import jax.numpy as jnp
import numpy as np

import model
import optim

STEPS = 200
FROZEN = ("embed",)


def make_data(rng, n=256):
    x = rng.uniform(-1.0, 1.0, (n, 3))
    y = np.sin(3.0 * x[:, 0]) + x[:, 1] * x[:, 2]
    return jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)


@jax.jit
def train_step(params, state, average, batch):
    loss, grads = jax.value_and_grad(model.mse)(params, batch)
    params, state = optim.update(params, grads, state)
    average = optim.update_average(average, params)
    return params, state, average, loss


def drift(params, start):
    """How far each array has moved from where it started."""
    return jax.tree_map(lambda p, q: jnp.linalg.norm(p - q), params, start)


def checksum(tree):
    leaves, _ = jax.tree_flatten(tree)
    return float(sum(jnp.sum(jnp.abs(leaf)) for leaf in leaves))


def main():
    rng = np.random.RandomState(0)
    batch = make_data(rng)
    start = params = model.init_mlp(rng, 3, 16)
    print(f"parameters {model.count_params(params)}")

    state = optim.init(params, frozen=FROZEN)
    average = optim.init_average(params)
    for step in range(STEPS):
        params, state, average, loss = train_step(params, state, average, batch)
        if step % 50 == 0:
            print(f"step {step} loss {loss:.6f}")

    print(f"loss {model.mse(params, batch):.6f}")
    print(f"drift {checksum(drift(params, start)):.6f}")
    print(f"average {checksum(average):.6f}")
    print(f"checksum {checksum(params):.6f}")


if __name__ == "__main__":
    main()

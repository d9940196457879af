"""Fit a small model: the filtered gradients hold None for its activation and its table."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


class Model(eqx.Module):
    weight: jax.Array
    bias: jax.Array
    columns: jax.Array
    activation: object

    def __call__(self, x):
        return self.activation(self.weight @ x[self.columns] + self.bias)


@eqx.filter_value_and_grad
def loss(model, xs, ys):
    return jnp.mean((jax.vmap(model)(xs) - ys) ** 2)


def fit(optimizer, steps=50):
    weight = jnp.linspace(-1, 1, 6).reshape(2, 3)
    model = Model(weight, jnp.zeros(2), jnp.array([2, 1, 0]), jnp.tanh)
    xs = jnp.linspace(-1, 1, 30).reshape(10, 3)
    ys = jnp.stack([xs.sum(1), xs.prod(1)], 1)
    state = optimizer.init(eqx.filter(model, eqx.is_array))
    for _ in range(steps):
        value, grads = loss(model, xs, ys)
        updates, state = optimizer.update(grads, state, model)
        model = eqx.apply_updates(model, updates)
    return value


print(f"adam {fit(optax.adamw(0.05, weight_decay=0.01)):.6f}")
print(f"sgd {fit(optax.sgd(0.05, momentum=0.9)):.6f}")

"""Renders JAX arrays, differentiably, and fits Gaussians to photos with them.

Usage: python jax_fit.py DATASET [STEPS]

The dataset is what ``splatcore train`` reads. JAX's arrays are given and taken by DLPack, in the
processor's memory; ``render`` works below ``jax.jit`` and ``jax.grad``, not below ``jax.vmap``.
"""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np

import splatcore

NAMES = ("means", "scales", "rotations", "opacities", "sh")


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def render(parameters, camera):
    """The image [height, width, 3] of the five arrays of a scene."""

    def draw(*arrays):
        return splatcore.render(splatcore.Scene(*arrays), camera, backend="cpu").image

    shape = jax.ShapeDtypeStruct((camera.height, camera.width, 3), jnp.float32)
    return jax.pure_callback(draw, shape, *parameters)


def forward(parameters, camera):
    return render(parameters, camera), parameters


def backward(camera, parameters, image_gradient):
    def slopes(image_gradient, *arrays):
        renderer = splatcore.Renderer(splatcore.Scene(*arrays), "cpu")
        found = renderer.gradients(camera, image_gradient)
        return tuple(getattr(found, name) for name in NAMES)

    shapes = tuple(jax.ShapeDtypeStruct(part.shape, part.dtype) for part in parameters)
    return (jax.pure_callback(slopes, shapes, image_gradient, *parameters),)


render.defvjp(forward, backward)


def start(dataset):
    """Gaussians at the dataset's points, as parameters."""
    points = dataset.points
    n = len(points)
    colours = (dataset.point_colours / 255 - 0.5) / 0.28209479177387814
    return (
        jnp.asarray(points, jnp.float32),
        jnp.full((n, 3), -2.5),
        jnp.tile(jnp.array([1.0, 0, 0, 0]), (n, 1)),
        jnp.zeros(n),
        jnp.asarray(colours[:, None], jnp.float32),
    )


def main():
    dataset = splatcore.Dataset.load(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    views = [(dataset.cameras[i], dataset.image(i) / np.float32(255)) for i in dataset.train]

    @functools.partial(jax.jit, static_argnums=(1,))
    def step(parameters, view, moments, count):
        camera, photo = views[view]

        def loss_of(parameters):
            return jnp.abs(render(parameters, camera) - photo).mean()

        loss, gradients = jax.value_and_grad(loss_of)(parameters)

        def adam(part, slope, mean, square):
            mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
            scaled = mean / (1 - 0.9**count) / (jnp.sqrt(square / (1 - 0.999**count)) + 1e-15)
            return part - 0.02 * scaled, mean, square

        moved = [adam(*one) for one in zip(parameters, gradients, *moments)]
        parameters, *moments = (tuple(part) for part in zip(*moved))
        return loss, parameters, moments

    parameters = start(dataset)
    moments = [tuple(jnp.zeros_like(part) for part in parameters) for _ in range(2)]
    losses = []
    for count in range(1, steps + 1):
        view = count % len(views)
        loss, parameters, moments = step(parameters, view, moments, float(count))
        losses.append(float(loss))
    splatcore.Scene(*parameters).save("scene.ply")
    few = min(len(views), len(losses))
    print(f"loss {np.mean(losses[:few]):.4f} -> {np.mean(losses[-few:]):.4f}")


if __name__ == "__main__":
    main()

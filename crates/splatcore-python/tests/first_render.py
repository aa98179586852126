"""The time of imports and of the first image of a small scene, on the processor."""

import time

begin = time.perf_counter()

import numpy as np

import splatcore

count = 1000
rng = np.random.default_rng(0)
scene = splatcore.Scene(
    means=rng.standard_normal((count, 3)).astype(np.float32),
    scales=np.full((count, 3), -3, np.float32),
    rotations=rng.standard_normal((count, 4)).astype(np.float32),
    opacities=np.ones(count, np.float32),
    sh=rng.standard_normal((count, 1, 3)).astype(np.float32),
)
camera = splatcore.Camera.look_at((0, 0, -4), (0, 0, 0), 320, 240)
image = splatcore.render(scene, camera, backend="cpu").image
taken, worked = time.perf_counter() - begin, time.process_time()
assert image.max() > 0.1, "nothing was drawn"
print(f"imports and the first image of {count} Gaussians: {taken:.2f} s, of the processor {worked:.2f} s")
# Not the wall's time: other programs may be at work.
assert worked < 2, "the first image takes longer than 2 s"

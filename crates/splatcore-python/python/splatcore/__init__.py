"""Photos in, Gaussian splats out: scenes, rendering and training on CPUs and NVIDIA cards.

    import splatcore

    scene = splatcore.Scene.load("scene.ply")
    camera = splatcore.Camera.look_at((0, 0, -4), (0, 0, 0), 640, 480)
    splatcore.render(scene, camera).save("view.png")

Arrays are NumPy's, in the processor's memory. ``splatcore.torch`` renders torch tensors and gives
their gradients; ``splatcore.compat`` stands in for gsplat and INRIA's rasterizer, and ``install``
puts it in their place. Torch is only imported there. The command line is ``python -m splatcore``.
"""

from . import metrics
from ._install import Installation, install
from ._splatcore import (
    Camera,
    Dataset,
    Error,
    Gradients,
    Renderer,
    Rendering,
    Scene,
    TrainedRun,
    TrainingInterrupted,
    TrainingState,
    __version__,
    render,
    train,
)

__all__ = [
    "Camera",
    "Dataset",
    "Error",
    "Gradients",
    "Installation",
    "Renderer",
    "Rendering",
    "Scene",
    "TrainedRun",
    "TrainingInterrupted",
    "TrainingState",
    "__version__",
    "install",
    "metrics",
    "render",
    "train",
]

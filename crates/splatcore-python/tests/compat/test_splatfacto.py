"""nerfstudio's splatfacto: the calls that its model makes of gsplat, with their arguments."""

import importlib.util

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import splatcore  # noqa: E402
from conftest import look_from, random_arrays  # noqa: E402

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("gsplat") is None, reason="gsplat is not installed"
    ),
    pytest.mark.filterwarnings("ignore"),
]
WIDTH, HEIGHT = 64, 48


class Model:
    """Parameters, a strategy and steps in splatfacto's order."""

    def __init__(self, degree, absgrad, mode):
        from gsplat.rendering import rasterization
        from gsplat.strategy import DefaultStrategy

        self.rasterization, self.degree, self.mode = rasterization, degree, mode
        arrays = random_arrays(150, 0, 11)
        torch.manual_seed(0)
        n = len(arrays["means"])
        parts = {
            "means": torch.tensor(arrays["means"]),
            "scales": torch.full((n, 3), -2.0),
            "quats": torch.randn(n, 4),
            "features_dc": torch.rand(n, 3),
            "features_rest": torch.zeros(n, (degree + 1) ** 2 - 1, 3),
            "opacities": torch.logit(torch.full((n, 1), 0.1)),
        }
        self.gaussians = torch.nn.ParameterDict(
            {name: torch.nn.Parameter(part) for name, part in parts.items()}
        )
        self.optimizers = {
            name: torch.optim.Adam([part], lr=1e-2, eps=1e-15)
            for name, part in self.gaussians.items()
        }
        self.strategy = DefaultStrategy(
            prune_opa=0.1,
            grow_grad2d=8e-4 if absgrad else 2e-4,
            grow_scale3d=0.01,
            grow_scale2d=0.05,
            prune_scale3d=0.5,
            prune_scale2d=0.15,
            refine_scale2d_stop_iter=4000,
            refine_start_iter=10,
            refine_stop_iter=15000,
            reset_every=3000,
            refine_every=10,
            pause_refine_after_reset=26,
            absgrad=absgrad,
            revised_opacity=False,
            verbose=False,
        )
        self.state = self.strategy.initialize_state(scene_scale=1.0)

    def draw(self, camera, step, render_mode):
        gaussians = self.gaussians
        colors = torch.cat((gaussians["features_dc"][:, None], gaussians["features_rest"]), 1)
        degree = min(step // 20, self.degree) if self.degree > 0 else None
        if degree is None:
            colors = torch.sigmoid(colors).squeeze(1)
        k = [[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]]
        return self.rasterization(
            means=gaussians["means"],
            quats=gaussians["quats"],
            scales=torch.exp(gaussians["scales"]),
            opacities=torch.sigmoid(gaussians["opacities"]).squeeze(-1),
            colors=colors,
            viewmats=torch.tensor(camera.world_to_camera, dtype=torch.float32)[None],
            Ks=torch.tensor([k]),
            width=WIDTH,
            height=HEIGHT,
            packed=False,
            near_plane=0.01,
            far_plane=1e10,
            render_mode=render_mode,
            sh_degree=degree,
            sparse_grad=False,
            absgrad=self.strategy.absgrad,
            rasterize_mode=self.mode,
        )

    def step(self, camera, photo, step):
        image, alpha, info = self.draw(camera, step, "RGB")
        common = (self.gaussians, self.optimizers, self.state, step, info)
        self.strategy.step_pre_backward(*common)
        background = torch.rand(3)
        image = torch.clamp(image[..., :3] + (1 - alpha) * background, 0.0, 1.0)
        loss = (image[0] - photo[..., :3] - (1 - photo[..., 3:]) * background).abs().mean()
        loss.backward()
        for optimizer in self.optimizers.values():
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.strategy.step_post_backward(*common, packed=False)
        return loss.item()


@pytest.mark.parametrize(
    ("degree", "absgrad", "mode"),
    [(2, False, "classic"), (2, True, "antialiased"), (0, False, "antialiased")],
)
def test_splatfacto_learns(degree, absgrad, mode):
    target = splatcore.Renderer(splatcore.Scene(**random_arrays(200, 0, 5)), "cpu")
    cameras = [look_from(i / 8, WIDTH, HEIGHT) for i in range(8)]
    photos = []
    for camera in cameras:
        view = target.render(camera)
        parts = (torch.from_numpy(view.image), torch.from_numpy(view.alpha)[..., None])
        photos.append(torch.cat(parts, -1))
    with splatcore.install("gsplat"):
        model = Model(degree, absgrad, mode)
        start = len(model.gaussians["means"])
        losses = [model.step(cameras[i % 8], photos[i % 8], i) for i in range(104)]
        with torch.no_grad():
            image, alpha, _ = model.draw(cameras[0], 100, "RGB+ED")
    assert sum(losses[-8:]) < 0.85 * sum(losses[:8])
    assert len(model.gaussians["means"]) != start
    assert image.shape == (1, HEIGHT, WIDTH, 4) and alpha.shape == (1, HEIGHT, WIDTH, 1)
    depth = image[..., 3:][alpha > 0.5]
    assert depth.min() > 2 and depth.max() < 6

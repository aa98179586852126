"""Rendering of torch tensors: gradients against autograd of a plain renderer, and differences."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import splatcore  # noqa: E402
import splatcore.torch  # noqa: E402
from conftest import look_from, random_arrays  # noqa: E402

CAMERA = look_from(0.1, 40, 30)
BACKGROUND = (0.2, 0.4, 0.6)
# Every fragment of alpha 1/255 and more, pixel by pixel.
EXACT = "exact+scalar+atomic"
NAMES = ["means", "scales", "rotations", "opacities", "sh"]


def tensors(count=12, degree=1, seed=8, dtype=torch.float32):
    arrays = random_arrays(count, degree, seed)
    # No colour is cut at 0, no opacity near the cap of 0.99.
    arrays["sh"][:, 0] = np.abs(arrays["sh"][:, 0])
    return [torch.tensor(arrays[name], dtype=dtype, requires_grad=True) for name in NAMES]


def rotation_matrices(q):
    w, x, y, z = torch.nn.functional.normalize(q, dim=-1).unbind(-1)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


def plain_render(means, scales, rotations, opacities, sh, camera, background):
    """Kerbl et al. 2023, every pixel over every Gaussian, harmonics of degree 0 and 1."""
    f64 = torch.float64
    pose = torch.tensor(camera.world_to_camera, dtype=f64)
    r, t = pose[:3, :3], pose[:3, 3]
    view = means @ r.T + t
    x, y, z = view.unbind(-1)
    zero = torch.zeros_like(z)
    jacobian = torch.stack(
        [
            torch.stack([camera.fx / z, zero, -camera.fx * x / z**2], -1),
            torch.stack([zero, camera.fy / z, -camera.fy * y / z**2], -1),
        ],
        -2,
    )
    m = rotation_matrices(rotations) * scales.exp()[:, None, :]
    cov = jacobian @ r @ m @ m.transpose(-1, -2) @ r.T @ jacobian.transpose(-1, -2)
    cov = cov + 0.3 * torch.eye(2, dtype=f64)
    centre = torch.stack([camera.fx * x / z + camera.cx, camera.fy * y / z + camera.cy], -1)
    direction = torch.nn.functional.normalize(
        means - torch.tensor(camera.position, dtype=f64), dim=-1
    )
    dx, dy, dz = (direction[:, i, None] for i in range(3))
    c0, c1 = 0.28209479177387814, 0.4886025119029199
    colour = c0 * sh[:, 0] + 0.5
    colour = colour + c1 * (-dy * sh[:, 1] + dz * sh[:, 2] - dx * sh[:, 3])
    colour = colour.clamp(min=0)

    rows, columns = torch.meshgrid(
        torch.arange(camera.height, dtype=f64) + 0.5,
        torch.arange(camera.width, dtype=f64) + 0.5,
        indexing="ij",
    )
    pixels = torch.stack([columns, rows], -1)
    image = torch.zeros(camera.height, camera.width, 3, dtype=f64)
    left = torch.ones(camera.height, camera.width, dtype=f64)
    for i in torch.argsort(z):
        offset = pixels - centre[i]
        power = -0.5 * ((offset @ torch.linalg.inv(cov[i])) * offset).sum(-1)
        alpha = (torch.sigmoid(opacities[i]) * power.exp()).clamp(max=0.99)
        alpha = torch.where(alpha >= 1 / 255, alpha, torch.zeros_like(alpha))
        image = image + (left * alpha)[..., None] * colour[i]
        left = left * (1 - alpha)
    return image + left[..., None] * torch.tensor(background, dtype=f64)


def test_image_and_gradients_are_those_of_a_plain_renderer():
    weights = torch.randn(30, 40, 3, generator=torch.Generator().manual_seed(2))
    ours, plain = tensors(), tensors(dtype=torch.float64)
    image = splatcore.torch.render(*ours, CAMERA, background=BACKGROUND, pipeline=EXACT)
    wanted = plain_render(*plain, CAMERA, BACKGROUND)
    assert image.dtype == torch.float32 and image.shape == (30, 40, 3)
    # Fragments at alpha = 1/255 may fall on either side of it.
    off = (image.double() - wanted).abs()
    assert off.max() < 4.1e-3 and off.median() < 1e-6
    (image * weights).sum().backward()
    (wanted * weights.double()).sum().backward()
    for name, found, wanted in zip(NAMES, ours, plain):
        error = (found.grad.double() - wanted.grad).norm() / wanted.grad.norm()
        # A fragment at the threshold has a gradient of up to 1/255 of one that is opaque.
        assert error < 4e-3, f"{name}: {error}"


def test_gradients_of_opacities_and_harmonics_are_slopes():
    rows, columns = torch.meshgrid(torch.arange(30) / 30, torch.arange(40) / 40, indexing="ij")
    weights = torch.stack([1 + columns, 1 + rows, 2 - columns], -1)
    given = tensors(seed=9)
    given[3] = torch.linspace(1.5, 2, len(given[3])).requires_grad_()

    def loss(*changed):
        image = splatcore.torch.render(*changed, CAMERA, pipeline=EXACT)
        return (image.double() * weights).sum()

    loss(*given).backward()
    step = 2e-3
    # Not of the geometry: a footprint that grows or moves takes fragments across alpha = 1/255, some
    # percent of its slope, which gradients leave out by design.
    for i in (3, 4):
        uphill = given[i].grad.sign()
        with torch.no_grad():
            ends = [
                loss(*given[:i], given[i] + sign * step * uphill, *given[i + 1 :])
                for sign in (1, -1)
            ]
        slope = (ends[0] - ends[1]) / (2 * step)
        # An opacity o moves alpha = 1/255 by 1 / (255 o) of its slope.
        wanted = given[i].grad.abs().sum().item()
        assert slope.item() == pytest.approx(wanted, rel=0.01), NAMES[i]


def test_a_module_learns():
    class Splats(torch.nn.Module):
        def __init__(self):
            super().__init__()
            parts = zip(NAMES, tensors(count=30))
            self.parts = torch.nn.ParameterDict(
                {name: torch.nn.Parameter(part.detach()) for name, part in parts}
            )

        def forward(self, camera):
            return splatcore.torch.render(*(self.parts[name] for name in NAMES), camera)

    target = splatcore.torch.render(*tensors(count=30, seed=11), CAMERA).detach()
    model = Splats()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = ((model(CAMERA) - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_only_what_is_needed_has_a_gradient():
    means, scales, rotations, opacities, sh = (part.detach() for part in tensors())
    opacities.requires_grad_()
    # A sum's gradient is one value, expanded.
    splatcore.torch.render(means, scales, rotations, opacities, sh, CAMERA).sum().backward()
    assert opacities.grad.abs().max() > 0 and means.grad is None


def test_gradients_of_gradients_are_refused():
    parts = tensors()
    image = splatcore.torch.render(*parts, CAMERA)
    (gradient,) = torch.autograd.grad((image**2).sum(), parts[:1], create_graph=True)
    with pytest.raises(RuntimeError):
        gradient.sum().backward()


def test_what_cannot_be_rendered_is_refused():
    parts = tensors()
    with pytest.raises(TypeError, match="means must be torch.float32, found torch.float64"):
        splatcore.torch.render(parts[0].double(), *parts[1:], CAMERA)
    with pytest.raises(TypeError, match="sh must be a torch.Tensor, found ndarray"):
        splatcore.torch.render(*parts[:4], parts[4].detach().numpy(), CAMERA)
    with pytest.raises(ValueError, match=r"scales must have shape \[12, 3\], found \[11, 3\]"):
        splatcore.torch.render(parts[0], parts[1][1:], *parts[2:], CAMERA)
    with pytest.raises(ValueError, match="opacities must be on the CPU, found meta"):
        meta = torch.empty(12, device="meta")
        splatcore.torch.render(*parts[:3], meta, parts[4], CAMERA)


def test_scenes_take_tensors_and_give_them():
    parts = [part.detach() for part in tensors()]
    scene = splatcore.Scene(*parts)
    np.testing.assert_array_equal(scene.means, parts[0].numpy())
    with pytest.warns(UserWarning, match="not writ"):
        shared = torch.from_numpy(scene.means)
    assert shared.data_ptr() == scene.means.ctypes.data
    with pytest.raises(TypeError, match="means: this Tensor does not give its memory"):
        splatcore.Scene(parts[0].clone().requires_grad_(), *parts[1:])

"""The drop-ins on a card, in float32, against the same calls on the CPU."""

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import scenes  # noqa: E402
from scenes import HEIGHT, WIDTH  # noqa: E402

from splatcore.compat import gsplat, inria  # noqa: E402
from splatcore.compat.fused_ssim import fused_ssim  # noqa: E402
from splatcore.compat.simple_knn import distCUDA2  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no card")

CASES = {
    "harmonics": {"sh_degree": 2},
    "dense": {"sh_degree": 2, "packed": False, "absgrad": True},
    "antialiased": {"sh_degree": 2, "rasterize_mode": "antialiased", "render_mode": "RGB+ED"},
    "sparse": {"sh_degree": 2, "sparse_grad": True},
    "orthographic": {"sh_degree": 2, "camera_model": "ortho", "render_mode": "D"},
    "fisheye": {"sh_degree": 2, "camera_model": "fisheye"},
    "forty channels": {},
    "lens": {
        "sh_degree": 2,
        "with_ut": True,
        "radial_coeffs": [-0.12, 0.03, 0.01, 0.05, -0.02, 0.004],
    },
}


def on(device, name, precision):
    options = CASES[name]
    degree = options.get("sh_degree")
    channels = 40 if degree is None else 3
    given = scenes.make(
        count=60, degree=degree, channels=channels, dtype=torch.float32, device=device
    )
    if "radial_coeffs" in options:
        radial = torch.tensor(options["radial_coeffs"], device=device).expand(2, 6)
        options = {**options, "radial_coeffs": radial}
    with gsplat.settings.changed(precision=precision):
        image, alphas, meta = gsplat.rasterization(width=WIDTH, height=HEIGHT, **given, **options)
    meta["means2d"].retain_grad()
    loss = (image * scenes.weights(image)).sum() + alphas.sum()
    names = [key for key in given if not (key == "backgrounds" and image.shape[-1] == 1)]
    loss.backward()
    gradients = {key: given[key].grad for key in names if given[key].grad is not None}
    gradients["means2d"] = meta["means2d"].grad
    if options.get("absgrad"):
        gradients["absgrad"] = meta["means2d"].absgrad
    return image.detach(), meta, gradients


@pytest.mark.parametrize("precision", ["half", "single"])
@pytest.mark.parametrize("name", CASES)
def test_rasterization(name, precision):
    (image, meta, gradients), (wanted, right, slopes) = (
        on(device, name, precision) for device in ("cuda", "cpu")
    )
    assert image.device.type == "cuda"
    off = (image.cpu() - wanted).abs()
    # A fragment at alpha = 1/255 may fall on either side of it.
    assert off.median() < (5e-4 if precision == "half" else 1e-5) and off.mean() < 1e-3
    assert (meta["radii"].cpu() - right["radii"]).abs().max() <= 1
    assert gradients.keys() == slopes.keys()
    for key, slope in slopes.items():
        found = gradients[key]
        assert found.device.type == "cuda" and found.layout == slope.layout, key
        found, slope = (part.to_dense() if part.is_sparse else part for part in (found, slope))
        assert scenes.relative(found, slope) < 0.02, key


@pytest.mark.parametrize("model", ["pinhole", "ortho", "fisheye"])
def test_projection_in_camera_space(model):
    random = torch.Generator().manual_seed(1)
    means, covars = torch.randn(2, 50, 12, generator=random).split([3, 9], -1)
    given = (means + torch.tensor([0.0, 0.0, 4.0]), covars.unflatten(-1, (3, 3)))
    found = []
    for device in ("cuda", "cpu"):
        leaves = [part.to(device, copy=True).requires_grad_() for part in given]
        K = scenes.poses(2)[1].to(device, torch.float32)
        parts = gsplat.proj(*leaves, K, WIDTH, HEIGHT, model)
        slopes = torch.autograd.grad(sum(part.square().sum() for part in parts), leaves)
        found.append((*parts, *slopes))
    for one, other in zip(*found):
        assert one.device.type == "cuda" and scenes.relative(one, other) < 1e-4


def test_relocation():
    random = torch.Generator().manual_seed(1)
    given = (torch.rand(60, generator=random), torch.rand(60, 3, generator=random))
    binoms = torch.tensor([[math.comb(n, k) for k in range(20)] for n in range(20)]).float()
    ratios = torch.arange(60) % 22
    wanted = gsplat.compute_relocation(*given, ratios.clone(), binoms)
    moved = [part.cuda() for part in (*given, ratios, binoms)]
    for one, other in zip(gsplat.compute_relocation(*moved), wanted):
        assert one.device.type == "cuda" and scenes.relative(one, other) < 1e-5


def drawn(**changed):
    """Whether an image has other bits in single precision, and how far apart both are."""
    given = scenes.make(count=60, degree=2, dtype=torch.float32, device="cuda")
    given = {key: part.detach() for key, part in given.items()}
    named = {"width": WIDTH, "height": HEIGHT, "sh_degree": 2, "packed": False, **changed}
    image = gsplat.rasterization(**given, **named)[0]
    with gsplat.settings.changed(precision="single"):
        single = gsplat.rasterization(**given, **named)[0]
    return not torch.equal(image, single), (image - single).abs().mean()


def test_images_of_harmonics_are_drawn_in_halves():
    differ, off = drawn()
    assert differ and off < 1e-3
    for mode in ("RGB+D", "RGB+ED"):
        differ, off = drawn(render_mode=mode)
        assert differ and off < 4e-3, mode
    for other in ({"tile_size": 8}, {"render_mode": "D"}, {"absgrad": True}, {"eps2d": 0.01}):
        assert not drawn(**other)[0], other


def test_an_image_may_be_changed_before_its_gradient_is_asked_for():
    found = []
    for change in (False, True):
        given = scenes.make(count=60, degree=2, dtype=torch.float32, device="cuda")
        image = gsplat.rasterization(width=WIDTH, height=HEIGHT, **given, sh_degree=2)[0]
        kept = image.sum()
        if change:
            with torch.no_grad():
                image.zero_()
        kept.backward(retain_graph=True)
        kept.backward()
        found.append(given["means"].grad)
    assert scenes.relative(found[1], found[0]) < 1e-4


def test_another_stream_is_followed():
    given = {
        key: part.detach()
        for key, part in scenes.make(degree=None, dtype=torch.float32, device="cuda").items()
    }
    wanted = gsplat.rasterization(width=WIDTH, height=HEIGHT, **given)[0]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        late = {key: part + 0 for key, part in given.items()}
        image = gsplat.rasterization(width=WIDTH, height=HEIGHT, **late)[0]
    torch.cuda.current_stream().wait_stream(stream)
    torch.testing.assert_close(image, wanted)


def test_companions():
    random = torch.Generator().manual_seed(0)
    points = torch.randn(500, 3, generator=random)
    torch.testing.assert_close(distCUDA2(points.cuda()).cpu(), distCUDA2(points))
    one, other = torch.rand(2, 1, 3, 32, 40, generator=random).unbind()
    results = []
    for device in ("cuda", "cpu"):
        image = one.to(device).detach().requires_grad_()
        loss = fused_ssim(image, other.to(device))
        loss.backward()
        results.append((loss.detach().cpu(), image.grad.cpu()))
    torch.testing.assert_close(results[0][0], results[1][0])
    assert scenes.relative(results[0][1], results[1][1]) < 1e-4


def test_inria():
    tangent = math.tan(0.5)
    results = []
    for device in ("cuda", "cpu"):
        given = scenes.make(cameras=1, dtype=torch.float32, device=device)
        view = given["viewmats"][0].detach()
        clip = torch.diag(torch.tensor([1 / tangent, 1 / tangent, 1, 0], device=device))
        clip[3, 2], clip[2, 3] = 1, -0.01
        settings = inria.GaussianRasterizationSettings(
            *(HEIGHT, WIDTH, tangent, tangent, torch.ones(3, device=device), 1.0),
            *(view.T, view.T @ clip.T, 2, torch.linalg.inv(view)[:3, 3], False, False, True),
        )
        means2d = torch.zeros(12, 3, device=device, requires_grad=True)
        image, radii, inverse = inria.GaussianRasterizer(settings)(
            given["means"],
            means2d,
            given["opacities"][:, None],
            shs=given["colors"],
            scales=given["scales"],
            rotations=given["quats"],
        )
        (image.sum() + inverse.sum()).backward()
        results.append((image, radii, means2d.grad, given["means"].grad))
    (image, radii, *gradients), (wanted, right, *slopes) = results
    assert (image.cpu() - wanted).abs().mean() < 1e-3
    assert (radii.cpu() - right).abs().max() <= 1
    for found, slope in zip(gradients, slopes):
        assert scenes.relative(found, slope) < 0.02


def test_devices_are_not_mixed():
    given = scenes.make(degree=None, dtype=torch.float32, device="cuda")
    with pytest.raises(ValueError, match="scales must be on cuda:0 as means is, found cpu"):
        changed = {**given, "scales": given["scales"].detach().cpu()}
        gsplat.rasterization(width=WIDTH, height=HEIGHT, **changed)
    given = {key: part.detach().double() for key, part in given.items()}
    with pytest.raises(TypeError, match="means must be torch.float32 on a card"):
        gsplat.rasterization(width=WIDTH, height=HEIGHT, **given)

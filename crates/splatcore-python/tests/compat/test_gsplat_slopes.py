"""Gradients of ``splatcore.compat.gsplat`` against differences (``gradcheck``) in float64."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import scenes  # noqa: E402
from torch.autograd import gradcheck  # noqa: E402

from splatcore.compat import gsplat  # noqa: E402

SIZE = (6, 5)


def small(**options):
    """Five Gaussians in an image of 6x5 pixels, their colours and cameras."""
    given = scenes.make(seed=3, count=5, cameras=options.pop("cameras", 2), **options)
    scale = torch.tensor([[0.25], [0.25], [1.0]], dtype=torch.float64)
    given["Ks"] = (given["Ks"].detach() * scale).requires_grad_()
    return given


# Per case: the scene and the options of the call.
CASES = {
    "harmonics": ({"degree": 1}, {"sh_degree": 1}),
    "packed": ({"degree": 0, "per_camera": True}, {"sh_degree": 0, "packed": True}),
    "antialiased": ({"degree": None}, {"rasterize_mode": "antialiased"}),
    "expected depths": ({"degree": None}, {"render_mode": "RGB+ED"}),
    "depths": ({"degree": None}, {"render_mode": "D"}),
    "covariances": ({"degree": None, "covars": True}, {"packed": True}),
    "orthographic": ({"degree": None}, {"camera_model": "ortho"}),
    "fisheye": ({"degree": None}, {"camera_model": "fisheye", "render_mode": "RGB+D"}),
}


@pytest.mark.parametrize("name", CASES)
def test_rasterization(name):
    scene, options = CASES[name]
    given = small(**scene)
    names = list(given)

    def draw(*parts):
        parts = dict(zip(names, parts))
        image, alphas, _ = gsplat.rasterization(
            quats=parts.pop("quats", None),
            scales=parts.pop("scales", None),
            width=SIZE[0],
            height=SIZE[1],
            **{"packed": False, **options},
            **parts,
        )
        return image, alphas

    image, _ = draw(*given.values())
    assert image.detach().std() > 0.01
    if options.get("render_mode") == "D":
        given["backgrounds"].requires_grad_(False)
        given["colors"].requires_grad_(False)
    assert gradcheck(draw, tuple(given.values()), fast_mode=False, atol=1e-5, rtol=1e-4)


def test_projection():
    given = small(degree=None)
    names = ("means", "quats", "scales", "viewmats", "Ks")

    def project(means, quats, scales, viewmats, Ks):
        found = gsplat.fully_fused_projection(
            means, None, quats, scales, viewmats, Ks, *SIZE, calc_compensations=True
        )
        return found[1:]

    assert gradcheck(project, tuple(given[name] for name in names))


def test_pieces():
    random = torch.Generator().manual_seed(2)

    def normal(*shape):
        return torch.randn(*shape, generator=random, dtype=torch.float64).requires_grad_()

    quats, scales = normal(4, 4), (normal(4, 3).detach().abs() + 0.3).requires_grad_()
    for triu in (False, True):
        for wanted in ((True, True), (True, False), (False, True)):
            assert gradcheck(
                lambda q, s: [
                    part
                    for part in gsplat.quat_scale_to_covar_preci(q, s, *wanted, triu)
                    if part is not None
                ],
                (quats, scales),
            )
    for degree in range(5):
        k = (degree + 1) ** 2 + 1
        masks = torch.tensor([True, False, True])
        assert gradcheck(
            lambda d, c: gsplat.spherical_harmonics(degree, d, c, masks),
            (normal(3, 3), normal(3, k, 3)),
        )
    view, _ = scenes.poses(2)
    covars = normal(5, 3, 3)
    moved = gsplat.world_to_cam(normal(5, 3), covars, view)
    assert moved[0].shape == (2, 5, 3) and moved[1].shape == (2, 5, 3, 3)
    turn = view[1, :3, :3]
    torch.testing.assert_close(moved[1][1, 4], turn @ covars[4] @ turn.T)


# On the axis, near it, in the image and far beyond it; a fisheye sees what is behind it too.
@pytest.mark.parametrize("spread", [0, 0.05, 1, 6])
@pytest.mark.parametrize("model", ["pinhole", "ortho", "fisheye"])
def test_projection_in_camera_space(model, spread):
    random = torch.Generator().manual_seed(4)
    means, covars = torch.randn(2, 2, 4, 12, generator=random, dtype=torch.float64).split([3, 9], -1)
    means = means * spread
    means[..., 2] = torch.tensor([2.0, 4.0, 6.0, -2.0 if spread and model == "fisheye" else 8.0])
    # Not symmetric.
    given = (means, covars.unflatten(-1, (3, 3)), scenes.poses(2)[1].expand(2, 2, 3, 3))
    leaves = tuple(part.clone().requires_grad_() for part in given)
    assert gradcheck(lambda m, c, k: gsplat.proj(m, c, k, *SIZE, model), leaves, atol=1e-4)


@pytest.mark.parametrize("packed", [False, True])
def test_autocast_changes_no_gradient(packed):
    given = small(degree=1, cameras=1)
    names = list(given)
    found = []
    for enabled in (False, True):
        parts = {name: part.detach().float().requires_grad_() for name, part in given.items()}
        image, _, _ = gsplat.rasterization(
            **parts, width=SIZE[0], height=SIZE[1], sh_degree=1, packed=packed
        )
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            image.square().sum().backward()
        found.append([parts[name].grad for name in names])
    for name, plain, cast in zip(names, *found, strict=True):
        assert torch.equal(plain, cast), name


# What torch imports for derivatives forwards warns of its own.
@pytest.mark.filterwarnings("ignore:.*torch.jit:FutureWarning")
@pytest.mark.parametrize("packed", [False, True])
def test_without_gradients_images_are_the_same(packed):
    given = small(degree=1, cameras=1)
    call = {"width": SIZE[0], "height": SIZE[1], "sh_degree": 1, "packed": packed}
    image, alphas, _ = gsplat.rasterization(**given, **call)
    assert image.requires_grad
    with torch.no_grad():
        same = gsplat.rasterization(**given, **call)
    constants = {name: part.detach() for name, part in given.items()}
    for other in (same, gsplat.rasterization(**constants, **call)):
        assert torch.equal(other[0], image) and torch.equal(other[1], alphas)
        assert not other[0].requires_grad and not other[2]["means2d"].requires_grad
    # There are no derivatives forwards, with gradients or without, and none are left out in silence.
    for enabled in (True, False):
        with torch.autograd.forward_ad.dual_level(), torch.set_grad_enabled(enabled):
            means = constants["means"]
            dual = torch.autograd.forward_ad.make_dual(means, torch.ones_like(means))
            with pytest.raises(RuntimeError, match="jvp"):
                gsplat.rasterization(**{**constants, "means": dual}, **call)

"""``splatcore.compat.inria`` against the plain reference: three variants, values and gradients."""

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import reference  # noqa: E402
import scenes  # noqa: E402

from splatcore.compat import inria  # noqa: E402

F = torch.float64
WIDTH, HEIGHT = 37, 29
FOV_X, FOV_Y = 1.1, 0.9


def settings_of(bg, *, shift=(0.0, 0.0), degree=2, scale=1.0, antialiasing=None, dtype=F):
    """A camera as INRIA's training code makes it, and its parts for the reference."""
    view = scenes.poses(2)[0][1].to(dtype)
    near, far = 0.01, 100.0
    clip = torch.zeros(4, 4, dtype=dtype)
    clip[0, 0], clip[1, 1] = 1 / math.tan(FOV_X / 2), 1 / math.tan(FOV_Y / 2)
    clip[0, 2], clip[1, 2] = shift
    clip[2, 2], clip[2, 3], clip[3, 2] = far / (far - near), -far * near / (far - near), 1.0
    last = {} if antialiasing is None else {"antialiasing": antialiasing}
    settings = inria.GaussianRasterizationSettings(
        image_height=HEIGHT,
        image_width=WIDTH,
        tanfovx=math.tan(FOV_X / 2),
        tanfovy=math.tan(FOV_Y / 2),
        bg=bg,
        scale_modifier=scale,
        viewmatrix=view.T,
        projmatrix=view.T @ clip.T,
        sh_degree=degree,
        campos=torch.linalg.inv(view)[:3, 3],
        prefiltered=False,
        debug=False,
        **last,
    )
    K = torch.eye(3, dtype=dtype)
    K[0, 0], K[0, 2] = 0.5 * WIDTH * clip[0, 0], 0.5 * WIDTH * (1 + shift[0])
    K[1, 1], K[1, 2] = 0.5 * HEIGHT * clip[1, 1], 0.5 * HEIGHT * (1 + shift[1])
    return settings, view, K


def wanted_of(given, settings, view, K, colors, degree):
    """Image [3, H, W], radii [N], inverse depths [1, H, W], and zeros that move the splats."""
    rules = reference.Rules(
        alpha_max=0.99,
        radius_rule="three-sigma",
        near=0.2,
        min_compensation=0.005,
        whole_pixels=True,
    )
    covars = given.get("covars")
    if covars is None:
        covars = reference.covariances(given["quats"], settings.scale_modifier * given["scales"])
    means, aa = given["means"], bool(settings.antialiasing)
    size = (WIDTH, HEIGHT)
    means2d, depths, conics, factors, radii = reference.splats(
        means, covars, given["opacities"], view, K, *size, rules, aa=aa
    )
    if degree is not None:
        colors = (reference.harmonics(degree, means - settings.campos, colors) + 0.5).clamp(min=0)
    features = torch.cat([colors, 1 / depths[:, None]], 1)
    background = torch.cat([settings.bg, torch.zeros(1, dtype=F)])
    opacities = given["opacities"] * factors if aa else given["opacities"]
    shifts = torch.zeros_like(means2d, requires_grad=True)
    image, _ = reference.blend(
        means2d + shifts, depths, conics, features, opacities, radii, background, *size, rules
    )
    touched = reference._boxes(means2d, radii, *size, rules).flatten(1).any(1)
    image = image.permute(2, 0, 1)
    return image[:-1], torch.where(touched, radii[:, 0], 0), image[-1:], shifts


CASES = {
    "main": {},
    "main, colours": {"degree": None},
    "main, covariances": {"covars": True},
    "main, other scale": {"scale": 0.7},
    "main, another centre": {"shift": (0.2, -0.15)},
    "dr_aa, off": {"antialiasing": False},
    "dr_aa": {"antialiasing": True},
    "dr_aa, covariances": {"antialiasing": True, "covars": True, "degree": None},
    "3dgs_accel": {"antialiasing": False, "split": True},
    "3dgs_accel, antialiased": {"antialiasing": True, "split": True, "degree": 3},
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    case = dict(CASES[name])
    degree, covars, split = (
        case.pop("degree", 2),
        case.pop("covars", False),
        case.pop("split", False),
    )
    given = scenes.make(seed=4, count=25, cameras=1, degree=degree, covars=covars, background=False)
    for name in ("viewmats", "Ks"):
        del given[name]
    bg = torch.tensor([0.2, 0.5, 0.9], dtype=F)
    settings, view, K = settings_of(bg, degree=degree or 0, **case)
    means2D = torch.zeros(25, 3, dtype=F, requires_grad=True)
    colors = given["colors"]
    arguments = {"means3D": given["means"], "means2D": means2D}
    arguments["opacities"] = given["opacities"][:, None]
    if degree is None:
        arguments["colors_precomp"] = colors
    elif split:
        arguments.update(dc=colors[:, :1], shs=colors[:, 1:])
    else:
        arguments["shs"] = colors
    if covars:
        upper = torch.triu_indices(3, 3)
        arguments["cov3D_precomp"] = given["covars"][:, upper[0], upper[1]]
    else:
        arguments.update(scales=given["scales"], rotations=given["quats"])
    image, radii, *inverse = inria.GaussianRasterizer(raster_settings=settings)(**arguments)
    assert len(inverse) == (settings.antialiasing is not None)

    wanted, wanted_radii, depths, shifts = wanted_of(given, settings, view, K, colors, degree)
    torch.testing.assert_close(image, wanted, rtol=1e-9, atol=1e-9)
    assert radii.dtype == torch.int32 and torch.equal(radii, wanted_radii)
    assert 0 < (radii > 0).sum() < 25
    pairs = [(image, wanted)]
    if inverse:
        torch.testing.assert_close(inverse[0], depths, rtol=1e-9, atol=1e-9)
        pairs.append((inverse[0], depths))
    leaves = list(given.values())
    found = torch.autograd.grad(
        sum((one * scenes.weights(one)).sum() for one, _ in pairs), [*leaves, means2D]
    )
    right = torch.autograd.grad(
        sum((other * scenes.weights(other)).sum() for _, other in pairs), [*leaves, shifts]
    )
    for name, one, other in zip([*given, "means2D"], found, right):
        if name == "means2D":
            assert one.shape == (25, 3) and not one[:, 2].any()
            one, other = one[:, :2], other * torch.tensor([0.5 * WIDTH, 0.5 * HEIGHT])
        if name == "covars":
            one, other = (part + part.transpose(-1, -2) for part in (one, other))
        # The gradient of a compensation is divided by the compensation plus 1e-6.
        assert scenes.relative(one, other) < (1e-6 if settings.antialiasing else 1e-8), name


def plain_arguments(dtype=F):
    given = scenes.make(cameras=1, background=False, dtype=dtype)
    settings, _, _ = settings_of(torch.zeros(3, dtype=dtype), dtype=dtype)
    return settings, {
        "means3D": given["means"],
        "means2D": torch.zeros(12, 3, dtype=dtype, requires_grad=True),
        "opacities": given["opacities"][:, None],
        "shs": given["colors"],
        "scales": given["scales"],
        "rotations": given["quats"],
    }


def test_exactly_one_of_two_is_given():
    settings, given = plain_arguments()
    draw = inria.GaussianRasterizer(settings)
    with pytest.raises(ValueError, match="exactly one of shs and colors_precomp .* found both"):
        draw(**given, colors_precomp=torch.zeros(12, 3, dtype=F))
    with pytest.raises(ValueError, match="exactly one of shs and colors_precomp .* found neither"):
        draw(**{**given, "shs": None})
    with pytest.raises(ValueError, match="exactly one of scales with rotations and cov3D.* both"):
        draw(**given, cov3D_precomp=torch.zeros(12, 6, dtype=F))
    with pytest.raises(ValueError, match="exactly one of scales .* found neither"):
        draw(**{**given, "scales": None, "rotations": None})
    with pytest.raises(ValueError, match="rotations must be given with scales, found None"):
        draw(**{**given, "rotations": None})


@pytest.mark.parametrize(
    ("changed", "error", "match"),
    [
        ({"opacities": torch.ones(12, dtype=F)}, ValueError, r"opacities .* \[12, 1\]"),
        ({"means2D": torch.ones(12, 1, dtype=F)}, ValueError, r"means2D .* \[12, 2\]"),
        ({"shs": torch.ones(12, 4, 3, dtype=F)}, ValueError, "sh_degree 2 needs 9"),
        ({"scales": torch.ones(12, 3)}, TypeError, "scales must be torch.float64"),
        ({"rotations": torch._neg_view(torch.ones(12, 4, dtype=F))}, ValueError, "must hold"),
        ({"means3D": None}, TypeError, "means3D must be a torch.Tensor, found NoneType"),
        ({"opacities": None}, TypeError, "opacities must be a torch.Tensor, found NoneType"),
        ({"means3D": torch.full((12, 3), math.inf, dtype=F)}, ValueError, "means3D .* finite"),
    ],
)
def test_wrong_arguments_are_named(changed, error, match):
    settings, given = plain_arguments()
    with pytest.raises(error, match=match):
        inria.GaussianRasterizer(settings)(**{**given, **changed})


def test_cameras_have_no_gradient():
    settings, given = plain_arguments()
    view = settings.viewmatrix.clone().requires_grad_()
    with pytest.raises(ValueError, match="viewmatrix requires a gradient, and has none"):
        inria.GaussianRasterizer(settings._replace(viewmatrix=view))(**given)


def test_the_function_takes_empty_tensors_for_none():
    settings, given = plain_arguments(torch.float32)
    image, radii = inria.GaussianRasterizer(settings)(**given)
    empty = torch.Tensor([])
    parts = [given[name] for name in ("means3D", "means2D", "shs")]
    rest = [given[name] for name in ("opacities", "scales", "rotations")]
    again, same = inria.rasterize_gaussians(*parts, empty, *rest, empty, settings)
    assert torch.equal(image, again) and torch.equal(radii, same)
    assert image.dtype == torch.float32


def test_none_are_drawn_where_there_are_none():
    settings, given = plain_arguments()
    settings = settings._replace(bg=torch.tensor([0.1, 0.2, 0.3], dtype=F), antialiasing=True)
    none = {name: part.detach()[:0].requires_grad_() for name, part in given.items()}
    image, radii, inverse = inria.GaussianRasterizer(settings)(**none)
    assert radii.shape == (0,) and not inverse.any()
    assert torch.equal(image, settings.bg[:, None, None].expand(3, HEIGHT, WIDTH))
    image.sum().backward()
    assert none["means2D"].grad.shape == (0, 3)


def test_positions_behind_the_near_plane_are_visible():
    settings, _ = plain_arguments()
    view = settings.viewmatrix.T
    depths = torch.tensor([-1.0, 0.19, 0.21, 5.0], dtype=F)
    seen = torch.stack([torch.zeros(4, dtype=F), torch.zeros(4, dtype=F), depths], -1)
    positions = (seen - view[:3, 3]) @ view[:3, :3]
    found = inria.GaussianRasterizer(settings).markVisible(positions)
    assert found.tolist() == [False, False, True, True]
    with inria.settings.changed(near_plane=0.1):
        found = inria.mark_visible(positions, settings.viewmatrix)
        assert found.tolist() == [False, True, True, True]


def test_sparse_adam_moves_what_is_visible():
    random = torch.Generator().manual_seed(1)
    start = torch.rand(6, 2, 3, generator=random)
    param = torch.nn.Parameter(start.clone())
    unused = torch.nn.Parameter(torch.ones(6))
    optimizer = inria.SparseGaussianAdam(
        [{"params": [param], "lr": 0.1, "name": "f"}, {"params": [unused], "lr": 1.0}], 0.0, 1e-15
    )
    visible = torch.tensor([True, False, True, True, False, True])
    mean = square = torch.zeros_like(start)
    wanted = start
    for _ in range(3):
        param.grad = torch.rand(6, 2, 3, generator=random) - 0.5
        mean = 0.9 * mean + 0.1 * param.grad
        square = 0.999 * square + 0.001 * param.grad**2
        wanted = wanted - 0.1 * mean / (square.sqrt() + 1e-15)
        optimizer.step(visible, 6)
    torch.testing.assert_close(param.detach()[visible], wanted[visible])
    assert torch.equal(param.detach()[~visible], start[~visible])
    assert unused.eq(1).all()
    assert {"step", "exp_avg", "exp_avg_sq"} == set(optimizer.state[param])

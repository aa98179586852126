"""``splatcore.compat.gsplat`` against the plain reference: values, and gradients of every input."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import reference  # noqa: E402
import scenes  # noqa: E402
from scenes import HEIGHT, WIDTH  # noqa: E402

from splatcore.compat.gsplat import rasterization, settings  # noqa: E402

# What is special in each case; gradients of all inputs are compared in all.
CASES = {
    "plain": {},
    "one camera": {"scene": {"cameras": 1}},
    "harmonics of degree 0": {"scene": {"degree": 0}},
    "harmonics of degree 4": {"scene": {"degree": 4}},
    "fewer harmonics than given": {"scene": {"degree": 3}, "sh_degree": 1},
    "harmonics of each camera": {"scene": {"degree": 1, "per_camera": True}},
    "colours": {"scene": {"degree": None}},
    "colours of each camera": {"scene": {"degree": None, "per_camera": True}},
    "one channel": {"scene": {"degree": None, "channels": 1}},
    "thirteen channels": {"scene": {"degree": None, "channels": 13}},
    "forty channels": {"scene": {"degree": None, "channels": 40}},
    "no background": {"scene": {"background": False}},
    "covariances": {"scene": {"covars": True}},
    "antialiased": {"rasterize_mode": "antialiased"},
    "depths": {"render_mode": "D"},
    "expected depths": {"render_mode": "ED"},
    "colours and depths": {"render_mode": "RGB+D"},
    "colours and expected depths": {"render_mode": "RGB+ED", "scene": {"degree": None}},
    "orthographic": {"camera_model": "ortho", "render_mode": "RGB+D"},
    "fisheye": {"camera_model": "fisheye", "render_mode": "RGB+D"},
    "much blur": {"eps2d": 0.8, "rasterize_mode": "antialiased"},
    "planes": {"near_plane": 3.4, "far_plane": 4.6},
    "only large splats": {"radius_clip": 5.0},
    "tiles of 8 pixels": {"tile_size": 8},
}


def reference_of(given, options):
    """The reference with the same options, and zeros that move its splats."""
    options = dict(options)
    rules = reference.Rules(
        alpha_max=settings.alpha_max,
        radius_rule=settings.radius_rule,
        near=options.pop("near_plane", 0.01),
        far=options.pop("far_plane", 1e10),
        eps2d=options.pop("eps2d", 0.3),
        radius_clip=options.pop("radius_clip", 0.0),
        tile_size=options.pop("tile_size", 16),
    )
    cameras, count = len(given["viewmats"]), len(given["means"])
    shifts = torch.zeros(cameras, count, 2, dtype=torch.float64, requires_grad=True)
    wanted = reference.rasterization(
        given["means"],
        given.get("quats"),
        given.get("scales"),
        *(given[name] for name in ("opacities", "colors", "viewmats", "Ks")),
        WIDTH,
        HEIGHT,
        covars=given.get("covars"),
        backgrounds=given.get("backgrounds"),
        rules=rules,
        shifts=shifts,
        **options,
    )
    return *wanted, shifts


def draw(given, packed, options):
    return rasterization(
        given["means"],
        given.get("quats"),
        given.get("scales"),
        *(given[name] for name in ("opacities", "colors", "viewmats", "Ks")),
        WIDTH,
        HEIGHT,
        covars=given.get("covars"),
        backgrounds=given.get("backgrounds"),
        packed=packed,
        **options,
    )


def options_of(case, given):
    options = {key: value for key, value in case.items() if key != "scene"}
    degree = case.get("scene", {}).get("degree", 2)
    if degree is not None:
        options.setdefault("sh_degree", degree)
    return options


def compare(given, packed, options, exact=1e-9):
    # gsplat divides the gradient of a compensation by the compensation plus 1e-6.
    slopes = max(exact, 1e-6 if options.get("rasterize_mode") == "antialiased" else 1e-8)
    image, alphas, meta = draw(given, packed, options)
    meta["means2d"].retain_grad()
    wanted_image, wanted_alphas, parts, shifts = reference_of(given, options)
    assert wanted_alphas.max() > 0.5, "the scene shows nothing"
    torch.testing.assert_close(image, wanted_image, rtol=exact, atol=exact)
    torch.testing.assert_close(alphas, wanted_alphas, rtol=exact, atol=exact)
    radii = torch.stack([part[4] for part in parts])
    if packed:
        radii = radii[meta["camera_ids"], meta["gaussian_ids"]]
    assert torch.equal(meta["radii"], radii)

    weights = scenes.weights(image)
    results = []
    for one, other in ((image, alphas), (wanted_image, wanted_alphas)):
        loss = (one * weights).sum() + (other * weights[..., :1] ** 2).sum()
        own = meta["means2d"] if one is image else shifts
        results.append(torch.autograd.grad(loss, [*given.values(), own], allow_unused=True))
    for name, found, wanted in zip([*given, "means2d"], *results):
        if name == "means2d" and packed:
            wanted = wanted[meta["camera_ids"], meta["gaussian_ids"]]
        if wanted is None or wanted.norm() < 1e-12:
            assert found is None or found.norm() < 1e-9, name
            continue
        if name == "covars":
            # gsplat reads upper triangles: the gradient of both halves is in one.
            found, wanted = (part + part.transpose(-1, -2) for part in (found, wanted))
        error = scenes.relative(found, wanted)
        assert error < slopes, f"{name}: {error}"


@pytest.mark.parametrize("packed", [False, True], ids=["dense", "packed"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name, packed):
    case = CASES[name]
    given = scenes.make(**case.get("scene", {}))
    # Fisheye: gsplat adds 1e-7 to distances from the axis.
    exact = 1e-5 if name == "fisheye" else 1e-9
    compare(given, packed, options_of(case, given), exact)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_other_scenes(seed):
    given = scenes.make(seed, count=40, degree=1)
    options = {"sh_degree": 1, "render_mode": "RGB+ED", "rasterize_mode": "antialiased"}
    compare(given, True, options)


@pytest.mark.parametrize("packed", [False, True], ids=["dense", "packed"])
@pytest.mark.parametrize("name", ["plain", "antialiased", "no background", "tiles of 8 pixels"])
def test_exact_tiles_change_lists_alone(name, packed):
    case = CASES[name]
    given = scenes.make(count=200, cameras=3, **case.get("scene", {}))
    results = {}
    for exact in (False, True):
        with settings.changed(exact_tiles=exact):
            image, alphas, meta = draw(given, packed, options_of(case, given))
        loss = (image * scenes.weights(image)).sum()
        results[exact] = (image, alphas, *torch.autograd.grad(loss, list(given.values()))), meta
    for found, wanted in zip(results[True][0], results[False][0]):
        torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    assert torch.equal(results[True][0][0], results[False][0][0])
    counts = [results[exact][1]["tiles_per_gauss"] for exact in (True, False)]
    assert (counts[0] <= counts[1]).all() and counts[0].sum() < counts[1].sum()
    assert len(results[True][1]["flatten_ids"]) == counts[0].sum()


@pytest.mark.parametrize("version", ["1.4.0", "main"])
def test_other_versions_have_their_constants(version):
    before = vars(settings).copy()
    given, options = scenes.make(), {"sh_degree": 2, "tile_size": 1}
    # Round and opaque, so that a box of three standard deviations cuts what would be drawn.
    given["scales"] = torch.full((12, 3), 0.7, dtype=torch.float64, requires_grad=True)
    given["opacities"] = torch.full((12,), 0.995, dtype=torch.float64, requires_grad=True)
    usual = draw(given, False, options)[0]
    with settings.changed():
        settings.like_gsplat(version)
        settings.radii_per_axis = True
        compare(given, False, options)
        other = draw(given, False, options)[0]
    assert vars(settings) == before
    # A cap of 0.99, or splats that tiles cut at three standard deviations.
    assert not torch.equal(usual, other)


def test_sums_of_absolute_gradients():
    given = scenes.make(count=5, cameras=1, degree=None)
    size = (12, 9)
    given["Ks"] = (given["Ks"].detach() * torch.tensor([[0.4], [0.4], [1.0]])).requires_grad_()
    arguments = [given[name] for name in ("means", "quats", "scales", "opacities", "colors")]
    cameras = (given["viewmats"], given["Ks"])
    shifts = torch.zeros(1, 5, 2, dtype=torch.float64, requires_grad=True)
    wanted_image, _, _ = reference.rasterization(*arguments, *cameras, *size, shifts=shifts)
    weights = scenes.weights(wanted_image)
    total, absolute = torch.zeros(2, 1, 5, 2, dtype=torch.float64).unbind()
    for pixel in (wanted_image * weights)[0].sum(-1).flatten():
        (slope,) = torch.autograd.grad(pixel, shifts, retain_graph=True)
        total += slope
        absolute += slope.abs()
    for packed in (False, True):
        image, _, meta = rasterization(*arguments, *cameras, *size, packed=packed, absgrad=True)
        means2d = meta["means2d"]
        means2d.retain_grad()
        (image * weights).sum().backward()
        drawn = (0, meta["gaussian_ids"]) if packed else ...
        assert scenes.relative(means2d.grad, total[drawn]) < 1e-9
        assert scenes.relative(means2d.absgrad, absolute[drawn]) < 1e-9
        assert means2d.absgrad.norm() > 1.01 * means2d.grad.norm()


def test_batches_are_drawn_one_by_one():
    parts = [scenes.make(seed, degree=1) for seed in (0, 1, 2, 3)]
    batch = {
        name: torch.stack([part[name].detach() for part in parts])
        .unflatten(0, (2, 2))
        .requires_grad_()
        for name in parts[0]
    }
    options = {"sh_degree": 1, "render_mode": "RGB+D"}
    for packed in (False, True):
        image, alphas, meta = draw(batch, packed, options)
        assert image.shape == (2, 2, 2, HEIGHT, WIDTH, 4) and alphas.shape[-1] == 1
        weights = scenes.weights(image)
        found = torch.autograd.grad((image * weights).sum(), list(batch.values()))
        for i, part in enumerate(parts):
            single, single_alphas, _ = draw(part, packed, options)
            at = (i // 2, i % 2)
            torch.testing.assert_close(image[at], single, rtol=1e-12, atol=1e-12)
            torch.testing.assert_close(alphas[at], single_alphas, rtol=1e-12, atol=1e-12)
            wanted = torch.autograd.grad((single * weights[at]).sum(), list(part.values()))
            for name, one, other in zip(part, found, wanted):
                assert scenes.relative(one[at], other) < 1e-9, name
        assert meta["n_batches"] == 4 and meta["n_cameras"] == 2


@pytest.mark.parametrize("cameras", [1, 3])
def test_sparse_gradients_are_the_dense_ones(cameras):
    given = scenes.make(cameras=cameras)
    gradients = []
    for sparse in (False, True):
        image, _, _ = draw(given, True, {"sh_degree": 2, "sparse_grad": sparse})
        loss = (image * scenes.weights(image)).sum()
        gradients.append(torch.autograd.grad(loss, [given[n] for n in ("quats", "scales")]))
    for dense, sparse in zip(*gradients):
        assert sparse.layout == torch.sparse_coo and not dense.is_sparse
        torch.testing.assert_close(sparse.to_dense(), dense)
        # The Gaussian behind the cameras and the faint one have no entry.
        assert sparse.is_coalesced() and 0 < sparse.indices().shape[1] < len(dense)
    covars = scenes.make(covars=True, cameras=cameras, degree=None)
    means = covars["means"]
    image, _, _ = draw(covars, True, {"sparse_grad": True})
    assert torch.autograd.grad(image.sum(), means)[0].is_sparse


def test_float32_is_close():
    given = scenes.make(dtype=torch.float32, degree=1)
    exact = {name: part.detach().double().requires_grad_() for name, part in given.items()}
    options = {"sh_degree": 1, "render_mode": "RGB+ED"}
    image, _, _ = draw(given, True, options)
    wanted, *_ = reference_of(exact, options)
    assert image.dtype == torch.float32
    off = (image.double() - wanted).abs()
    # A fragment at alpha = 1/255 may fall on either side of it.
    assert off.median() < 1e-6 and off[..., :3].max() < 0.01
    found = torch.autograd.grad((image[..., :3]).sum(), list(given.values()))
    exactly = torch.autograd.grad((wanted[..., :3]).sum(), list(exact.values()))
    for name, one, other in zip(given, found, exactly):
        assert one.dtype == torch.float32 and scenes.relative(one, other) < 0.01, name

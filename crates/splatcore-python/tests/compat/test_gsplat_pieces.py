"""The parts of ``splatcore.compat.gsplat``: ``meta``, lists, indices, optimiser, refused input."""

import inspect
import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import reference  # noqa: E402
import scenes  # noqa: E402
from scenes import HEIGHT, WIDTH  # noqa: E402

from splatcore.compat import gsplat  # noqa: E402

KEYS = (
    "batch_ids camera_ids gaussian_ids radii means2d depths conics opacities "
    "tile_width tile_height tiles_per_gauss isect_ids flatten_ids isect_offsets "
    "width height tile_size n_batches n_cameras"
)


def draw(given, **options):
    return gsplat.rasterization(width=WIDTH, height=HEIGHT, **given, **options)


def test_the_signature_is_gsplats():
    names = list(inspect.signature(gsplat.rasterization).parameters)
    assert names[:9] == "means quats scales opacities colors viewmats Ks width height".split()
    wanted = (
        "near_plane far_plane radius_clip eps2d sh_degree packed tile_size backgrounds render_mode "
        "sparse_grad absgrad rasterize_mode channel_chunk distributed camera_model segmented "
        "covars with_ut with_eval3d radial_coeffs tangential_coeffs thin_prism_coeffs ftheta_coeffs "
        "rolling_shutter viewmats_rs"
    )
    assert names[9:] == wanted.split()


def test_meta_of_dense_splats():
    given = scenes.make(dtype=torch.float32)
    meta = draw(given, sh_degree=2, packed=False)[2]
    assert list(meta) == KEYS.split()
    assert [meta[key] for key in ("batch_ids", "camera_ids", "gaussian_ids")] == [None] * 3
    shapes = {"radii": (2,), "means2d": (2,), "conics": (3,), "depths": (), "opacities": ()}
    for key, tail in shapes.items():
        assert meta[key].shape == (2, 12, *tail), key
        assert meta[key].dtype == (torch.int32 if key == "radii" else torch.float32)
    assert (meta["tile_width"], meta["tile_height"], meta["tile_size"]) == (2, 2, 16)
    assert (meta["width"], meta["height"]) == (WIDTH, HEIGHT)
    assert (meta["n_batches"], meta["n_cameras"]) == (1, 2)
    dtypes = {"tiles_per_gauss": 32, "isect_ids": 64, "flatten_ids": 32, "isect_offsets": 32}
    for key, bits in dtypes.items():
        assert meta[key].dtype == (torch.int32 if bits == 32 else torch.int64), key
    assert meta["isect_offsets"].shape == (2, 2, 2) and meta["tiles_per_gauss"].shape == (2, 12)
    assert meta["tiles_per_gauss"].sum() == len(meta["isect_ids"]) == len(meta["flatten_ids"])
    assert not meta["means2d"].is_leaf and not meta["radii"].requires_grad


def test_meta_of_packed_splats():
    given = scenes.make(dtype=torch.float32)
    dense = draw(given, sh_degree=2, packed=False, rasterize_mode="antialiased")[2]
    meta = draw(given, sh_degree=2, packed=True, rasterize_mode="antialiased")[2]
    assert list(meta) == KEYS.split()
    seen = (dense["radii"] > 0).all(-1)
    places = seen.nonzero()
    assert 0 < len(places) < seen.numel()
    assert meta["batch_ids"].dtype == torch.int64 and not meta["batch_ids"].any()
    assert torch.equal(meta["camera_ids"], places[:, 0])
    assert torch.equal(meta["gaussian_ids"], places[:, 1])
    for key in ("radii", "means2d", "depths", "conics", "opacities", "tiles_per_gauss"):
        assert torch.equal(meta[key], dense[key][seen]), key
    assert torch.equal(meta["isect_ids"], dense["isect_ids"])
    assert torch.equal(meta["isect_offsets"], dense["isect_offsets"])


@pytest.mark.parametrize("mode", ["RGB", "RGB+ED"])
def test_packing_without_gradients_changes_nothing(mode):
    given = scenes.make(cameras=1)
    options = {"sh_degree": 2, "render_mode": mode, "rasterize_mode": "antialiased"}
    *images, meta = draw(given, **options)
    with torch.no_grad():
        *found, other = draw(given, **options)
    assert all(map(torch.equal, found, images))
    assert list(other) == list(meta)
    for key, part in meta.items():
        assert torch.equal(other[key], part) if isinstance(part, torch.Tensor) else other[key] == part


def test_packed_ids_of_batches():
    given = scenes.make(cameras=3)
    batch = {name: part.detach().expand(2, *part.shape) for name, part in given.items()}
    _, alphas, meta = draw(batch, sh_degree=2)
    ids = torch.stack([meta["batch_ids"], meta["camera_ids"], meta["gaussian_ids"]])
    assert ids.amax(1).tolist()[:2] == [1, 2] and ids.shape[1] % 2 == 0
    half = ids.shape[1] // 2
    assert torch.equal(ids[1:, :half], ids[1:, half:])
    assert alphas.shape == (2, 3, HEIGHT, WIDTH, 1)


def test_lists_are_sorted_and_exact():
    given = scenes.make(count=60, cameras=3, dtype=torch.float32)
    with gsplat.settings.changed(exact_tiles=False):
        meta = draw(given, sh_degree=2, packed=False, tile_size=8)[2]
    size, columns, rows = 8, math.ceil(WIDTH / 8), math.ceil(HEIGHT / 8)
    bits = (columns * rows).bit_length()
    wanted, counts = [], []
    for image in range(3):
        for i in range(60):
            x, y = meta["means2d"][image, i].tolist()
            rx, ry = meta["radii"][image, i].tolist()
            count = 0
            if rx > 0 and ry > 0:
                depth = meta["depths"][image, i].detach().view(torch.int32).item()
                xs = [math.floor((x - rx) / size), math.ceil((x + rx) / size)]
                ys = [math.floor((y - ry) / size), math.ceil((y + ry) / size)]
                for row in range(max(ys[0], 0), min(ys[1], rows)):
                    for column in range(max(xs[0], 0), min(xs[1], columns)):
                        tile = (image << bits) | (row * columns + column)
                        wanted.append((tile << 32 | depth, image * 60 + i))
                        count += 1
            counts.append(count)
    assert meta["tiles_per_gauss"].flatten().tolist() == counts
    wanted.sort()
    assert meta["isect_ids"].tolist() == [key for key, _ in wanted]
    assert meta["flatten_ids"].tolist() == [splat for _, splat in wanted]
    tiles = [key >> 32 for key, _ in wanted]
    starts = [
        sum(tile < (image << bits | place) for tile in tiles)
        for image in range(3)
        for place in range(rows * columns)
    ]
    assert meta["isect_offsets"].flatten().tolist() == starts
    arguments = [meta[key].detach() for key in ("means2d", "radii", "depths")]
    unsorted = gsplat.isect_tiles(*arguments, size, columns, rows, sort=False)
    assert sorted(unsorted[1].tolist()) == meta["isect_ids"].tolist()
    assert unsorted[1].tolist() != meta["isect_ids"].tolist()
    again = gsplat.isect_tiles(*arguments, size, columns, rows, segmented=True)
    assert torch.equal(again[2], meta["flatten_ids"])


def test_masked_tiles_show_the_background():
    given = scenes.make(degree=None)
    image, alphas, meta = draw(given, packed=False)
    masks = torch.tensor([[True, False], [False, True]]).expand(2, 2, 2)
    names = ("means2d", "conics")
    parts = [meta[name] for name in names]
    colors = given["colors"].expand(2, -1, -1)
    sizes = (WIDTH, HEIGHT, 16, meta["isect_offsets"], meta["flatten_ids"])
    masked, masked_alphas = gsplat.rasterize_to_pixels(
        *parts, colors, meta["opacities"], *sizes, backgrounds=given["backgrounds"], masks=masks
    )
    torch.testing.assert_close(masked[:, :16, :16], image[:, :16, :16])
    torch.testing.assert_close(masked[:, 16:, 16:], image[:, 16:, 16:])
    hidden = masked[:, :16, 16:]
    torch.testing.assert_close(hidden, given["backgrounds"][:, None, None].expand_as(hidden))
    assert not masked_alphas[:, 16:, :16].any() and alphas[:, 16:, :16].any()
    (slopes,) = torch.autograd.grad(masked[:, :16, 16:].sum(), given["opacities"])
    assert not slopes.any()


def test_indices_are_the_fragments_that_are_blended():
    given = scenes.make(count=40, degree=None)
    image, alphas, meta = draw(given, packed=False)
    colors = given["colors"].detach()
    total = torch.zeros_like(image)
    left = torch.ones(2, HEIGHT, WIDTH, dtype=torch.float64)
    names = ("means2d", "conics", "opacities")
    parts = [meta[name].detach() for name in names]
    sizes = (WIDTH, HEIGHT, 16, meta["isect_offsets"], meta["flatten_ids"])
    full = gsplat.rasterize_to_indices_in_range(0, 10**10, left.clone(), *parts, *sizes)
    assert all(part.dtype == torch.int64 for part in full)
    for i, pixel, place in zip(*(part.tolist() for part in full)):
        row, column = divmod(pixel, WIDTH)
        dx, dy = (torch.tensor([column, row]) + 0.5 - parts[0][place, i]).tolist()
        a, b, c = parts[1][place, i].tolist()
        power = 0.5 * (a * dx * dx + c * dy * dy) + b * dx * dy
        alpha = min(0.999, parts[2][place, i].item() * math.exp(-power))
        total[place, row, column] += left[place, row, column] * alpha * colors[i]
        left[place, row, column] *= 1 - alpha
    torch.testing.assert_close(left, 1 - alphas[..., 0].detach())
    total += left[..., None] * given["backgrounds"][:, None, None].detach()
    torch.testing.assert_close(total.detach(), image.detach())


def test_indices_in_ranges_are_those_of_all():
    # Faint, so that no pixel ends early.
    given = scenes.make(count=400, degree=None)
    given["opacities"] = (0.02 * given["opacities"].detach()).clamp(min=0.005)
    meta = draw(given, packed=False)[2]
    parts = [meta[name].detach() for name in ("means2d", "conics", "opacities")]
    sizes = (WIDTH, HEIGHT, 16, meta["isect_offsets"], meta["flatten_ids"])
    left = torch.ones(2, HEIGHT, WIDTH, dtype=torch.float64)
    # A batch is 256 pairs of a tile.
    ranges = [(0, 1), (1, 10**10), (0, 10**10)]
    found = [gsplat.rasterize_to_indices_in_range(*r, left, *parts, *sizes) for r in ranges]
    first, second, whole = (sorted(zip(*(part.tolist() for part in parts))) for parts in found)
    assert first and second and sorted(first + second) == whole


def test_harmonics_and_covariances():
    random = torch.Generator().manual_seed(1)
    dirs = torch.randn(2, 7, 3, generator=random, dtype=torch.float64)
    coeffs = torch.randn(2, 7, 25, 4, generator=random, dtype=torch.float64)
    for degree in range(5):
        found = gsplat.spherical_harmonics(degree, dirs, coeffs)
        torch.testing.assert_close(found, reference.harmonics(degree, dirs, coeffs))
    quats = torch.randn(3, 2, 4, generator=random, dtype=torch.float64)
    scales = torch.rand(3, 2, 3, generator=random, dtype=torch.float64) + 0.1
    covars, precis = gsplat.quat_scale_to_covar_preci(quats, scales)
    torch.testing.assert_close(covars, reference.covariances(quats, scales))
    unit = torch.eye(3, dtype=torch.float64).expand(3, 2, 3, 3)
    torch.testing.assert_close(covars @ precis, unit)
    halves = gsplat.quat_scale_to_covar_preci(quats, scales, triu=True)
    upper = torch.triu_indices(3, 3)
    for half, whole in zip(halves, (covars, precis)):
        torch.testing.assert_close(half, whole[..., upper[0], upper[1]])
    assert gsplat.quat_scale_to_covar_preci(quats, scales, True, False)[1] is None


@pytest.mark.parametrize("model", ["pinhole", "ortho", "fisheye"])
def test_projection_in_camera_space(model):
    random = torch.Generator().manual_seed(1)
    means = 3 * torch.randn(3, 2, 9, 3, generator=random, dtype=torch.float64)
    means[..., 2] = means[..., 2].abs() + 0.3
    covars = torch.randn(3, 2, 9, 3, 3, generator=random, dtype=torch.float64)
    Ks = scenes.poses(2)[1].expand(3, 2, 3, 3)
    call = (means, covars, Ks, WIDTH, HEIGHT, model)
    found = gsplat.proj(*call)
    for b in range(3):
        for c in range(2):
            wanted = reference.project(means[b, c], covars[b, c], Ks[b, c], WIDTH, HEIGHT, model)
            torch.testing.assert_close(tuple(part[b, c] for part in found), wanted)
    single = gsplat.proj(*(part.float() for part in call[:3]), *call[3:])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = gsplat.proj(*(part.float() for part in call[:3]), *call[3:])
    for part, same, wanted in zip(single, cast, found):
        assert part.dtype == torch.float32 and torch.equal(part, same)
        assert scenes.relative(part, wanted) < 1e-5
    none = gsplat.proj(means[..., :0, :], covars[..., :0, :, :], *call[2:])
    assert [part.shape for part in none] == [(3, 2, 0, 2), (3, 2, 0, 2, 2)]
    wrong = [
        ({0: means[..., :2]}, ValueError, r"means must have shape \[..., n, n, 3\]"),
        ({1: covars[..., 0]}, ValueError, r"covars must have shape \[3, 2, 9, 3, 3\]"),
        ({2: Ks[:, :1]}, ValueError, r"Ks must have shape \[3, 2, 3, 3\]"),
        ({3: 0}, ValueError, "width must be positive"),
        ({5: "equirect"}, ValueError, "camera_model must be one of"),
        ({5: "ftheta"}, NotImplementedError, "camera_model"),
    ]
    for changed, error, match in wrong:
        with pytest.raises(error, match=match):
            gsplat.proj(*({**dict(enumerate(call)), **changed}).values())


def test_a_fisheye_is_smooth_where_its_series_begins():
    # Series and closed form meet at rho = 0.05 z^2: a step over it changes what a step beside it
    # changes.
    edge = math.sqrt(0.05)
    x = torch.tensor([-1e-6, 0, 1e-6], dtype=torch.float64) + edge
    means = torch.stack([0.8 * x, 0.6 * x, torch.ones_like(x)], -1)[None]
    covars = torch.diag(torch.tensor([0.2, 0.3, 0.4], dtype=torch.float64)).expand(1, 3, 3, 3)
    K = torch.diag(torch.tensor([100.0, 100, 1], dtype=torch.float64))[None]
    for part in gsplat.proj(means, covars, K, WIDTH, HEIGHT, "fisheye"):
        before, at, after = part[0]
        assert ((before + after - 2 * at).abs() < 1e-8).all()


def test_a_fisheye_is_exact_nearly_behind_the_camera():
    # 164 degrees from the axis the numbers of the Jacobian are 13,000 and 180 in one row, and small
    # gradients are differences of large numbers.
    means = torch.tensor([[[-0.035297453, 0.078475386, -0.2983216]]])
    covars = torch.tensor([[[[0.5, 0.125, 0], [0.125, 0.25, 0], [0, 0, 1]]]])
    K = torch.tensor([[[480.0, 0, 324], [0, 482, 210], [0, 0, 1]]])
    upstream = torch.tensor([[-0.40625, -0.5], [-0.9375, 0.984375]])
    found = []
    for dtype in (torch.float32, torch.float64):
        leaves = [part.to(dtype).requires_grad_() for part in (means, covars)]
        parts = gsplat.proj(*leaves, K.to(dtype), 648, 420, "fisheye")
        slopes = torch.autograd.grad((parts[1] * upstream).sum(), leaves)
        found.append([*parts, *slopes])
    for single, double in zip(*found):
        assert (single - double).abs().max() <= 1e-5 * double.abs().max()


def test_adam_moves_rows_that_are_valid():
    random = torch.Generator().manual_seed(1)
    param, grad, first, second = torch.rand(4, 6, 2, 3, generator=random).unbind()
    valid = torch.tensor([True, False, True, True, False, True])
    rates = dict(lr=0.1, b1=0.9, b2=0.99, eps=1e-3)
    m = torch.where(valid[:, None, None], 0.9 * first + 0.1 * grad, first)
    v = torch.where(valid[:, None, None], 0.99 * second + 0.01 * grad**2, second)
    step = torch.where(valid[:, None, None], 0.1 * m / (v.sqrt() + 1e-3), 0)
    wanted = (param - step, m, v)
    param = torch.nn.Parameter(param.clone())
    moments = (first.clone(), second.clone())
    gsplat.adam(param, grad, *moments, valid, **rates)
    for found, right in zip((param.detach(), *moments), wanted):
        torch.testing.assert_close(found, right)
    with pytest.raises(ValueError, match="param_grad must be contiguous, found strides"):
        gsplat.adam(param, torch.rand(6, 3, 2).transpose(1, 2), *moments, valid, **rates)


def test_relocation_keeps_what_is_seen():
    opacities = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    scales = torch.rand(3, 3, dtype=torch.float64) + 0.1
    ratios = torch.tensor([1, 2, 9])
    n_max = 5
    binoms = torch.tensor(
        [[math.comb(n, k) for k in range(n_max)] for n in range(n_max)], dtype=torch.float64
    )
    found, found_scales = gsplat.compute_relocation(opacities, scales, ratios, binoms)
    assert ratios.tolist() == [1, 2, 5]
    for i, n in enumerate(ratios.tolist()):
        new = 1 - (1 - opacities[i]) ** (1 / n)
        terms = (
            math.comb(j - 1, k) * (-1) ** k / math.sqrt(k + 1) * new ** (k + 1)
            for j in range(1, n + 1)
            for k in range(j)
        )
        torch.testing.assert_close(found[i], new)
        torch.testing.assert_close(found_scales[i], scales[i] * opacities[i] / sum(terms))
    torch.testing.assert_close(found_scales[0], scales[0])
    # Above the diagonal there is nothing to read.
    above = gsplat.compute_relocation(opacities, scales, ratios, binoms + binoms.T.triu(1))
    assert torch.equal(above[1], found_scales)
    kept = gsplat.compute_relocation(0 * opacities, scales, ratios, binoms)
    assert not kept[0].any() and torch.equal(kept[1], scales)
    single = (part.float() for part in (opacities, scales))
    for part, wanted in zip(
        gsplat.compute_relocation(*single, ratios, binoms.float()), (found, found_scales)
    ):
        assert part.dtype == torch.float32
        torch.testing.assert_close(part.double(), wanted, rtol=1e-6, atol=0)
    with pytest.raises(ValueError, match="binoms must have a row or more"):
        gsplat.compute_relocation(opacities, scales, ratios, binoms[:0, :0])
    with pytest.raises(ValueError, match=r"ratios must have shape \[3\], found \[2\]"):
        gsplat.compute_relocation(opacities, scales, ratios[:2], binoms)
    none = (opacities[:0], scales[:0], ratios[:0], binoms)
    assert [part.shape for part in gsplat.compute_relocation(*none)] == [(0,), (0, 3)]


def test_copies_have_the_opacity_and_the_integral_of_the_profile():
    """Of so many copies blended over each other, along a line through their mean: equation 9."""
    n_max = 51
    binoms = [[math.comb(n, k) for k in range(n_max)] for n in range(n_max)]
    binoms = torch.tensor(binoms, dtype=torch.float64)
    ratios = torch.tensor([1, 2, 5, 20])
    old = torch.tensor([0.1, 0.5, 0.9, 0.3], dtype=torch.float64)
    scales = torch.arange(1, 13, dtype=torch.float64).view(4, 3)
    new, new_scales = gsplat.compute_relocation(old, scales, ratios, binoms)
    torch.testing.assert_close(1 - (1 - new) ** ratios, old)
    steps = torch.arange(-8000, 8000, dtype=torch.float64) / 500
    places = steps * (scales / new_scales)[..., None]
    copies = new[:, None, None] * torch.exp(-0.5 * places**2)
    sums = (1 - (1 - copies) ** ratios[:, None, None]).sum(-1) / 500
    wanted = math.sqrt(math.tau) * old[:, None].expand(4, 3)
    torch.testing.assert_close(sums, wanted, rtol=1e-6, atol=0)


@pytest.mark.parametrize("packed", [False, True])
def test_nothing_to_draw_is_the_background(packed):
    given = scenes.make(count=3)
    none = dict(given)
    for name in ("means", "quats", "scales", "opacities", "colors"):
        none[name] = given[name].detach()[:0].requires_grad_()
    hidden = {**given, "opacities": torch.zeros(3, dtype=torch.float64, requires_grad=True)}
    for parts in (none, hidden):
        options = {"sh_degree": 2, "packed": packed, "render_mode": "RGB+ED", "absgrad": True}
        image, alphas, meta = draw(parts, **options)
        assert not alphas.any() and not image[..., 3].any()
        torch.testing.assert_close(
            image[..., :3], given["backgrounds"][:, None, None].expand_as(image[..., :3])
        )
        (image.sum() + alphas.sum()).backward()
        assert parts["means"].grad.shape == parts["means"].shape and not parts["means"].grad.any()
        assert meta["means2d"].absgrad.shape == meta["means2d"].shape
        assert given["backgrounds"].grad.eq(WIDTH * HEIGHT).all()
        given["backgrounds"].grad = None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("distributed", True),
        ("with_eval3d", True),
        ("camera_model", "ftheta"),
    ],
)
def test_what_is_not_supported_names_itself(name, value):
    with pytest.raises(NotImplementedError, match=name):
        draw(scenes.make(), sh_degree=2, **{name: value})
    with pytest.raises(NotImplementedError, match="rasterization_2dgs"):
        gsplat.rasterization_2dgs(1, 2, three=3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("radial_coeffs", torch.zeros(2, 6)),
        ("tangential_coeffs", torch.zeros(2, 2)),
        ("thin_prism_coeffs", torch.zeros(2, 4)),
        ("ftheta_coeffs", object()),
        ("rolling_shutter", gsplat.RollingShutterType.ROLLING_LEFT_TO_RIGHT),
        ("viewmats_rs", torch.zeros(2, 4, 4)),
    ],
)
def test_what_needs_the_unscented_transform_says_so(name, value):
    with pytest.raises(ValueError, match=f"{name} needs with_ut=True"):
        draw(scenes.make(), sh_degree=2, **{name: value})


F = torch.float64
REFUSED = [
    ({"scales": torch.rand(11, 3, dtype=F)}, ValueError, r"scales .* \[12, 3\], found \[11, 3\]"),
    ({"means": torch.rand(12, 4, dtype=F)}, ValueError, r"means .* \[..., n, 3\], found \[12, 4\]"),
    (
        {"opacities": torch.rand(12, 1, dtype=F)},
        ValueError,
        r"opacities .* \[12\], found \[12, 1\]",
    ),
    ({"colors": torch.rand(12, 3, dtype=F)}, ValueError, "colors must have shape"),
    ({"colors": torch.rand(12, 4, 3, dtype=F)}, ValueError, "sh_degree 2 needs 9 .* found 4"),
    ({"viewmats": torch.eye(4, dtype=F)}, ValueError, r"viewmats .* found \[4, 4\]"),
    ({"Ks": torch.rand(3, 3, 3, dtype=F)}, ValueError, r"Ks .* \[2, 3, 3\], found \[3, 3, 3\]"),
    ({"backgrounds": torch.rand(3, dtype=F)}, ValueError, r"backgrounds .* \[2, 3\], found \[3\]"),
    ({"quats": torch.rand(12, 4)}, TypeError, "quats must be torch.float64 .* torch.float32"),
    (
        {"means": torch.zeros(12, 3).int()},
        TypeError,
        "means must be torch.float32 .*, found torch.int32",
    ),
    ({"means": [[0.0, 0.0, 0.0]]}, TypeError, "means must be a torch.Tensor, found list"),
    *(
        ({name: None}, TypeError, f"{name} must be a torch.Tensor, found NoneType")
        for name in ("means", "opacities", "colors", "viewmats", "Ks")
    ),
    ({"scales": None}, ValueError, "scales must be given unless covars are, found None"),
    ({"Ks": torch.empty(2, 3, 3, dtype=F, device="meta")}, ValueError, "Ks must be on cpu .* meta"),
    ({"width": 0}, ValueError, "width must be positive, found 0"),
    ({"tile_size": 0}, ValueError, "tile_size must be positive, found 0"),
    ({"width": 2.5}, TypeError, "width must be an int, found float"),
    ({"width": 1 << 40}, ValueError, "width must be 2147483647 at most"),
    ({"near_plane": math.nan}, ValueError, "near_plane must be a number, found nan"),
    ({"far_plane": None}, TypeError, "far_plane must be a number, found None"),
    ({"sh_degree": 2.0}, TypeError, "sh_degree must be an int, found float"),
    ({"opacities": torch._neg_view(-torch.rand(12, dtype=F))}, ValueError, "opacities must hold"),
    (
        {"colors": torch.rand(12, 9, 3, dtype=torch.float16), "packed": False},
        TypeError,
        "colors must be torch.float64",
    ),
    ({"render_mode": "RGBD"}, ValueError, "render_mode must be one of .* found 'RGBD'"),
    ({"rasterize_mode": "sharp"}, ValueError, "rasterize_mode must be one of .* 'sharp'"),
    ({"camera_model": "cube"}, ValueError, "camera_model must be one of .* 'cube'"),
    ({"sh_degree": 5}, ValueError, "sh_degree must be 0 to 4, found 5"),
    ({"sparse_grad": True, "packed": False}, ValueError, "sparse_grad must be False unless"),
    (
        {"means": torch.full((12, 3), math.nan, dtype=F)},
        ValueError,
        r"means must be finite, found nan",
    ),
]


@pytest.mark.parametrize(("changed", "error", "match"), REFUSED, ids=lambda value: str(value)[:40])
def test_wrong_arguments_are_named(changed, error, match):
    given = {**scenes.make(), "width": WIDTH, "height": HEIGHT, "sh_degree": 2, **changed}
    with pytest.raises(error, match=match):
        gsplat.rasterization(**given)


def test_memory_that_is_gone_is_refused():
    given = scenes.make(degree=None)
    given["means"] = given["means"].detach()
    given["means"].untyped_storage().resize_(0)
    with pytest.raises(ValueError, match="means must have memory"):
        draw(given)


def test_what_is_not_finite_is_drawn_if_asked():
    given = scenes.make(degree=None)
    broken = given["means"].detach().clone()
    broken[5] = math.nan
    with pytest.raises(ValueError, match=r"means must be finite, found nan at \[5, 0\]"):
        draw({**given, "means": broken})
    with gsplat.settings.changed(check_finite=False):
        image, _, meta = draw({**given, "means": broken})
    assert image.isfinite().all() and 5 not in meta["gaussian_ids"]


def test_memory_with_gaps_is_copied():
    given = scenes.make(degree=None)
    wanted = draw(given)[0]
    spread = {
        name: torch.stack([part.detach(), part.detach()], -1)[..., 0]
        for name, part in given.items()
    }
    assert not spread["means"].is_contiguous()
    assert torch.equal(draw(spread)[0], wanted)


def test_gradients_of_gradients_are_refused():
    given = scenes.make(degree=None)
    image = draw(given)[0]
    (slope,) = torch.autograd.grad((image**2).sum(), given["means"], create_graph=True)
    with pytest.raises(RuntimeError):
        slope.sum().backward()


def test_settings_are_checked():
    with pytest.raises(ValueError, match="alpha_max must be between 0 and 1, found 1.5"):
        gsplat.settings.update(radius_rule="three-sigma", alpha_max=1.5)
    assert gsplat.settings.radius_rule == "gsplat-1.5"
    with pytest.raises(ValueError, match="radius_rule must be 'gsplat-1.5' or 'three-sigma'"):
        gsplat.settings.radius_rule = "round"
    with pytest.raises(ValueError, match="precision must be 'half', 'single' or None"):
        gsplat.settings.precision = "double"
    assert gsplat.settings.wants_halves(True) and not gsplat.settings.wants_halves(False)
    with pytest.raises(AttributeError, match="no setting alpha_cap; there are alpha_max"):
        gsplat.settings.alpha_cap = 0.9
    with gsplat.settings.changed(near_plane=3.9):
        few = draw(scenes.make(), sh_degree=2)[2]["depths"].min()
    assert few >= 3.9 > draw(scenes.make(), sh_degree=2)[2]["depths"].min()
    with gsplat.settings.changed(radii_per_axis=False):
        assert draw(scenes.make(), sh_degree=2, packed=False)[2]["radii"].shape == (2, 12)

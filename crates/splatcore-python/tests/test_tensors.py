"""``splatcore._splatcore.tensors`` on NumPy arrays: results, shapes, errors."""

import math
import threading

import numpy as np
import pytest
from splatcore._splatcore import tensors

WIDTH, HEIGHT, TILE = 40, 30, 16
ACROSS, DOWN = 3, 2


class Scene:
    """Gaussians in front of one camera, as arrays of one float type."""

    def __init__(self, dtype, count=30, channels=3):
        random = np.random.default_rng(0)

        def array(values):
            return np.ascontiguousarray(values, dtype=dtype)

        self.dtype, self.count, self.channels = dtype, count, channels
        self.means = array(random.uniform(-1, 1, (1, count, 3)))
        self.quats = array(random.normal(size=(1, count, 4)))
        self.scales = array(random.uniform(0.05, 0.3, (1, count, 3)))
        self.opacities = array(random.uniform(0.2, 1, (1, count)))
        self.colors = array(random.uniform(0, 1, (count, channels)))
        self.background = array(random.uniform(0, 1, (1, channels)))
        self.viewmats = array([[[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 4], [0, 0, 0, 1]]]])
        self.ks = array([[[[40, 0, 20], [0, 40, 15], [0, 0, 1]]]])

    def empty(self, *shape):
        return np.full(shape, np.nan, self.dtype)

    def project(self, **changes):
        n = self.count
        self.radii = np.full((1, 1, n, 2), -1, np.int32)
        self.means2d, self.depths = self.empty(1, 1, n, 2), self.empty(1, 1, n)
        self.conics, self.compensations = self.empty(1, 1, n, 3), self.empty(1, 1, n)
        arguments = {
            "means": self.means,
            "covars": None,
            "quats": self.quats,
            "scales": self.scales,
            "opacities": self.opacities,
            "viewmats": self.viewmats,
            "Ks": self.ks,
            "width": WIDTH,
            "height": HEIGHT,
            "eps2d": 0.3,
            "near_plane": 0.01,
            "far_plane": 1e10,
            "radius_clip": 0.0,
            "camera_model": "pinhole",
            "radius_rule": "gsplat-1.5",
            "radii": self.radii,
            "means2d": self.means2d,
            "depths": self.depths,
            "conics": self.conics,
            "compensations": self.compensations,
        }
        tensors.projection_fwd(**(arguments | changes))

    def intersect(self):
        flat = self.means2d.reshape(-1, 2), self.radii.reshape(-1, 2)
        counts = np.full(self.count, -1, np.int32)
        tensors.intersect_count(*flat, TILE, ACROSS, DOWN, counts)
        ends = np.cumsum(counts, dtype=np.int64)
        self.ids = np.full(ends[-1], -1, np.int64)
        self.flatten = np.full(ends[-1], -1, np.int32)
        tensors.intersect_fill(
            *flat,
            self.depths.reshape(-1),
            None,
            1,
            TILE,
            ACROSS,
            DOWN,
            ends,
            True,
            self.ids,
            self.flatten,
        )
        self.offsets = np.full((1, DOWN, ACROSS), -1, np.int32)
        tensors.intersect_offset(self.ids, 1, ACROSS, DOWN, self.offsets)

    def splats(self):
        return (
            self.means2d.reshape(-1, 2),
            self.conics.reshape(-1, 3),
            self.colors,
            self.opacities.reshape(-1),
            self.background,
            None,
            WIDTH,
            HEIGHT,
            TILE,
            self.offsets,
            self.flatten,
            0.999,
        )

    def draw(self):
        self.image = self.empty(1, HEIGHT, WIDTH, self.channels)
        self.alphas = self.empty(1, HEIGHT, WIDTH, 1)
        self.last = np.full((1, HEIGHT, WIDTH), -1, np.int32)
        tensors.rasterize_fwd(*self.splats(), self.image, self.alphas, self.last)

    def back(self, v_image, v_alphas):
        n = self.count
        grads = {
            "v_means2d": self.empty(n, 2),
            "v_means2d_abs": None,
            "v_conics": self.empty(n, 3),
            "v_colors": self.empty(n, self.channels),
            "v_opacities": self.empty(n),
        }
        tensors.rasterize_bwd(*self.splats(), self.alphas, self.last, v_image, v_alphas, **grads)
        return grads


def drawn(dtype, **kwargs):
    scene = Scene(dtype, **kwargs)
    scene.project()
    scene.intersect()
    scene.draw()
    return scene


def rotation(quat):
    w, x, y, z = quat / np.linalg.norm(quat)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def by_hand(scene):
    """The image, in double precision, splat after splat over whole images."""
    wide = {
        name: np.asarray(value, np.float64)
        for name, value in vars(scene).items()
        if isinstance(value, np.ndarray) and value.dtype == scene.dtype
    }
    xs, ys = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    light = np.ones((HEIGHT, WIDTH))
    done = np.zeros((HEIGHT, WIDTH), bool)
    image = np.zeros((HEIGHT, WIDTH, scene.channels))
    means = wide["means"][0] + [0, 0, 4]
    for i in np.argsort(means[:, 2], kind="stable"):
        x, y, z = means[i]
        turned = rotation(wide["quats"][0, i]) * wide["scales"][0, i]
        jacobian = np.array([[40 / z, 0, -40 * x / z**2], [0, 40 / z, -40 * y / z**2]])
        covar = jacobian @ turned @ turned.T @ jacobian.T + 0.3 * np.eye(2)
        centre = np.array([40 * x / z + 20, 40 * y / z + 15])
        opacity = wide["opacities"][0, i]
        deltas = np.stack([xs, ys], -1) - centre
        sigma = 0.5 * np.einsum("hwi,ij,hwj->hw", deltas, np.linalg.inv(covar), deltas)
        alpha = np.minimum(0.999, opacity * np.exp(-sigma))
        kept = np.linalg.det(covar - 0.3 * np.eye(2)) / np.linalg.det(covar)
        reach = min(3.33, math.sqrt(2 * math.log(255 * opacity * math.sqrt(kept))))
        low = np.floor((centre - np.ceil(reach * np.sqrt(np.diag(covar)))) / TILE) * TILE
        high = np.ceil((centre + np.ceil(reach * np.sqrt(np.diag(covar)))) / TILE) * TILE
        inside = (xs > low[0]) & (xs < high[0]) & (ys > low[1]) & (ys < high[1])
        shown = (alpha >= 1 / 255) & inside & ~done
        done |= shown & (light * (1 - alpha) <= 1e-4)
        weight = np.where(shown & ~done, alpha * light, 0)
        image += weight[..., None] * wide["colors"][i]
        light = light - weight
    return image + light[..., None] * wide["background"][0], 1 - light


@pytest.mark.parametrize("channels", [1, 3, 7])
def test_an_image_is_that_of_a_plain_loop(channels):
    scene = drawn(np.float64, channels=channels)
    image, alphas = by_hand(scene)
    np.testing.assert_allclose(scene.image[0], image, atol=1e-10)
    np.testing.assert_allclose(scene.alphas[0, ..., 0], alphas, atol=1e-10)
    assert scene.alphas.max() > 0.9


def test_float32_is_close_to_float64():
    # A fragment near 1/255 may be in one of them alone.
    difference = np.abs(drawn(np.float32).image - drawn(np.float64).image)
    assert np.quantile(difference, 0.99) < 1e-5
    assert difference.max() < 2 / 255


def test_two_calls_do_the_work_of_five():
    scene, n = drawn(np.float64), 30
    # Without the first dimension, which may be any number of them.
    outs = [
        np.full((1, n, 2), -1, np.int32),
        *(scene.empty(1, n, 2), scene.empty(1, n), scene.empty(1, n, 3), scene.empty(1, n)),
    ]
    counts = np.full((1, n), -1, np.int32)
    order, sums = both = np.full((2, n), -1, np.int32)
    given = (scene.means[0], None, scene.quats[0], scene.scales[0], scene.opacities[0])
    given = (*given, scene.viewmats[0], scene.ks[0], WIDTH, HEIGHT, 0.3, 0.01, 1e10, 0.0)
    totals = tensors.splats_fwd(*given, "pinhole", "gsplat-1.5", TILE, False, *outs, counts, both)
    names = ("radii", "means2d", "depths", "conics", "compensations")
    for name, out in zip(names, outs, strict=True):
        assert np.array_equal(getattr(scene, name)[0], out), name
    total, drawn_splats = totals
    assert total == counts.sum() == len(scene.ids)
    is_drawn = (scene.radii[0] > 0).all(-1)
    assert drawn_splats == is_drawn.sum()
    rows, images = np.full((2, drawn_splats), -1, np.int64)
    tensors.list_drawn(scene.radii[0], n, rows, images)
    assert np.array_equal(rows, np.flatnonzero(is_drawn))
    assert not images.any()
    depths = np.where(counts > 0, outs[2], np.inf)[0].astype(np.float32)
    by_depth = np.argsort(depths, kind="stable")
    assert np.array_equal(order, by_depth)
    assert np.array_equal(sums, counts[0, by_depth].cumsum())

    radii, means2d, depths, conics, _ = outs
    lists = (np.full(total, -1, np.int64), np.full(total, -1, np.int32))
    offsets = np.full((1, DOWN, ACROSS), -1, np.int32)
    image, alphas = (scene.empty(1, HEIGHT, WIDTH, d) for d in (scene.channels, 1))
    last = np.full((1, HEIGHT, WIDTH), -1, np.int32)
    splats = [means2d, radii, depths, conics, scene.colors, scene.opacities, scene.background]
    sizes = (WIDTH, HEIGHT, TILE, 0.999, False)
    results = (*lists, offsets, image, alphas, last)
    tensors.draw_fwd(*splats, None, counts, *sizes, *results)
    expected = (scene.ids, scene.flatten, scene.offsets, scene.image, scene.alphas, scene.last)
    assert all(map(np.array_equal, results, expected))
    with pytest.raises(ValueError, match="ends must be the cumulative sum"):
        tensors.draw_fwd(*splats, None, counts[:, ::-1].copy(), *sizes, *results)
    with pytest.raises(ValueError, match=r"depths must have shape \[M = 30\], found \[1, 29\]"):
        splats[2] = depths[:, 1:].copy()
        tensors.draw_fwd(*splats, None, counts, *sizes, *results)


def test_finite_values_are_told_from_others():
    for dtype in (np.float32, np.float64):
        values = np.full((3, 4), np.finfo(dtype).max, dtype)
        assert tensors.all_finite(None, values, np.zeros(0, dtype))
        for wrong in (np.nan, np.inf, -np.inf):
            values[2, 1] = wrong
            assert not tensors.all_finite(np.zeros(2), values)
    assert not tensors.all_finite(np.zeros(3, np.int32))


def test_gradients_are_those_of_finite_differences():
    scene = drawn(np.float64, count=8)
    random = np.random.default_rng(1)
    v_image = random.normal(size=scene.image.shape)
    v_alphas = random.normal(size=scene.alphas.shape)
    grads = scene.back(v_image, v_alphas)

    def loss():
        scene.draw()
        return (scene.image * v_image).sum() + (scene.alphas * v_alphas).sum()

    # Colours are not near any threshold.
    for at in [(0, 0), (3, 1), (7, 2)]:
        before = scene.colors[at]
        scene.colors[at] = before + 1e-3
        above = loss()
        scene.colors[at] = before - 1e-3
        difference = (above - loss()) / 2e-3
        scene.colors[at] = before
        assert grads["v_colors"][at] == pytest.approx(difference, rel=1e-8)


def test_a_camera_gets_the_gradient_of_its_intrinsics():
    scene = Scene(np.float64)
    scene.project()
    n, random = scene.count, np.random.default_rng(2)
    v_means2d = random.normal(size=(1, 1, n, 2)) * (scene.radii > 0)
    grads = {name: None for name in ["v_means", "v_covars", "v_quats", "v_scales", "v_viewmats"]}
    v_ks = scene.empty(1, 1, 3, 3)
    tensors.projection_bwd(
        scene.means,
        None,
        scene.quats,
        scene.scales,
        scene.viewmats,
        scene.ks,
        WIDTH,
        HEIGHT,
        0.3,
        "pinhole",
        scene.radii,
        scene.conics,
        None,
        v_means2d,
        np.zeros((1, 1, n)),
        np.zeros((1, 1, n, 3)),
        None,
        **grads,
        v_Ks=v_ks,
    )
    tangents = (scene.means[0] / (scene.means[0, :, 2:] + 4))[:, :2]
    focals = (tangents * v_means2d[0, 0]).sum(0)
    centres = v_means2d[0, 0].sum(0)
    expected = [[focals[0], 0, centres[0]], [0, focals[1], centres[1]], [0, 0, 0]]
    np.testing.assert_allclose(v_ks[0, 0], expected, rtol=1e-12, atol=1e-12)


def test_arrays_can_be_empty():
    scene = Scene(np.float32, count=0)
    scene.project()
    tensors.spherical_harmonics_fwd(
        3, np.empty((0, 3)), np.empty((0, 16, 3)), None, np.empty((0, 3))
    )
    image = np.full((1, HEIGHT, WIDTH, 3), np.nan, np.float32)
    alphas = np.full((1, HEIGHT, WIDTH, 1), np.nan, np.float32)
    last = np.full((1, HEIGHT, WIDTH), -1, np.int32)
    nothing = [np.empty(shape, np.float32) for shape in [(0, 2), (0, 3), (0, 3), (0,)]]
    offsets, flatten = np.zeros((1, DOWN, ACROSS), np.int32), np.empty(0, np.int32)
    tensors.rasterize_fwd(
        *nothing, None, None, WIDTH, HEIGHT, TILE, offsets, flatten, 0.99, image, alphas, last
    )
    assert not image.any() and not alphas.any() and not last.any()


def adam(**changes):
    arguments = {
        "param": np.zeros((4, 3)),
        "grad": np.ones((4, 3)),
        "exp_avg": np.zeros((4, 3)),
        "exp_avg_sq": np.zeros((4, 3)),
        "valid": np.array([True, False, True, True]),
        "lr": 0.1,
        "b1": 0.9,
        "b2": 0.999,
        "eps": 1e-8,
    } | changes
    tensors.adam(**arguments)
    return arguments["param"]


def test_rows_are_taken_out_and_put_back():
    values, numbers = np.arange(8.0).reshape(4, 2), np.arange(4, dtype=np.int32)
    rows = np.array([2, 0])
    packed, few = np.full((2, 2), np.nan), np.full(2, -1, np.int32)
    tensors.gather_rows(rows, 4, 1, values, packed, numbers, few)
    np.testing.assert_array_equal(packed, [[4, 5], [0, 1]])
    np.testing.assert_array_equal(few, [2, 0])
    back = np.full((4, 2), np.nan)
    tensors.scatter_rows(rows, 4, 1, packed, back)
    np.testing.assert_array_equal(back, [[0, 1], [0, 0], [4, 5], [0, 0]])
    tensors.gather_rows(rows, 4, 0)
    for wrong, message in [
        ((np.array([4, 0]), 4, 1, values, packed), "rows must be below 4, found 4"),
        ((np.array([-1, 0]), 4, 1, values, packed), "found -1"),
        ((rows, 4, 1, values, packed[:1]), "to must"),
        ((rows, 3, 1, values, packed), "tensors must be of 3 rows, found 8 values"),
        ((rows, 4, 1, values), "pairs, found 1 tensors"),
        ((rows, 4, 1, values, values), "share memory"),
    ]:
        with pytest.raises(ValueError, match=message):
            tensors.gather_rows(*wrong)


def test_adam_works_in_place_and_leaves_out_rows():
    param = adam()
    np.testing.assert_allclose(param[0], -0.1 * 0.1 / math.sqrt(0.001), rtol=1e-6)
    assert not param[1].any()


def read_only():
    array = np.zeros((4, 3))
    array.flags.writeable = False
    return array


SHARED = np.zeros((5, 3))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"grad": np.ones((4, 2))},
            ValueError,
            r"grad must have shape \[n = 4, D = 3\], found \[4, 2\]",
        ),
        ({"grad": np.ones(12)}, ValueError, r"grad must have shape \[n = 4, D = 3\], found \[12\]"),
        (
            {"grad": np.ones((4, 3), np.float32)},
            TypeError,
            "grad must be of float64 as param is, found float32",
        ),
        (
            {"grad": np.ones((4, 3), ">f8")},
            TypeError,
            "grad must be of float32, float64, int32, int64 or bool, found >f8",
        ),
        ({"grad": np.ones((4, 6))[:, ::2]}, ValueError, "grad must be contiguous"),
        (
            {"grad": [[1.0] * 3] * 4},
            TypeError,
            "grad must be a torch tensor or a NumPy array, found list",
        ),
        ({"grad": None}, TypeError, "grad must be a torch tensor or a NumPy array, found NoneType"),
        (
            {"param": np.zeros((4, 3), np.int32)},
            TypeError,
            "param must be of float32 or float64, found int32",
        ),
        ({"param": read_only()}, ValueError, "param is written to, found one that is read-only"),
        (
            {"valid": np.ones(4, np.uint8)},
            TypeError,
            "valid must be of float32, float64, int32, int64 or bool, found uint8",
        ),
        ({"valid": np.ones(4, np.int32)}, TypeError, "valid must be of bool, found int32"),
        (
            {"param": SHARED[:4], "grad": SHARED[1:]},
            ValueError,
            "grad must not share memory with param",
        ),
        (
            {"param": SHARED[:4], "exp_avg": SHARED[:4]},
            ValueError,
            "exp_avg must not share memory with param",
        ),
        (
            {"grad": np.frombuffer(bytes(97), np.float64, 12, 1).reshape(4, 3)},
            ValueError,
            "grad must be aligned",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        adam(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"camera_model": "ftheta"},
            'camera_model must be "pinhole", "ortho" or "fisheye", found "ftheta"',
        ),
        ({"radius_rule": "none"}, "radius_rule must be"),
        ({"width": -1}, "width must be 0 to 2147483647, found -1"),
        ({"height": 1 << 40}, "height must be 0 to 2147483647, found 1099511627776"),
        ({"quats": None}, "covars must be given without quats and scales"),
    ],
)
def test_projections_that_do_not_exist_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Scene(np.float32).project(**changes)


def test_lists_of_other_splats_are_refused():
    scene = drawn(np.float32)
    scene.flatten[5] = scene.count
    with pytest.raises(
        ValueError, match=r"flatten_ids must be 0 or more and below 30, found 30 at 5"
    ):
        scene.draw()
    with pytest.raises(ValueError, match="ends must be the cumulative sum"):
        tensors.intersect_fill(
            scene.means2d[0, 0],
            scene.radii[0, 0],
            scene.depths[0, 0],
            None,
            1,
            TILE,
            ACROSS,
            DOWN,
            np.arange(scene.count),
            True,
            np.zeros(29, np.int64),
            np.zeros(29, np.int32),
        )


class Fake:
    """What torch's tensors tell of themselves."""

    def __init__(self, array, device="cpu", index=None, requires_grad=False):
        self.array, self.shape, self.requires_grad = array, array.shape, requires_grad
        self.dtype = type("dtype", (), {"__str__": lambda _: f"torch.{array.dtype}"})()
        self.device = type("device", (), {"type": device, "index": index})()

    def data_ptr(self):
        return self.array.ctypes.data

    def is_contiguous(self):
        return self.array.flags.c_contiguous


def test_tensors_are_read_by_their_methods():
    param = np.zeros((4, 3))
    adam(param=Fake(param), grad=Fake(np.ones((4, 3))))
    assert (param[0] < 0).all() and not param[1].any()


def test_tensors_elsewhere_or_with_gradients_are_refused():
    grad = np.ones((4, 3))
    everything = [Fake(np.zeros((4, 3)), "cuda", 0) for _ in range(4)]
    with pytest.raises(TypeError, match="param must be of float32 on a CUDA device, found float64"):
        tensors.adam(*everything, None, 0.1, 0.9, 0.99, 1e-8)
    with pytest.raises(ValueError, match="grad must lie on cpu as param does, found cuda:1"):
        adam(grad=Fake(grad, "cuda", 1))
    with pytest.raises(ValueError, match="grad must lie on the CPU or on a CUDA device"):
        adam(grad=Fake(grad, "mps"))
    with pytest.raises(ValueError, match="param is written to, found one that requires a gradient"):
        adam(param=Fake(np.zeros((4, 3)), requires_grad=True))


def test_others_can_work_meanwhile():
    random = np.random.default_rng(3)
    images = [random.uniform(size=(2, 3, 400, 400)) for _ in range(2)]
    out, ticks, stop = np.empty_like(images[0]), [0], threading.Event()

    def tick():
        while not stop.is_set():
            ticks[0] += 1

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks[0]
    tensors.ssim_fwd(*images, "same", out, None)
    after = ticks[0]
    stop.set()
    thread.join()
    assert after > before
    assert np.isfinite(out).all()

"""Rendering and gradients, against formulas and finite differences."""

import json
import pickle
import threading
import time

import numpy as np
import pytest

import splatcore
from conftest import look_from, random_arrays

# Y_0 of the real spherical harmonics.
Y0 = 0.28209479177387814


def one_gaussian(opacity: float = 0.5) -> splatcore.Scene:
    f32 = np.float32
    return splatcore.Scene(
        means=np.zeros((1, 3), f32),
        scales=np.log(np.full((1, 3), 0.2, f32)),
        rotations=np.array([[2, 0, 0, 0]], f32),
        opacities=np.array([np.log(opacity / (1 - opacity))], f32),
        sh=((np.array([[[0.9, 0.5, 0.1]]]) - 0.5) / Y0).astype(f32),
    )


def test_one_gaussian_is_its_formula():
    camera = splatcore.Camera.look_at((0, 0, -4), (0, 0, 0), 33, 33)
    background = np.array([0.0, 0.5, 1.0])
    found = splatcore.Renderer(one_gaussian(), "cpu").render(
        camera, background=background, depth=True
    )
    # On the axis the projected covariance is (fx s / z)^2 + 0.3 pixels, isotropic.
    y, x = np.mgrid[0:33, 0:33] + 0.5 - 16.5
    alpha = 0.5 * np.exp(-(x**2 + y**2) / (2 * ((camera.fx * 0.2 / 4) ** 2 + 0.3)))
    alpha[alpha < 1 / 255] = 0
    image = alpha[..., None] * [0.9, 0.5, 0.1] + (1 - alpha)[..., None] * background
    assert found.image.shape == (33, 33, 3) and found.image.dtype == np.float32
    # A fragment at the threshold may fall on either side of it.
    near = np.abs(alpha - 1 / 255) < 1e-5
    np.testing.assert_allclose(found.alpha[~near], alpha[~near], atol=1e-5)
    np.testing.assert_allclose(found.image[~near], image[~near], atol=1e-5)
    np.testing.assert_allclose(found.depth[alpha > 0.01], 4, rtol=1e-5)
    assert found.depth[0, 0] == 0


def test_the_function_and_the_class_agree(scene, camera):
    renderer = splatcore.Renderer(scene, "cpu", threads=1)
    assert renderer.backend == "cpu" and len(renderer) == len(scene)
    found = renderer.render(camera)
    assert found.depth is None
    np.testing.assert_array_equal(
        found.image, splatcore.render(scene, camera, backend="cpu").image
    )
    assert found.image.flags.writeable, "images are the caller's"


def test_options_matter(scene, camera):
    renderer = splatcore.Renderer(scene, "cpu")
    plain = renderer.render(camera).image
    for options in [{"sh_degree": 0}, {"antialiased": True}, {"background": (1, 1, 1)}]:
        assert np.abs(renderer.render(camera, **options).image - plain).max() > 1e-3, options
    of_scene = splatcore.render(scene.replace(antialiased=True), camera, backend="cpu").image
    np.testing.assert_array_equal(of_scene, renderer.render(camera, antialiased=True).image)
    # Vanilla's footprint ends at 3 sigma, where a fragment has exp(-4.5) of its opacity.
    other = np.abs(renderer.render(camera, pipeline="vanilla").image - plain).max()
    assert 0 < other < 2 * np.exp(-4.5)


def test_a_sky_is_behind_the_scene_where_no_background_is_given(tmp_path):
    camera = splatcore.Camera.look_at((0, 0, -4), (0, 0, 0), 33, 33)
    sky = np.zeros((16, 3), np.float32)
    sky[0] = (np.array([0.2, 0.4, 0.8]) - 0.5) / Y0
    plain = one_gaussian()
    scene = plain.replace(sky=sky)
    assert plain.sky is None
    np.testing.assert_array_equal(scene.sky, sky)
    found = splatcore.render(scene, camera, backend="cpu")
    black = splatcore.render(plain, camera, backend="cpu")
    wanted = black.image + (1 - found.alpha[..., None]) * [0.2, 0.4, 0.8]
    np.testing.assert_allclose(found.image, wanted, atol=1e-5)
    given = splatcore.render(scene, camera, backend="cpu", background=(0, 0, 0))
    np.testing.assert_array_equal(given.image, black.image)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(scene)).sky, sky)
    # The file of a sky beside a run's scene.
    scene.save(tmp_path / "scene.ply")
    text = json.dumps({"degree": 3, "coefficients": sky.tolist()})
    (tmp_path / "sky.json").write_text(text)
    np.testing.assert_array_equal(splatcore.Scene.load(tmp_path / "scene.ply").sky, sky)
    (tmp_path / "sky.json").write_text("[]")
    with pytest.raises(splatcore.Error, match=r"sky\.json: is no sky"):
        splatcore.Scene.load(tmp_path / "scene.ply")
    with pytest.raises(ValueError, match="sky must have shape"):
        plain.replace(sky=sky[:4])


def test_gradients_of_one_gaussian_are_its_formulas():
    camera = splatcore.Camera.look_at((0, 0, -4), (0, 0, 0), 33, 33, up=(0, -1, 0))
    colour, background = np.array([0.9, 0.5, 0.1]), np.array([0.0, 0.5, 1.0])
    weights = np.random.default_rng(1).standard_normal((33, 33, 3)).astype(np.float32)
    renderer = splatcore.Renderer(one_gaussian(0.5), "cpu")
    found = renderer.gradients(camera, weights, background=background)

    y, x = np.mgrid[0:33, 0:33] + 0.5 - 16.5
    slope = camera.fx / 4
    own = (slope * 0.2) ** 2
    variance = own + 0.3
    alpha = 0.5 * np.exp(-(x**2 + y**2) / (2 * variance))
    alpha[alpha < 1 / 255] = 0
    of_alpha = (weights * (colour - background)).sum(-1) * alpha
    # A camera at z = -4 that looks along z with y down has the world's axes.
    np.testing.assert_allclose(camera.world_to_camera[:3, :3], np.eye(3), atol=1e-12)
    wanted = {
        "means": np.array([[(of_alpha * x).sum(), (of_alpha * y).sum()]]) * slope / variance,
        "scales": np.array([[(of_alpha * x**2).sum(), (of_alpha * y**2).sum()]])
        * (own / variance**2),
        "opacities": [of_alpha.sum() * (1 - 0.5)],
        "sh": (Y0 * weights * alpha[..., None]).sum((0, 1))[None, None],
    }
    np.testing.assert_allclose(found.means[:, :2], wanted["means"], rtol=1e-3)
    np.testing.assert_allclose(found.scales[:, :2], wanted["scales"], rtol=1e-3)
    np.testing.assert_allclose(found.opacities, wanted["opacities"], rtol=1e-3)
    np.testing.assert_allclose(found.sh, wanted["sh"], rtol=1e-3)
    # The Gaussian is a ball: neither its rotation nor its depth's own axis shows.
    np.testing.assert_allclose(found.rotations, 0, atol=1e-4)
    np.testing.assert_allclose(found.scales[:, 2], 0, atol=1e-4)


def test_an_image_is_linear_in_its_harmonics(camera):
    arrays = random_arrays(12, 1, 8)
    arrays["sh"][:, 0] = np.abs(arrays["sh"][:, 0])
    rng = np.random.default_rng(2)
    weights = rng.standard_normal((48, 64, 3)).astype(np.float32)
    scene = splatcore.Scene(**arrays)
    found = splatcore.Renderer(scene, "cpu").gradients(camera, weights)
    change = rng.uniform(-0.05, 0.05, scene.sh.shape).astype(np.float32)
    images = [
        splatcore.render(part, camera, backend="cpu").image.astype(np.float64)
        for part in (scene.replace(sh=scene.sh + change), scene)
    ]
    wanted = ((images[0] - images[1]) * weights).sum()
    assert (found.sh * change).sum() == pytest.approx(wanted, rel=1e-3)
    for name, array in arrays.items():
        assert getattr(found, name).shape == array.shape


def test_gradients_of_alpha_and_depth_are_slopes():
    camera = splatcore.Camera.look_at((0, 0, -4), (0, 0, 0), 33, 33)
    scene = one_gaussian()
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((2, 33, 33)).astype(np.float32)
    # Away from the rim, where fragments come and go.
    weights *= splatcore.render(scene, camera, backend="cpu").alpha > 0.1
    nothing = np.zeros((33, 33, 3), np.float32)
    found = splatcore.Renderer(scene, "cpu").gradients(
        camera, nothing, alpha_gradient=weights[0], depth_gradient=weights[1]
    )

    def loss(**change):
        moved = splatcore.render(scene.replace(**change), camera, depth=True, backend="cpu")
        return float((moved.alpha * weights[0] + moved.depth * weights[1]).sum(dtype=np.float64))

    for name, at, step in [("means", (0, 2), 1e-2), ("means", (0, 0), 1e-3), ("opacities", 0, 1e-2)]:
        array = getattr(scene, name)
        sides = []
        for sign in (1, -1):
            moved = array.copy()
            moved[at] += sign * step
            sides.append(loss(**{name: moved}))
        slope = (sides[0] - sides[1]) / (2 * step)
        assert getattr(found, name)[at] == pytest.approx(slope, rel=2e-2, abs=1e-2), (name, at)
    with pytest.raises(ValueError, match="depth_gradient"):
        splatcore.Renderer(scene, "cpu").gradients(camera, nothing, depth_gradient=nothing)


def test_the_gradient_of_the_pose_is_a_slope(scene, camera):
    # Smooth, so that fragments that come and go at the splats' rims, which gradients leave out by
    # design, matter little.
    y, x = np.mgrid[:48, :64] / 10
    weights = np.stack([np.sin(x), np.cos(y), np.sin(x + y)], axis=2).astype(np.float32)
    rotation, translation = (
        splatcore.Renderer(scene, "cpu").gradients(camera, weights).pose(scene, camera)
    )

    def loss(motion):
        pose = motion @ np.asarray(camera.world_to_camera, np.float64)
        moved = splatcore.Camera(64, 48, camera.fx, camera.fy, camera.cx, camera.cy, pose)
        image = splatcore.render(scene, moved, backend="cpu").image.astype(np.float64)
        return (image * weights).sum()

    step, slopes = 2e-3, np.zeros((2, 3))
    for axis in range(3):
        shift = np.eye(4)
        shift[axis, 3] = step
        generator = np.zeros((3, 3))
        a, b = (axis + 1) % 3, (axis + 2) % 3
        generator[a, b], generator[b, a] = -1, 1
        turn = np.eye(4)
        turn[:3, :3] += np.sin(step) * generator + (1 - np.cos(step)) * generator @ generator
        for kind, motion in enumerate((turn, shift)):
            slopes[kind, axis] = (loss(motion) - loss(np.linalg.inv(motion))) / (2 * step)
    for found, wanted in zip((rotation, translation), slopes):
        assert np.linalg.norm(found - wanted) < 0.15 * np.linalg.norm(wanted), (found, wanted)
    with pytest.raises(ValueError, match="1 Gaussians"):
        one = splatcore.Renderer(scene, "cpu").gradients(camera, weights)
        one.pose(one_gaussian(), camera)


def test_what_cannot_be_rendered_is_refused(scene, camera):
    renderer = splatcore.Renderer(scene, "cpu")
    with pytest.raises(ValueError, match=r"image_gradient.*\[48, 64, 3\].*\[64, 48, 3\]"):
        renderer.gradients(camera, np.zeros((64, 48, 3), np.float32))
    with pytest.raises(TypeError, match="image_gradient must be float32, found float64"):
        renderer.gradients(camera, np.zeros((48, 64, 3)))
    with pytest.raises(ValueError, match="pipeline: .*fast"):
        renderer.render(camera, pipeline="fast")
    with pytest.raises(ValueError, match="background must be three finite numbers"):
        renderer.render(camera, background=(0, 0))
    with pytest.raises(TypeError, match="background must be three numbers"):
        renderer.render(camera, background=("a", "b", "c"))
    with pytest.raises(TypeError):
        renderer.render("camera")
    with pytest.raises(ValueError, match='backend must be "auto".*gpu'):
        splatcore.Renderer(scene, "gpu")
    with pytest.raises(ValueError, match="device=1.*cpu"):
        splatcore.Renderer(scene, "cpu", device=1)
    for degree in [4, 255]:
        with pytest.raises(ValueError, match=f"sh_degree must be 0 to 3, found {degree}"):
            renderer.render(camera, sh_degree=degree)
    for threads in [0, 257, 10**6]:
        with pytest.raises(ValueError, match=f"threads must be 1 to 256, found {threads}"):
            splatcore.Renderer(scene, "cpu", threads=threads)
    with pytest.raises(splatcore.Error, match="the cpu backend has no"):
        renderer.render(camera, pipeline="exact+tc-gs")


@pytest.mark.parametrize(
    ("background", "kind"),
    [
        ((0, 0, 1.5), ValueError),
        ((-0.1, 0, 0), ValueError),
        ((0, 1e39, 0), ValueError),
        ((0, float("nan"), 0), ValueError),
        (b"\0\1\0", TypeError),
        (bytearray(3), TypeError),
        ({0, 0.5, 1}, TypeError),
        (frozenset([0, 0.5, 1]), TypeError),
    ],
)
def test_backgrounds_are_colours(scene, camera, background, kind):
    renderer = splatcore.Renderer(scene, "cpu")
    change = np.zeros((48, 64, 3), np.float32)
    with pytest.raises(kind, match="background must be three"):
        renderer.render(camera, background=background)
    with pytest.raises(kind, match="background must be three"):
        renderer.gradients(camera, change, background=background)
    ends = renderer.render(camera, background=np.array([0, 1, -0.0])).image
    assert np.isfinite(ends).all()


@pytest.mark.parametrize("side", [60_000, 2**32 - 1])
def test_an_image_beyond_any_memory_is_an_error(scene, side):
    camera = splatcore.Camera(side, side, 50, 50, 32, 24, np.eye(4))
    with pytest.raises(splatcore.Error, match=f"{side}x{side} pixels .*a smaller camera"):
        splatcore.render(scene, camera, backend="cpu")


def test_a_card_that_there_is_not_is_an_error(scene):
    try:
        splatcore.Renderer(scene, "cuda")
    except splatcore.Error as error:
        assert "the CUDA backend cannot be used: " in str(error)
        assert 'backend="cpu"' in str(error) and "--" not in str(error)


def test_threads_share_a_renderer_and_the_lock_is_let_go(scene):
    renderer = splatcore.Renderer(scene, "cpu", threads=1)
    camera = look_from(0.3, 1200, 900)
    expected = renderer.render(camera).image
    ticks, results, done = [], [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(None)
            time.sleep(0.001)

    def draw():
        for _ in range(5):
            results.append(renderer.render(camera).image)

    workers = [threading.Thread(target=draw) for _ in range(3)]
    ticker = threading.Thread(target=tick)
    ticker.start()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    done.set()
    ticker.join()
    assert len(results) == 15 and len(ticks) > 15
    for image in results:
        np.testing.assert_array_equal(image, expected)


def test_pictures_are_saved(scene, camera, tmp_path):
    found = splatcore.render(scene, camera, backend="cpu")
    found.save(tmp_path / "view.png")
    assert (tmp_path / "view.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    with pytest.raises(splatcore.Error, match="view.png: cannot be written"):
        (tmp_path / "a file").touch()
        found.save(tmp_path / "a file" / "view.png")

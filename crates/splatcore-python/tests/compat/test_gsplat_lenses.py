"""``with_ut``: the images of ``splatcore.render`` through the same cameras, gradients against
differences, and what is refused."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import scenes  # noqa: E402
from torch.autograd import gradcheck  # noqa: E402

import splatcore  # noqa: E402
from conftest import look_from, random_arrays  # noqa: E402
from splatcore.compat import gsplat  # noqa: E402

F = torch.float64
SIZE = (64, 48)
FLIP = np.diag([1.0, -1.0, -1.0, 1.0])
# f-theta: pixels of radians.
ANGLE_TO_PIXELS = (0.0, 40.0, -1.0, 2.0, -3.0, 0.0)


def ftheta(**changes):
    given = {
        "reference_poly": gsplat.FThetaPolynomialType.ANGLE_TO_PIXELDIST,
        "pixeldist_to_angle_poly": (0.0,) * 6,
        "angle_to_pixeldist_poly": ANGLE_TO_PIXELS,
        "max_angle": 1.3,
        "linear_cde": (1.01, 0.002, -0.003),
    }
    return gsplat.FThetaCameraDistortionParameters(**{**given, **changes})


# Per case: keys of transforms.json and arguments of the drop-in.
OPENCV = {
    "k1": -0.12, "k2": 0.03, "k3": 0.01, "k4": 0.05, "k5": -0.02, "k6": 0.004,
    "p1": 0.02, "p2": -0.03,
}  # fmt: skip
RADIAL = [OPENCV[f"k{i}"] for i in range(1, 7)]
CASES = {
    "opencv": (
        {"camera_model": "OPENCV", **OPENCV},
        {"radial_coeffs": RADIAL, "tangential_coeffs": [0.02, -0.03]},
    ),
    "fisheye": (
        {"camera_model": "OPENCV_FISHEYE", "k1": 0.02, "k2": -0.01, "k3": 0.004, "k4": -0.001},
        {"camera_model": "fisheye", "radial_coeffs": [0.02, -0.01, 0.004, -0.001]},
    ),
    "orthographic": (
        {"camera_model": "ORTHOPHOTO", "fl_x": 15.0, "fl_y": 16.0},
        {"camera_model": "ortho"},
    ),
    "f-theta": (
        {
            "camera_model": "FTHETA",
            "angle_to_pixeldist_poly": ANGLE_TO_PIXELS,
            "max_angle": 1.3,
            "linear_cde": (1.01, 0.002, -0.003),
            "principal_point": (31.3, 23.1),
        },
        {"camera_model": "ftheta", "ftheta_coeffs": ftheta()},
    ),
    "rolling shutter": (
        {"camera_model": "OPENCV", "k1": -0.1},
        {
            "radial_coeffs": [-0.1, 0, 0, 0, 0, 0],
            "rolling_shutter": gsplat.RollingShutterType.ROLLING_TOP_TO_BOTTOM,
        },
    ),
}
TURNS = (0.1, 0.106)  # a camera's poses when it reads its first and its last line


def camera_of(folder, keys, moves):
    """The camera that the engine reads from a file; a second photo is from another place."""
    black = splatcore.Scene(**random_arrays(1, 0, 1))
    frames = []
    for i in range(2):
        first, last = (look_from(turn + 0.2 * i) for turn in TURNS)
        splatcore.render(black, first, backend="cpu").save(folder / f"{i}.png")
        pose, end = (np.linalg.inv(at.world_to_camera) @ FLIP for at in (first, last))
        frames.append({"file_path": f"{i}.png", "transform_matrix": pose.tolist()})
        if moves:
            frames[i]["transform_matrix_end"] = end.tolist()
    model = {"w": 64, "h": 48, "fl_x": 60.0, "fl_y": 61.0, "cx": 31.8, "cy": 23.6, **keys}
    (folder / "transforms.json").write_text(json.dumps({**model, "frames": frames}))
    return splatcore.Dataset.load(folder, lens="as-taken").cameras[0]


@pytest.mark.parametrize("name", CASES)
def test_images_are_those_of_the_engine(name, tmp_path):
    keys, options = CASES[name]
    options = dict(options)
    camera = camera_of(tmp_path, keys, name == "rolling shutter")
    arrays = random_arrays(120, 1, 4)
    wanted = splatcore.render(splatcore.Scene(**arrays), camera, backend="cpu")
    values = [camera.fx, camera.fy, camera.cx, camera.cy]
    if name == "f-theta":
        values = [1.0, 1.0, 31.8, 23.6]  # focal lengths are in the polynomial
    fx, fy, cx, cy = values
    view = torch.from_numpy(look_from(TURNS[0]).world_to_camera)
    if name == "rolling shutter":
        options["viewmats_rs"] = torch.from_numpy(look_from(TURNS[1]).world_to_camera).float()[None]
    for key in ("radial_coeffs", "tangential_coeffs"):
        if key in options:
            options[key] = torch.tensor([options[key]])
    of = {key: torch.from_numpy(part) for key, part in arrays.items()}
    with gsplat.settings.changed(alpha_max=0.99, near_plane=0.2):
        image, alphas, _ = gsplat.rasterization(
            of["means"],
            of["rotations"],
            of["scales"].exp(),
            of["opacities"].sigmoid(),
            of["sh"],
            view.float()[None],
            torch.tensor([[[fx, 0, cx], [0, fy, cy], [0, 0, 1]]]),
            *SIZE,
            sh_degree=1,
            with_ut=True,
            **options,
        )
    assert wanted.image.std() > 0.05
    np.testing.assert_allclose(image[0].numpy(), wanted.image, atol=2e-4)
    np.testing.assert_allclose(alphas[0, ..., 0].numpy(), wanted.alpha, atol=2e-4)


def lens_of(name, images):
    """The drop-in's arguments of a case, for so many cameras."""
    options = dict(CASES[name][1])
    for key in ("radial_coeffs", "tangential_coeffs"):
        if key in options:
            options[key] = torch.tensor(options[key], dtype=F).expand(images, -1)
    return options


@pytest.mark.parametrize("name", [*CASES, "pinhole"])
@pytest.mark.parametrize("packed", [False, True])
def test_gradients_are_those_of_differences(name, packed):
    size, moves = (6, 5), name == "rolling shutter"
    given = scenes.make(seed=3, count=5, cameras=2, degree=1)
    scale = torch.tensor([[0.25], [0.25], [1.0]], dtype=F)
    Ks = given["Ks"].detach() * scale
    options = {} if name == "pinhole" else lens_of(name, 2)
    if name == "f-theta":
        polynomial = tuple(0.2 * c for c in ANGLE_TO_PIXELS)
        options["ftheta_coeffs"] = ftheta(angle_to_pixeldist_poly=polynomial)
    # Where a lens is continued beyond the image follows from Ks, but is held in their gradient, so
    # that it is a difference's only through parallel rays here; splatcore-tensors tests the others.
    given["Ks"] = Ks.requires_grad_(name == "orthographic")
    if moves:
        options["viewmats_rs"] = given["viewmats"].detach().clone()
        options["viewmats_rs"][:, 0, 3] += 0.05
        given["viewmats"].requires_grad_(False)
    names = list(given)

    def draw(*parts):
        found = gsplat.rasterization(
            width=size[0],
            height=size[1],
            sh_degree=1,
            packed=packed,
            with_ut=True,
            render_mode="RGB+D",
            rasterize_mode="antialiased" if packed else "classic",
            **options,
            **dict(zip(names, parts)),
        )
        return found[:2]

    assert draw(*given.values())[0].detach().std() > 0.01
    assert gradcheck(draw, tuple(given.values()), fast_mode=False, atol=1e-5, rtol=1e-4)


def test_focal_lengths_beside_a_polynomial_have_no_gradient():
    given = scenes.make(count=9, cameras=2, degree=None)
    Ks = given.pop("Ks").detach()

    def draw(Ks):
        options = {**given, "Ks": Ks, **lens_of("f-theta", 2)}
        return gsplat.rasterization(width=28, height=22, with_ut=True, **options)[0]

    Ks.requires_grad_()
    image = draw(Ks)
    (v_Ks,) = torch.autograd.grad(image.square().sum(), Ks)
    with torch.no_grad():
        doubled = Ks * torch.tensor([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
        assert image.std() > 0.01 and torch.equal(draw(doubled), image)
    assert torch.count_nonzero(v_Ks[:, [0, 1], [0, 1]]) == 0
    assert (v_Ks[:, :2, 2] != 0).all()


def test_a_projection_has_the_shapes_of_gsplats():
    given = scenes.make(count=7, cameras=2, degree=None)
    parts = [given[key] for key in ("means", "quats", "scales", "opacities", "viewmats", "Ks")]
    options = lens_of("opencv", 2)
    found = gsplat.fully_fused_projection_with_ut(
        *parts, 28, 22, calc_compensations=True, **options
    )
    radii, *rest = found
    assert radii.shape == (2, 7, 2) and radii.dtype == torch.int32
    assert [part.shape for part in rest] == [(2, 7, 2), (2, 7), (2, 7, 3), (2, 7)]
    plain = gsplat.fully_fused_projection_with_ut(*parts, 28, 22)
    assert plain[4] is None and not torch.allclose(plain[1], found[1])
    # Batches, and a lens for each of their cameras.
    twice = [torch.stack([part, part]) for part in parts]
    lenses = {key: torch.stack([part, part]) for key, part in options.items()}
    again = gsplat.fully_fused_projection_with_ut(*twice, 28, 22, **lenses)
    torch.testing.assert_close(again[1][1], found[1])


def test_torch_compile_breaks_its_graph_once():
    given = {key: part.detach() for key, part in scenes.make(count=6, degree=None).items()}

    def draw(means):
        parts = {**given, "means": means}
        return gsplat.rasterization(width=8, height=6, with_ut=True, packed=False, **parts)[0]

    compiled = torch.compile(draw, backend="eager")
    torch.testing.assert_close(compiled(given["means"]), draw(given["means"]))


SHUTTER = gsplat.RollingShutterType.ROLLING_LEFT_TO_RIGHT
REFUSED = [
    ({"with_eval3d": True}, NotImplementedError, "with_eval3d=True .* pass with_eval3d=False"),
    ({"covars": torch.rand(12, 3, 3, dtype=F)}, ValueError, "covars must be None with with_ut"),
    ({"camera_model": "lidar"}, ValueError, "camera_model must be"),
    ({"radial_coeffs": torch.zeros(2, 4)}, ValueError, r"radial_coeffs .* \[2, 6\], found \[2, 4\]"),
    ({"radial_coeffs": [1.0]}, TypeError, "radial_coeffs must be a torch.Tensor"),
    (
        {"camera_model": "fisheye", "tangential_coeffs": torch.zeros(2, 2)},
        ValueError,
        'tangential_coeffs must be None with camera_model="fisheye"',
    ),
    (
        {"camera_model": "ortho", "thin_prism_coeffs": torch.zeros(2, 4)},
        ValueError,
        'thin_prism_coeffs must be None with camera_model="ortho"',
    ),
    ({"camera_model": "ftheta"}, ValueError, "ftheta_coeffs must be given"),
    ({"ftheta_coeffs": ftheta()}, ValueError, 'ftheta_coeffs must be None with camera_model="pin'),
    (
        {"camera_model": "ftheta", "ftheta_coeffs": ftheta(angle_to_pixeldist_poly=(5.0, 1.0))},
        ValueError,
        "constant term of 5, but needs none",
    ),
    (
        {"camera_model": "ftheta", "ftheta_coeffs": ftheta(linear_cde=(0.0, 0.0, 0.0))},
        ValueError,
        "linear_cde with an inverse",
    ),
    ({"rolling_shutter": SHUTTER}, ValueError, "viewmats_rs must be given"),
    ({"rolling_shutter": "left"}, TypeError, "rolling_shutter must be a RollingShutterType"),
    ({"viewmats_rs": torch.zeros(2, 4, 4)}, ValueError, "viewmats_rs must be None with a global"),
    (
        {"rolling_shutter": SHUTTER, "viewmats_rs": scenes.poses(2)[0]},
        ValueError,
        "must not require gradients with a rolling shutter",
    ),
    ({"viewmats": torch.zeros(2, 4, 4, dtype=F)}, ValueError, "camera 0: .*orthonormal"),
    (
        {
            "rolling_shutter": SHUTTER,
            "viewmats": scenes.poses(2)[0].detach(),
            "viewmats_rs": torch.zeros(2, 4, 4, dtype=F),
        },
        ValueError,
        "camera 0: viewmats_rs: .*orthonormal",
    ),
    ({"Ks": torch.zeros(2, 3, 3, dtype=F)}, ValueError, "camera 0: focal lengths 0 and 0"),
]


@pytest.mark.parametrize(("changes", "error", "words"), REFUSED)
def test_what_cannot_be_is_refused(changes, error, words):
    given = {**scenes.make(degree=None), **changes}
    with pytest.raises(error, match=words) as told:
        gsplat.rasterization(width=8, height=6, with_ut=True, **given)
    assert "\n" not in str(told.value)


def test_other_parameters_of_the_transform_are_refused():
    given = scenes.make(count=3, degree=None)
    parts = [given[key] for key in ("means", "quats", "scales", "opacities", "viewmats", "Ks")]
    own = gsplat.UnscentedTransformParameters()
    gsplat.fully_fused_projection_with_ut(*parts, 8, 6, ut_params=own)
    for name, value in {
        "alpha": 0.1,
        "beta": 0.0,
        "kappa": 1.0,
        "in_image_margin_factor": 0.2,
        "require_all_sigma_points_valid": False,
    }.items():
        other = gsplat.UnscentedTransformParameters(**{name: value})
        with pytest.raises(ValueError, match=f"ut_params .* {name} .*found {value}"):
            gsplat.fully_fused_projection_with_ut(*parts, 8, 6, ut_params=other)

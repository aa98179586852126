"""gsplat 1.5.3's own Python on ``splatcore.compat.csrc``."""

import importlib
from importlib.metadata import PackageNotFoundError, version

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import scenes  # noqa: E402
from scenes import HEIGHT, WIDTH  # noqa: E402

import splatcore  # noqa: E402
from splatcore.compat import csrc  # noqa: E402
from splatcore.compat import gsplat as ours  # noqa: E402

try:
    found = version("gsplat")
except PackageNotFoundError:
    found = "none"
pytestmark = pytest.mark.skipif(
    found != "1.5.3", reason=f"gsplat 1.5.3 is not installed, found {found}"
)


@pytest.fixture(scope="module")
def gsplat():
    with splatcore.install("gsplat.csrc"):
        yield importlib.import_module("gsplat")


CASES = {
    "dense": {"packed": False},
    "packed": {},
    "antialiased": {"rasterize_mode": "antialiased", "packed": False},
    "packed, antialiased": {"rasterize_mode": "antialiased"},
    "depths": {"render_mode": "RGB+ED"},
    "absolute": {"absgrad": True, "packed": False},
    "sparse": {"sparse_grad": True},
    "orthographic": {"camera_model": "ortho"},
    "fisheye": {"camera_model": "fisheye", "packed": False},
    "covariances": {"covars": True},
    "segmented": {"segmented": True, "packed": False},
}


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("name", CASES)
def test_it_draws_what_the_drop_in_draws(gsplat, name):
    options = dict(CASES[name])
    covars = options.pop("covars", False)
    # gsplat refuses backgrounds of packed splats.
    background = options.get("packed", True) is False
    given = scenes.make(covars=covars, background=background, dtype=torch.float32)
    options.update(sh_degree=2, width=WIDTH, height=HEIGHT)
    if covars:
        options.update(quats=None, scales=None)
    # gsplat's own Python lists all tiles of boxes.
    with ours.settings.changed(exact_tiles=False):
        wanted, alphas, right = ours.rasterization(**given, **options)
    image, found, meta = gsplat.rasterization(**given, **options)
    assert gsplat.rasterization is not ours.rasterization
    # Centres of cameras are rounded in other places.
    torch.testing.assert_close(image, wanted, rtol=1e-5, atol=1e-6)
    assert torch.equal(found, alphas)
    assert list(meta) == list(right)
    for key, value in right.items():
        same = (
            torch.equal(meta[key], value) if isinstance(value, torch.Tensor) else meta[key] == value
        )
        assert same, key
        if isinstance(value, torch.Tensor):
            assert meta[key].dtype == value.dtype, key
    weights = scenes.weights(image)
    # gsplat has no gradient of intrinsics.
    leaves = [part for key, part in given.items() if key != "Ks"]
    for part in (meta, right):
        part["means2d"].retain_grad()
    gradients = []
    for one in (image, wanted):
        for leaf in leaves:
            leaf.grad = None
        (one * weights).sum().backward()
        gradients.append([leaf.grad for leaf in leaves])
    for leaf, one, other in zip(given, *gradients):
        assert one.layout == other.layout, leaf
        one, other = (part.to_dense() if part.is_sparse else part for part in (one, other))
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6, msg=leaf)
    torch.testing.assert_close(meta["means2d"].grad, right["means2d"].grad)
    if options.get("absgrad"):
        torch.testing.assert_close(meta["means2d"].absgrad, right["means2d"].absgrad)


def test_install_has_the_drop_in_draw():
    given = scenes.make(dtype=torch.float32)
    given = {key: part for key, part in given.items() if key != "backgrounds"}
    options = {"sh_degree": 2, "width": WIDTH, "height": HEIGHT}
    with splatcore.install():
        gsplat = importlib.import_module("gsplat")
        image, _, meta = gsplat.rasterization(**given, **options)
        # Along rays neither draws: the words are those that say what to pass.
        with pytest.raises(NotImplementedError, match="pass with_eval3d=False"):
            gsplat.rasterization(**given, **options, with_ut=True, with_eval3d=True, packed=False)
    wanted, _, right = ours.rasterization(**given, **options)
    assert torch.equal(image, wanted)
    assert torch.equal(meta["flatten_ids"], right["flatten_ids"])


def parameters(count=80):
    given = scenes.make(count=count, degree=1, dtype=torch.float32)
    raw = {
        "means": given["means"].detach(),
        "quats": given["quats"].detach(),
        "scales": given["scales"].detach().clamp(max=0.4).log(),
        "opacities": given["opacities"].detach().clamp(max=0.99).logit(),
        "sh": given["colors"].detach(),
    }
    leaves = torch.nn.ParameterDict({key: torch.nn.Parameter(part) for key, part in raw.items()})
    cameras = (given["viewmats"].detach(), given["Ks"].detach())
    optimizers = {key: torch.optim.Adam([part], lr=1e-3) for key, part in leaves.items()}
    return leaves, optimizers, cameras


def draw(rasterization, leaves, cameras, packed, absgrad=False):
    return rasterization(
        leaves["means"],
        leaves["quats"],
        leaves["scales"].exp(),
        leaves["opacities"].sigmoid(),
        leaves["sh"],
        *cameras,
        WIDTH,
        HEIGHT,
        sh_degree=1,
        packed=packed,
        absgrad=absgrad,
    )


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("which", ["gsplat", "ours"])
def test_its_default_strategy_refines(gsplat, packed, which):
    leaves, optimizers, cameras = parameters()
    strategy = gsplat.DefaultStrategy(
        refine_start_iter=0, refine_every=2, grow_grad2d=1e-6, absgrad=True
    )
    strategy.check_sanity(leaves, optimizers)
    state = strategy.initialize_state(scene_scale=1.0)
    rasterization = gsplat.rasterization if which == "gsplat" else ours.rasterization
    for step in range(1, 6):
        image, _, info = draw(rasterization, leaves, cameras, packed, absgrad=True)
        strategy.step_pre_backward(leaves, optimizers, state, step, info)
        (image - 0.5).square().mean().backward()
        strategy.step_post_backward(leaves, optimizers, state, step, info, packed=packed)
        for optimizer in optimizers.values():
            optimizer.step()
            optimizer.zero_grad()
    assert len(leaves["means"]) > 100


def test_its_mcmc_strategy_refines(gsplat):
    leaves, optimizers, cameras = parameters()
    strategy = gsplat.MCMCStrategy(refine_start_iter=0, refine_every=2, cap_max=90)
    state = strategy.initialize_state()
    for step in range(1, 6):
        image, _, info = draw(gsplat.rasterization, leaves, cameras, True)
        (image - 0.5).square().mean().backward()
        strategy.step_post_backward(leaves, optimizers, state, step, info, lr=1e-3)
    assert 80 < len(leaves["means"]) <= 90
    assert all(part.isfinite().all() for part in leaves.values())


@pytest.mark.parametrize("model", ["pinhole", "ortho", "fisheye"])
def test_it_projects_from_camera_space(gsplat, model):
    random = torch.Generator().manual_seed(1)
    means, covars = torch.randn(2, 5, 12, generator=random).split([3, 9], -1)
    means = means + torch.tensor([0.0, 0.0, 4.0])
    given = (means.contiguous(), covars.unflatten(-1, (3, 3)).contiguous())
    found = []
    for proj in (importlib.import_module("gsplat.cuda._wrapper").proj, ours.proj):
        leaves = [part.clone().requires_grad_() for part in given]
        parts = proj(*leaves, scenes.poses(2)[1].float(), WIDTH, HEIGHT, model)
        loss = sum((part * scenes.weights(part)).sum() for part in parts)
        found.append((*parts, *torch.autograd.grad(loss, leaves)))
    for one, other in zip(*found):
        assert torch.equal(one, other)


def test_its_relocation_leaves_ratios_alone():
    ratios = torch.tensor([0, 2, 9], dtype=torch.int32)
    given = (torch.tensor([0.2, 0.5, 0.9]), torch.rand(3, 3))
    binoms = torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 2, 1]])
    found = csrc.relocation(*given, ratios, binoms, 3)
    assert ratios.tolist() == [0, 2, 9]
    wanted = ours.compute_relocation(*given, ratios, binoms)
    assert all(torch.equal(one, other) for one, other in zip(found, wanted))


def test_its_optimiser_moves_what_is_visible(gsplat):
    param = torch.nn.Parameter(torch.ones(4, 3))
    optimizer = gsplat.SelectiveAdam([param], eps=1e-8, betas=(0.9, 0.999))
    param.grad = torch.ones(4, 3)
    optimizer.step(torch.tensor([True, False, True, False]))
    assert param.detach()[1::2].eq(1).all() and param.detach()[::2].lt(1).all()


def test_what_csrc_lacks_says_so(gsplat):
    names = (
        "adam relocation intersect_tile intersect_offset quat_scale_to_covar_preci_fwd "
        "quat_scale_to_covar_preci_bwd projection_ewa_simple_fwd projection_ewa_simple_bwd "
        "projection_ewa_3dgs_fused_fwd projection_ewa_3dgs_fused_bwd "
        "projection_ewa_3dgs_packed_fwd projection_ewa_3dgs_packed_bwd "
        "rasterize_to_pixels_3dgs_fwd rasterize_to_pixels_3dgs_bwd "
        "rasterize_to_indices_3dgs spherical_harmonics_fwd spherical_harmonics_bwd CameraModelType"
    )
    assert all(hasattr(csrc, name) for name in names.split())
    assert csrc.CameraModelType.FISHEYE == csrc.FISHEYE == 2
    given = scenes.make(degree=None, dtype=torch.float32)
    arguments = [given[name] for name in ("means", "quats", "scales", "opacities", "colors")]
    with pytest.raises(NotImplementedError, match="projection_2dgs_packed_fwd"):
        gsplat.rasterization_2dgs(
            *arguments, given["viewmats"], given["Ks"], WIDTH, HEIGHT, packed=True
        )
    with pytest.raises(AttributeError, match="no attribute 'projection_ewa_4dgs'"):
        csrc.projection_ewa_4dgs

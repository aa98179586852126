"""The operators of torch and what ``torch.compile`` makes of the drop-ins."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import scenes  # noqa: E402
from scenes import HEIGHT, WIDTH  # noqa: E402

from splatcore.compat import _library, gsplat  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not _library.HAS_OPERATORS, reason="operators need torch 2.4"),
    # torch's own, of its tracing.
    pytest.mark.filterwarnings("ignore"),
]


def given(dtype=torch.float64):
    return scenes.make(count=8, degree=1, dtype=dtype)


@pytest.mark.parametrize("compensate", [False, True])
@pytest.mark.parametrize("covars", [False, True])
def test_operators_pass_opcheck(compensate, covars):
    parts = given()
    operators = torch.ops.splatcore
    shapes = (None, parts["quats"], parts["scales"])
    if covars:
        detached = (parts[name].detach() for name in ("quats", "scales"))
        triangles, _ = gsplat.quat_scale_to_covar_preci(*detached, triu=True)
        shapes = (triangles.requires_grad_(), None, None)
    sizes = (WIDTH, HEIGHT, 0.3, 0.01, 1e10, 0.0, "pinhole", "gsplat-1.5", compensate)
    views = (parts["viewmats"], parts["Ks"])
    projection = (parts["means"], *shapes, *views, parts["opacities"], *sizes)
    torch.library.opcheck(operators.project.default, projection)
    if covars or compensate:
        return
    splats = [part.detach().requires_grad_() for part in operators.project(*projection)[:3]]
    means2d, depths, conics = splats
    radii = operators.project(*projection)[4]
    viewed = (1, parts["means"], parts["viewmats"], parts["colors"], radii)
    torch.library.opcheck(operators.view_colors.default, viewed)
    colors = operators.view_colors(*viewed).detach().requires_grad_()
    opacities = parts["opacities"].detach().expand(depths.shape).contiguous().requires_grad_()
    drawing = (means2d, radii, depths.detach(), conics, colors, opacities, parts["backgrounds"])
    torch.library.opcheck(operators.draw.default, (*drawing, WIDTH, HEIGHT, 16, 0.999, True, False))


CASES = {
    "harmonics": {},
    "depth": {"render_mode": "RGB+ED"},
    "antialiased": {"rasterize_mode": "antialiased"},
}


def compare(options, **how):
    def loss(parts):
        image, alphas, _ = gsplat.rasterization(
            **parts, sh_degree=1, width=WIDTH, height=HEIGHT, **options
        )
        return (image**2).sum() + alphas.mean()

    results = []
    torch._dynamo.reset()
    for function in (loss, torch.compile(loss, **how)):
        parts = given()
        function(parts).backward()
        results.append([part.grad for part in parts.values()])
    for eager, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, eager)


@pytest.mark.parametrize("name", CASES)
def test_a_whole_graph_has_the_same_gradients(name):
    compare({"packed": False, **CASES[name]}, backend="aot_eager", fullgraph=True)


@pytest.mark.parametrize("options", [{"packed": True}, {"packed": False, "absgrad": True}])
def test_other_calls_break_the_graph_once_and_work(options):
    torch._dynamo.utils.counters.clear()
    compare(options, backend="aot_eager")
    assert len(torch._dynamo.utils.counters["graph_break"]) == 1


def test_other_calls_break_the_graph_and_work():
    def colours(dirs, coeffs):
        return gsplat.spherical_harmonics(1, dirs * 2, coeffs) + 1

    dirs, coeffs = torch.rand(4, 3), torch.rand(4, 4, 3, requires_grad=True)
    found = torch.compile(colours, backend="eager")(dirs, coeffs)
    torch.testing.assert_close(found, colours(dirs, coeffs))
    found.sum().backward()
    assert coeffs.grad.abs().sum() > 0


def test_a_refused_call_leaves_the_next_ones_alone():
    given = {key: part for key, part in scenes.make(dtype=torch.float32).items()}
    given.pop("backgrounds", None)

    def image(**named):
        return gsplat.rasterization(**named, width=16, height=12, sh_degree=2, packed=False)[0]

    compiled = torch.compile(image, backend="eager")
    wanted = compiled(**given)
    with pytest.raises(ValueError, match="opacities must have shape"):
        compiled(**{**given, "opacities": given["opacities"][:-1]})
    assert torch.equal(compiled(**given), wanted)

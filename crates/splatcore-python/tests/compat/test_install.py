"""``splatcore.install``: stand-ins under the names that programs import, and back."""

import importlib
import importlib.util
import pickle
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import splatcore  # noqa: E402
from splatcore.compat import fused_ssim, gsplat, inria, simple_knn  # noqa: E402


def loaded():
    tops = ("gsplat", "diff_gaussian_rasterization", "simple_knn", "fused_ssim")
    return {name: module for name, module in sys.modules.items() if name.split(".")[0] in tops}


def test_names_are_found_and_go(monkeypatch):
    monkeypatch.setattr("splatcore._install._gsplat_version", lambda: None)
    before = loaded()
    with splatcore.install("gsplat", "inria", "simple_knn", "fused_ssim"):
        from diff_gaussian_rasterization import GaussianRasterizationSettings, GaussianRasterizer
        from diff_gaussian_rasterization import SparseGaussianAdam
        from diff_gaussian_rasterization._C import mark_visible
        from fused_ssim import fused_ssim as ssim
        from gsplat import rasterization, rasterization_2dgs
        from gsplat.cuda._wrapper import isect_tiles, spherical_harmonics
        from gsplat.relocation import compute_relocation
        from gsplat.rendering import rasterization as same
        from simple_knn._C import distCUDA2

        with pytest.raises(ImportError):
            from diff_gaussian_rasterization._C import fusedssim  # noqa: F401
    assert rasterization is same is gsplat.rasterization
    assert spherical_harmonics is gsplat.spherical_harmonics and isect_tiles is gsplat.isect_tiles
    assert compute_relocation is gsplat.compute_relocation
    assert rasterization_2dgs is gsplat.rasterization_2dgs
    assert GaussianRasterizer is inria.GaussianRasterizer
    assert GaussianRasterizationSettings is inria.GaussianRasterizationSettings
    assert SparseGaussianAdam is inria.SparseGaussianAdam and mark_visible is inria.mark_visible
    assert distCUDA2 is simple_knn.distCUDA2 and ssim is fused_ssim.fused_ssim
    assert loaded() == before


def test_one_name_leaves_the_others():
    before = loaded()
    installation = splatcore.install("simple_knn")
    assert set(loaded()) - set(before) == {"simple_knn", "simple_knn._C"}
    installation.undo()
    installation.undo()
    assert loaded() == before


def test_what_was_imported_comes_back(tmp_path, monkeypatch):
    (tmp_path / "fused_ssim.py").write_text("mine = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    own = importlib.import_module("fused_ssim")
    assert own.mine
    with splatcore.install("fused_ssim"):
        assert not hasattr(importlib.import_module("fused_ssim"), "mine")
    assert importlib.import_module("fused_ssim") is own
    del sys.modules["fused_ssim"]


def write_gsplat(folder, version):
    """An installed gsplat, as far as its name, version and own modules go."""
    package = folder / "gsplat"
    for name in ("", "cuda", "strategy"):
        (package / name).mkdir(exist_ok=True)
        (package / name / "__init__.py").write_text("")
    package.joinpath("__init__.py").write_text("raise ImportError('the one that is replaced')\n")
    package.joinpath("strategy/__init__.py").write_text(
        "from gsplat import rasterization\nfrom ..cuda._wrapper import adam\n"
        "class DefaultStrategy:\n    uses = (rasterization, adam)\n"
    )
    info = folder / f"gsplat-{version}.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(
        f"Metadata-Version: 2.1\nName: gsplat\nVersion: {version}\n"
    )


def test_strategies_come_from_the_gsplat_that_is_there(tmp_path, monkeypatch):
    write_gsplat(tmp_path, "1.4.0")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    before = vars(gsplat.settings).copy()
    with splatcore.install("gsplat"):
        import gsplat as installed
        from gsplat.strategy import DefaultStrategy

        assert installed.__version__ == "1.4.0"
        assert installed.DefaultStrategy is DefaultStrategy
        assert DefaultStrategy.uses == (gsplat.rasterization, gsplat.adam)
        assert gsplat.settings.radius_rule == "three-sigma"
        assert not gsplat.settings.radii_per_axis
    assert vars(gsplat.settings) == before


@pytest.fixture
def own_gsplat(tmp_path, monkeypatch):
    """A gsplat 1.5.3 whose rasterization returns its arguments, not imported."""
    there = [name for name in sys.modules if name.split(".")[0] == "gsplat"]
    for name in there:
        monkeypatch.delitem(sys.modules, name)
    write_gsplat(tmp_path, "1.5.3")
    package = tmp_path / "gsplat"
    package.joinpath("__init__.py").write_text("from .rendering import rasterization\n")
    package.joinpath("rendering.py").write_text(
        "def rasterization(*arguments, **named):\n    return named\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield package
    for name in ("gsplat", "gsplat.rendering"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("is_imported", [False, True])
def test_gsplats_own_does_what_splatcore_does_not(own_gsplat, is_imported):
    own = importlib.import_module("gsplat").rasterization if is_imported else None
    before = loaded()
    with splatcore.install():
        import gsplat as installed
        from gsplat.csrc import projection_ewa_3dgs_fused_fwd  # noqa: F401
        from gsplat.rendering import rasterization

        assert installed.rasterization is rasterization
        assert installed.__file__ == str(own_gsplat / "__init__.py")
        given = {**dict.fromkeys(("means", "quats", "scales", "opacities", "colors")), "width": 8}
        given.update(viewmats=None, Ks=None, height=8)
        assert rasterization(**given, distributed=True)["distributed"]
        with pytest.raises(TypeError, match="means must be a torch.Tensor, found NoneType"):
            rasterization(**given)
    assert loaded() == before
    assert not is_imported or installed.rasterization is own


@pytest.mark.parametrize("is_imported", [False, True])
def test_installations_end_in_any_order(own_gsplat, is_imported):
    own = importlib.import_module("gsplat").rasterization if is_imported else None
    before = loaded()
    first, second = splatcore.install("gsplat.csrc"), splatcore.install("gsplat")
    second.undo()
    assert "gsplat.csrc" in sys.modules
    second = splatcore.install()
    first.undo()
    rasterization = importlib.import_module("gsplat").rasterization
    assert rasterization.__module__ == "splatcore.compat.gsplat._own"
    assert pickle.loads(pickle.dumps(rasterization)) is rasterization
    third = splatcore.install("gsplat.csrc")
    assert importlib.import_module("gsplat").rasterization.__module__ == "gsplat.rendering"
    second.undo()
    third.undo()
    third.undo()
    assert loaded() == before
    assert not is_imported or importlib.import_module("gsplat").rasterization is own


def test_csrc_needs_its_gsplat(tmp_path, monkeypatch):
    write_gsplat(tmp_path, "1.4.0")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    before = loaded()
    with pytest.raises(ImportError, match="below gsplat 1.5.3, found 1.4.0: .* pip install"):
        splatcore.install("inria", "gsplat.csrc")
    assert loaded() == before


def test_another_gsplat_is_refused(tmp_path, monkeypatch):
    write_gsplat(tmp_path, "0.1.13")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    with pytest.raises(ImportError, match="goes with gsplat 1.4 or 1.5, found 0.1.13: pip install"):
        splatcore.install("gsplat")


def test_wrong_names_are_refused():
    with pytest.raises(ValueError, match="names must be of gsplat, .* found 'nerfacc'"):
        splatcore.install("nerfacc")
    with pytest.raises(ValueError, match="one of 'gsplat' and 'gsplat.csrc', found both"):
        splatcore.install("gsplat", "gsplat.csrc")


def test_torch_is_imported_late():
    code = "import sys, splatcore; assert 'torch' not in sys.modules; splatcore.install('inria'); "
    code += "assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)

"""``splatcore.compat.simple_knn`` and ``fused_ssim``."""

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from splatcore.compat.fused_ssim import fused_ssim  # noqa: E402
from splatcore.compat.simple_knn import distCUDA2  # noqa: E402


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_distances_to_three_neighbours(dtype):
    points = torch.randn(300, 3, generator=torch.Generator().manual_seed(3)).to(dtype)
    points[7] = points[100]
    between = torch.cdist(points.double(), points.double()).square()
    between.fill_diagonal_(math.inf)
    wanted = between.sort(-1).values[:, :3].mean(-1).to(dtype)
    found = distCUDA2(points)
    assert found.dtype == dtype and found.shape == (300,)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-10)


def test_points_must_be_points():
    assert distCUDA2(torch.zeros(0, 3)).shape == (0,)
    with pytest.raises(ValueError, match=r"points .* \[..., n, 3\], found \[5, 2\]"):
        distCUDA2(torch.zeros(5, 2))
    with pytest.raises(ValueError, match=r"points must be finite, found nan at \[2, 1\]"):
        broken = torch.zeros(5, 3)
        broken[2, 1] = math.nan
        distCUDA2(broken)
    with pytest.raises(TypeError, match="points must be torch.float32"):
        distCUDA2(torch.zeros(5, 3, dtype=torch.int64))


def plain_ssim(img1, img2, padding):
    """Wang et al. 2004, by convolutions."""
    x = torch.arange(11, dtype=img1.dtype) - 5
    row = torch.exp(-(x**2) / (2 * 1.5**2))
    row = row / row.sum()
    channels = img1.shape[1]
    window = torch.outer(row, row).expand(channels, 1, 11, 11)

    def blur(image):
        around = 5 if padding == "same" else 0
        return torch.nn.functional.conv2d(image, window, padding=around, groups=channels)

    mean1, mean2 = blur(img1), blur(img2)
    square1, square2 = blur(img1 * img1) - mean1**2, blur(img2 * img2) - mean2**2
    both = blur(img1 * img2) - mean1 * mean2
    c1, c2 = 0.01**2, 0.03**2
    top = (2 * mean1 * mean2 + c1) * (2 * both + c2)
    return (top / ((mean1**2 + mean2**2 + c1) * (square1 + square2 + c2))).mean()


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("size", [(2, 3, 17, 23), (1, 1, 12, 11)])
def test_similarity_and_its_gradient(padding, size):
    random = torch.Generator().manual_seed(4)
    img1, img2 = torch.rand(2, *size, generator=random, dtype=torch.float64).unbind()
    img1 = (0.7 * img2 + 0.3 * img1).requires_grad_()
    found, wanted = fused_ssim(img1, img2, padding), plain_ssim(img1, img2, padding)
    torch.testing.assert_close(found, wanted)
    one, other = (torch.autograd.grad(loss, img1)[0] for loss in (found, wanted))
    torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-12)
    single = fused_ssim(img1.detach().float(), img2.float(), padding, train=False)
    torch.testing.assert_close(single, wanted.detach().float())


def test_images_must_fit():
    image = torch.rand(1, 3, 16, 16)
    with pytest.raises(ValueError, match=r"img2 .* \[1, 3, 16, 16\], found \[1, 3, 16, 8\]"):
        fused_ssim(image, image[..., :8])
    with pytest.raises(ValueError, match="padding must be one of 'same', 'valid', found 'full'"):
        fused_ssim(image, image, padding="full")
    with pytest.raises(ValueError, match=r"img1 must have 11x11 pixels or more, found \[10, 16\]"):
        fused_ssim(image[..., :10, :], image[..., :10, :], padding="valid")
    with pytest.raises(ValueError, match="img2 requires a gradient, and has none"):
        fused_ssim(image, image.clone().requires_grad_())
    with pytest.raises(RuntimeError, match="train=False keeps nothing"):
        fused_ssim(image.requires_grad_(), image.detach(), train=False).backward()

"""Metrics, against their formulas."""

import numpy as np
import pytest

from splatcore import metrics


@pytest.fixture
def images():
    rng = np.random.default_rng(4)
    photo = rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)
    noise = rng.uniform(-0.2, 0.2, photo.shape)
    return (photo / 255 + noise).astype(np.float32), photo


def ssim_of(a: np.ndarray, b: np.ndarray) -> float:
    """Wang et al. 2004 with a window of 11 and sigma 1.5, zeros beyond the edges."""
    window = np.exp(-((np.arange(11) - 5.0) ** 2) / (2 * 1.5**2))
    window /= window.sum()

    def blur(x):
        for axis in (0, 1):
            x = np.apply_along_axis(np.convolve, axis, x, window, mode="same")
        return x

    mean_a, mean_b = blur(a), blur(b)
    cov = blur(a * b) - mean_a * mean_b
    var = blur(a * a) - mean_a**2 + blur(b * b) - mean_b**2
    c1, c2 = 0.01**2, 0.03**2
    top = (2 * mean_a * mean_b + c1) * (2 * cov + c2)
    return float((top / ((mean_a**2 + mean_b**2 + c1) * (var + c2))).mean())


def test_psnr_and_ssim_are_their_formulas(images):
    image, photo = images
    a, b = image.clip(0, 1).astype(float), photo / 255
    psnr = -10 * np.log10(((a - b) ** 2).mean())
    assert metrics.psnr(image, photo) == pytest.approx(psnr, abs=1e-4)
    assert metrics.psnr(image, b.astype(np.float32)) == pytest.approx(psnr, abs=1e-4)
    assert metrics.ssim(image, photo) == pytest.approx(ssim_of(a, b), abs=1e-4)
    assert metrics.ssim(image, b.astype(np.float32)) == pytest.approx(ssim_of(a, b), abs=1e-4)


def test_equal_images(images):
    same = (images[1] / 255).astype(np.float32)
    assert metrics.psnr(same, same) == np.inf
    assert metrics.ssim(same, images[1]) == pytest.approx(1)


def test_a_mask_leaves_pixels_out(images):
    image, photo = images
    mask = np.zeros((20, 30), bool)
    mask[:, 7:] = True
    psnr = metrics.psnr(np.ascontiguousarray(image[:, 7:]), photo[:, 7:])
    assert metrics.psnr(image, photo, mask) == pytest.approx(psnr, abs=1e-9)
    assert metrics.psnr(image, photo, mask.astype(np.uint8)) == pytest.approx(psnr, abs=1e-9)


def test_what_cannot_be_compared_is_refused(images):
    image, photo = images
    with pytest.raises(ValueError, match=r"photo must have the image's shape \[20, 30\].*\[19, 30\]"):
        metrics.psnr(image, photo[1:])
    with pytest.raises(TypeError, match="image must be float32, found uint8"):
        metrics.psnr(photo, photo)
    with pytest.raises(TypeError, match="photo must be float32, found float64"):
        metrics.ssim(image, photo / 255)
    with pytest.raises(ValueError, match=r"mask.*\[20, 30\].*\[30, 20\]"):
        metrics.psnr(image, photo, np.ones((30, 20), bool))
    with pytest.raises(ValueError, match="mask needs a photo of uint8"):
        metrics.psnr(image, image, np.ones((20, 30), bool))


@pytest.mark.parametrize("measure", [metrics.psnr, metrics.ssim])
def test_nothing_to_compare_is_refused(measure):
    image, photo = np.zeros((8, 9, 3), np.float32), np.zeros((8, 9, 3), np.uint8)
    for mask in [np.zeros((8, 9), bool), np.zeros((8, 9), np.uint8)]:
        with pytest.raises(ValueError, match="mask must leave pixels"):
            measure(image, photo, mask)
    for other in [image, photo]:
        with pytest.raises(ValueError, match=r"image must have pixels, found shape \[0, 9, 3\]"):
            measure(image[:0], other[:0])

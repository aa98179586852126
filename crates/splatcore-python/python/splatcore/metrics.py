"""How close an image comes to another."""

from ._splatcore import psnr, ssim

__all__ = ["psnr", "ssim"]

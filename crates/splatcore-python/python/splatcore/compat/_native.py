"""The native functions, called on the tensors' own device and stream."""

from __future__ import annotations

from typing import Any

import torch

from .._splatcore import tensors as _tensors


def call(name: str, device: torch.device, *arguments: Any) -> None:
    """Calls ``splatcore._splatcore.tensors.name``, which writes its results into arguments."""
    function = getattr(_tensors, name)
    plain = [a.detach() if isinstance(a, torch.Tensor) else a for a in arguments]
    if device.type == "cuda":
        with torch.cuda.device(device):
            function(*plain, stream=torch.cuda.current_stream(device).cuda_stream)
    else:
        function(*plain)

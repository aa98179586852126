//! Whether there is an NVIDIA card.

use crate::child::{self, Call};
use std::path::Path;
use std::time::Duration;

/// Name of the first card, as the driver's own program tells it.
pub fn card() -> Option<String> {
    let program = child::on_path("nvidia-smi").unwrap_or_else(|| {
        // Where the driver for Linux under Windows has it.
        Path::new("/usr/lib/wsl/lib/nvidia-smi").to_path_buf()
    });
    let call = Call::new(&program).args(["--query-gpu=name", "--format=csv,noheader"]);
    let (status, text) = child::output(&call, Duration::from_secs(20)).ok()?;
    let name = text.lines().next()?.trim();
    (status.success() && !name.is_empty()).then(|| name.to_owned())
}

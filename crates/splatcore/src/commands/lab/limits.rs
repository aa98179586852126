//! `--device-seconds` and `--wall-seconds` of one run.

use super::new::seconds;
use splatcore_lab::experiment::Budget;

/// After which times a run ends.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct LimitArgs {
    /// End this run after so many seconds of the device; the next one goes on
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY)]
    #[arg(value_parser = seconds, hide_default_value = true)]
    device_seconds: f64,
    /// End this run after so many seconds of the clock; the next one goes on
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY)]
    #[arg(value_parser = seconds, hide_default_value = true)]
    wall_seconds: f64,
}

impl LimitArgs {
    /// The budget of a run of at most so many candidates.
    pub fn budget(self, candidates: u64) -> Budget {
        Budget {
            candidates,
            device_seconds: self.device_seconds,
            wall_seconds: self.wall_seconds,
        }
    }
}

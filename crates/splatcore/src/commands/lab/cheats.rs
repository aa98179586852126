//! `splatcore lab cheats`: the gates are tried with planted changes.

use super::device::DeviceArgs;
use super::toolbox::Build;
use anyhow::{Error, Result, bail};
use splatcore_lab::cheats;
use splatcore_lab::worker::Limits;
use std::time::Duration;

/// Show that planted wrong changes are stopped, each by the gate that it names, and that honest
/// changes pass. On the emulator it takes some minutes.
#[derive(clap::Args)]
pub struct Args {
    /// Only those whose names hold this
    only: Option<String>,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let build = Build::new(&args.device)?;
    let mut chosen = cheats::all().map_err(Error::msg)?;
    if let Some(only) = &args.only {
        chosen.retain(|cheat| cheat.name.contains(only.as_str()));
    }
    if chosen.is_empty() {
        bail!("no planted change has that in its name");
    }
    let (mut wrong, mut tried) = (0, 0);
    // One of them never ends: a shorter wait than usual is enough for small images.
    let limits = Limits {
        answer: Duration::from_secs(60),
        ..build.limits()
    };
    cheats::try_all(&chosen, &build, limits, &mut |cheat, came| {
        tried += 1;
        wrong += usize::from(!came.as_named);
        let wanted = cheat.gate.map_or("passes".into(), |gate| gate.to_string());
        let verdict = if came.as_named { "ok    " } else { "WRONG " };
        let stopped = match &came.stopped {
            Some(rejection) => rejection.to_string(),
            None => "passed".into(),
        };
        println!("{verdict} {:<22} {wanted:<11} {stopped}", cheat.name);
    })?;
    match wrong {
        0 => println!("{tried} of {tried} as planted"),
        _ => bail!("{wrong} of {tried} not as planted"),
    }
    Ok(())
}

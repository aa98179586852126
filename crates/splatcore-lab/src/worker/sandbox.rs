//! What a worker may do. On an emulator a candidate is compiled for this processor and runs in the
//! worker, so the worker gives up what it does not need before it loads any candidate.

use std::path::Path;

/// What confines a worker, for the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confined {
    /// In words.
    pub about: String,
    /// Whether files outside its folder are out of its reach for writing. Candidates that run on
    /// this processor are refused where they are not.
    pub enforced: bool,
}

/// Confines this process and all that it starts, for good: it may write in `writable` and to the
/// devices of an NVIDIA card, read what programs and compilers need and the files in `readable`,
/// and open no connection. Memory is limited to `memory` bytes if given, files to a gigabyte, core
/// files to none. The process ends when its parent does.
///
/// # Errors
/// If a limit that this system has was refused.
#[cfg(target_os = "linux")]
pub fn confine(
    writable: &[&Path],
    readable: &[&Path],
    memory: Option<u64>,
) -> Result<Confined, String> {
    limits(memory)?;
    files(writable, readable)
}

/// As on Linux, but this system has nothing to confine a process with.
///
/// # Errors
/// Never.
#[cfg(not(target_os = "linux"))]
pub fn confine(_: &[&Path], _: &[&Path], _: Option<u64>) -> Result<Confined, String> {
    Ok(Confined {
        about: "nothing: this system has no landlock".into(),
        enforced: false,
    })
}

/// Whether this system has landlock, without which changed kernels are refused on the emulator.
#[cfg(target_os = "linux")]
pub fn has_landlock() -> bool {
    use landlock::{ABI, AccessFs, Ruleset, RulesetAttr, RulesetStatus};
    // What restricts itself is a thread that ends with this.
    let asked = std::thread::spawn(|| {
        let rules = Ruleset::default().handle_access(AccessFs::from_write(ABI::V1));
        let status = rules
            .and_then(Ruleset::create)
            .and_then(|rules| rules.restrict_self());
        status.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
    });
    asked.join().unwrap_or(false)
}

/// Whether this system has landlock: it has not.
#[cfg(not(target_os = "linux"))]
pub fn has_landlock() -> bool {
    false
}

#[cfg(target_os = "linux")]
fn limits(memory: Option<u64>) -> Result<(), String> {
    use rustix::process::{Resource, Rlimit, Signal};
    const MAX_FILE: u64 = 1 << 30;
    let limit = |resource, most: u64| {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        rustix::process::setrlimit(resource, limit).map_err(|error| format!("setrlimit: {error}"))
    };
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, MAX_FILE)?;
    if let Some(memory) = memory {
        limit(Resource::As, memory)?;
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("prctl: {error}"))
}

/// Folders that compilers, the loader and a card's driver read.
#[cfg(target_os = "linux")]
const SYSTEM: [&str; 9] = [
    "/usr", "/lib", "/lib64", "/bin", "/etc", "/opt", "/proc", "/sys", "/dev",
];

/// Devices that programs and a card's driver write.
#[cfg(target_os = "linux")]
const DEVICES: [&str; 2] = ["/dev", "/proc/self"];

#[cfg(target_os = "linux")]
fn files(writable: &[&Path], readable: &[&Path]) -> Result<Confined, String> {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
        RulesetCreatedAttr, RulesetStatus, path_beneath_rules,
    };
    // The newest that the rules below use; older kernels enforce what they know.
    let abi = ABI::V5;
    let said = |error: landlock::RulesetError| format!("landlock: {error}");
    let existing = |paths: &[&'static str]| -> Vec<&'static str> {
        let there = paths.iter().filter(|path| Path::new(path).exists());
        there.copied().collect()
    };
    // NVIDIA's driver opens a file of /proc/self to write it anew, and does not start where it must
    // not truncate it.
    let write_devices = AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::IoctlDev;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        .and_then(Ruleset::create)
        .and_then(|rules| {
            rules.add_rules(path_beneath_rules(
                existing(&SYSTEM),
                AccessFs::from_read(abi),
            ))
        })
        .and_then(|rules| rules.add_rules(path_beneath_rules(readable, AccessFs::from_read(abi))))
        .and_then(|rules| rules.add_rules(path_beneath_rules(existing(&DEVICES), write_devices)))
        .and_then(|rules| rules.add_rules(path_beneath_rules(writable, AccessFs::from_all(abi))))
        .and_then(|rules| rules.restrict_self())
        .map_err(said)?;
    let (about, enforced) = match status.ruleset {
        RulesetStatus::FullyEnforced => ("landlock and limits of memory and files", true),
        RulesetStatus::PartiallyEnforced => (
            "landlock as far as this kernel has it, limits of memory and files",
            true,
        ),
        RulesetStatus::NotEnforced => (
            "limits of memory and files; this kernel has no landlock",
            false,
        ),
    };
    Ok(Confined {
        about: about.into(),
        enforced,
    })
}

//! Will it fit: what a run keeps in memory, printed before it starts.

use crate::config::ResolvedConfig;
use crate::schedule::Schedule;
use splatcore_core::View;
use splatcore_core::backend::{Backend, MemoryPlan};
use splatcore_core::columns::{Column, Rule};
use std::fmt;
use std::str::FromStr;

/// What a run is expected to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Gaussians at the start.
    pub initial: usize,
    /// Gaussians expected in the end; for `adc` without a limit a rough guess, see
    /// [`expected_gaussians`].
    pub expected: usize,
    /// Whether `expected` is a limit rather than a guess.
    pub limited: bool,
    /// The learner's share at `expected`.
    pub plan: MemoryPlan,
    /// Photos and masks that are held, bytes.
    pub photos: u64,
    /// A checkpoint's copy of parameters and moments, bytes; 0 if it is made in other memory than
    /// the backend's.
    pub copy: u64,
    /// Free memory of the machine, bytes, if known and if it is what the backend uses.
    pub available: Option<u64>,
}

/// How many Gaussians a run on these photos ends with: what its growth leads to
/// ([`Schedule::gaussians_in_the_end`]), or where the photos alone decide the limit or, if that is
/// less, a guess: four times the starting points, at least 100,000 (typical of photo sets; glossy
/// or leafy scenes grow further).
pub fn expected_gaussians<'a>(
    config: &ResolvedConfig,
    initial: usize,
    train: impl IntoIterator<Item = &'a View>,
) -> usize {
    let most = config.scene.most_gaussians();
    if config.densify.until == 0 {
        return initial.min(most);
    }
    if config.strategy.follows_gradients() && !config.grows_by_budget() {
        return initial.saturating_mul(4).max(100_000).min(most);
    }
    let schedule = Schedule::new(config, 1.0).with_photos(train, 1);
    schedule.gaussians_in_the_end(0, initial)
}

/// Plans a run. The photos to train on and those held out are held at once.
pub fn plan(
    config: &ResolvedConfig,
    backend: &dyn Backend,
    initial: usize,
    [train, held_out]: [&[View]; 2],
) -> Memory {
    let expected = expected_gaussians(config, initial, train);
    let views = train.iter().chain(held_out);
    let largest = views
        .clone()
        .map(|view| [view.camera.width, view.camera.height])
        .max_by_key(|[width, height]| *width as u64 * *height as u64)
        .unwrap_or([1, 1]);
    let on_host = backend.name() == "cpu";
    let mut plan = backend.memory_plan(expected, config.scene.sh_degree, largest);
    if config.batch.views > 1 {
        // The gradients that the photos of a step add up have the parameters' shape.
        plan.working = plan.working.saturating_add(plan.parameters);
    }
    let kept = |&column: &Column| config.columns.computes(column) || config.columns.learns(column);
    for entry in Column::ALL.into_iter().filter(kept).map(Column::entry) {
        for (_, rule) in entry.arrays {
            let part = match rule {
                Rule::Copied => &mut plan.parameters,
                Rule::Zeroed => &mut plan.moments,
            };
            *part = part.saturating_add((expected * entry.row_bytes()) as u64);
        }
    }
    Memory {
        initial,
        expected,
        limited: config.scene.max_gaussians.is_some() || config.grows_by_budget(),
        copy: if on_host {
            plan.parameters.saturating_add(plan.moments)
        } else {
            0
        },
        plan,
        photos: views
            .filter(|view| view.photo.elsewhere.is_none())
            .map(|view| view.photo.bytes() as u64)
            .sum(),
        available: if on_host { available() } else { None },
    }
}

impl Memory {
    /// The most that is held at once: everything, and while a checkpoint is saved a copy of
    /// parameters and moments.
    pub fn peak(&self) -> u64 {
        let MemoryPlan {
            parameters,
            moments,
            working,
            host: _,
        } = self.plan;
        [parameters, moments, working, self.photos, self.copy]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// One line if the peak exceeds the memory at hand. Fewer Gaussians, smaller photos and a lower
    /// degree of harmonics take less.
    pub fn warning(&self) -> Option<String> {
        let available = self
            .available
            .filter(|&available| self.peak() > available)?;
        Some(format!(
            "this run may need {} but {} are free",
            Bytes(self.peak()),
            Bytes(available)
        ))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.limited { "at most" } else { "perhaps" };
        let MemoryPlan {
            parameters,
            moments,
            working,
            host,
        } = self.plan;
        write!(
            f,
            "memory: {} Gaussians at first, {kind} {} later: parameters {}, moments {}, working \
             {}, photos {}; peak about {}",
            self.initial,
            self.expected,
            Bytes(parameters),
            Bytes(moments),
            Bytes(working),
            Bytes(self.photos),
            Bytes(self.peak())
        )?;
        if host > 0 {
            write!(
                f,
                ", {} of it in the computer's memory, as the card's is short",
                Bytes(host)
            )?;
        }
        match self.available {
            Some(available) => write!(f, " of {} free", Bytes(available)),
            None => Ok(()),
        }
    }
}

/// Bytes for people: `512 B`, `3.4 MiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        let mut unit = "B";
        for next in ["KiB", "MiB", "GiB", "TiB"] {
            if value < 1024.0 {
                break;
            }
            (value, unit) = (value / 1024.0, next);
        }
        let digits = usize::from(unit != "B" && value < 100.0);
        write!(f, "{value:.digits$} {unit}")
    }
}

impl Bytes {
    /// As [`Bytes::from_str`] takes it, to a KiB.
    pub fn typed(self) -> String {
        let units = [(40, 'T'), (30, 'G'), (20, 'M')];
        let whole = |(power, _): &(u32, char)| self.0 > 0 && self.0.trailing_zeros() >= *power;
        let (power, unit) = units.into_iter().find(whole).unwrap_or((10, 'K'));
        format!("{}{unit}", self.0 >> power)
    }
}

impl FromStr for Bytes {
    type Err = String;

    /// `512M`, `16G`, `1.5GiB`: a number, and K, M, G or T for powers of 1024.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a size; write 16G or 800M");
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
        let unit = unit.trim_start();
        let power = match unit.trim_end_matches("iB").trim_end_matches('B') {
            "K" => 1,
            "M" => 2,
            "G" => 3,
            "T" => 4,
            _ => return Err(wrong()),
        };
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let bytes = number * 1024f64.powi(power);
        match bytes >= 1.0 && bytes < 2f64.powi(63) {
            true => Ok(Self(bytes as u64)),
            false => Err(wrong()),
        }
    }
}

/// Memory that the system would give without swapping, in bytes; `None` where it does not say
/// (Linux does).
pub fn available() -> Option<u64> {
    line_of(
        &std::fs::read_to_string("/proc/meminfo").ok()?,
        "MemAvailable:",
    )
}

/// The most memory that this process had at a time so far, in bytes; `None` where the system does
/// not say (Linux does).
pub fn peak() -> Option<u64> {
    line_of(
        &std::fs::read_to_string("/proc/self/status").ok()?,
        "VmHWM:",
    )
}

/// A number of kilobytes among lines of Linux's, in bytes.
fn line_of(lines: &str, name: &str) -> Option<u64> {
    let line = lines.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::config::Strategy;

    #[test]
    fn meminfo_is_read_and_nonsense_is_not() {
        let text = "MemTotal:       24 kB\nMemAvailable:   23 kB\n";
        let available = |text| line_of(text, "MemAvailable:");
        assert_eq!(available(text), Some(23 * 1024));
        assert_eq!(available("MemAvailable: lots"), None);
        assert_eq!(available(""), None);
        assert_eq!(line_of("VmHWM:\t    5 kB\n", "VmHWM:"), Some(5 * 1024));
        #[cfg(target_os = "linux")]
        assert!(peak().is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn sizes_are_typed_with_units() {
        let bytes = |text: &str| text.parse::<Bytes>().map(|bytes| bytes.0);
        for (text, want) in [
            ("16G", 16 << 30),
            ("1.5GiB", 3 << 29),
            ("800 MB", 800 << 20),
            ("2T", 2 << 40),
            ("1K", 1024),
        ] {
            assert_eq!(bytes(text), Ok(want), "{text}");
            assert_eq!(bytes(&Bytes(want).typed()), Ok(want), "{text}");
        }
        for text in [
            "",
            "16",
            "G",
            "0G",
            "-1G",
            "16X",
            "1e9G",
            "1.2.3G",
            "9999999999T",
        ] {
            assert!(bytes(text).unwrap_err().contains("is not a size"), "{text}");
        }
    }

    #[test]
    fn what_lies_elsewhere_is_told() {
        let mut memory = Memory {
            initial: 10,
            expected: 10,
            limited: true,
            plan: MemoryPlan {
                parameters: 2048,
                ..MemoryPlan::default()
            },
            photos: 0,
            copy: 0,
            available: None,
        };
        assert!(
            memory.to_string().ends_with("peak about 2.0 KiB"),
            "{memory}"
        );
        memory.plan.host = 1024;
        assert!(
            memory.to_string().contains("2.0 KiB, 1.0 KiB of it in the"),
            "{memory}"
        );
    }

    #[test]
    fn a_run_that_does_not_fit_is_warned_of() {
        let mut memory = Memory {
            initial: 10,
            expected: 1000,
            limited: false,
            plan: MemoryPlan {
                parameters: 100,
                moments: 200,
                working: 1000,
                host: 0,
            },
            photos: 7,
            copy: 300,
            available: Some(1607),
        };
        assert_eq!(memory.peak(), 1607);
        assert_eq!(memory.warning(), None);
        memory.available = Some(1606);
        assert!(memory.warning().unwrap().contains("1.6 KiB are free"));
        assert!(
            memory.to_string().contains("peak about 1.6 KiB"),
            "{memory}"
        );
    }

    #[test]
    fn expectations_follow_the_strategy() {
        let adc = Config {
            strategy: Some(Strategy::Adc),
            ..Config::UNSET
        };
        let none: [View; 0] = [];
        let expected =
            |config: &ResolvedConfig, initial| expected_gaussians(config, initial, &none);
        assert_eq!(expected(&adc.complete(), 50_000), 200_000);
        let fixed = Config {
            densify_until: Some(0),
            ..Config::UNSET
        }
        .complete();
        assert_eq!(expected(&fixed, 50_000), 50_000);
        let mcmc = Config {
            strategy: Some(Strategy::Mcmc),
            ..Config::UNSET
        }
        .complete();
        assert_eq!(expected(&mcmc, 50_000), 1_000_000);
        // 8 rounds after steps 100 to 800.
        let slow = Config {
            iterations: Some(1000),
            strategy: Some(Strategy::Mcmc),
            growth: Some(0.5),
            densify_every: Some(100),
            ..Config::UNSET
        }
        .complete();
        assert_eq!(expected(&slow, 4096), 4096 * 3usize.pow(8) / 256);
    }
}

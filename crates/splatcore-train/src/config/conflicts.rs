//! Settings that go ill together: those that contradict each other, and flags that would have no
//! effect beside the others.
//!
//! A contradiction is refused wherever it comes from. A setting without effect is refused when it
//! was typed with another value than the default's: a config file names every setting, those too
//! that its strategy does not look at.

use super::{
    Background, ConfigError, DensifyGrowth, DensifyStatistic, Depths, Idle, ResolutionSchedule,
    ResolvedConfig, Setting, Strategy,
};
use splatcore_core::colour::{ColourModel, Rates};

const ADC: Setting = Setting::new("strategy", "adc");
const SPLATCORE: Setting = Setting::new("strategy", "splatcore");
const MCMC: Setting = Setting::new("strategy", "mcmc");
const THRESHOLD: Setting = Setting::new("densify-growth", "threshold");
const NO_HALVING: Setting = Setting::new("opacity-halving-every", "0");
const COARSE: Setting = Setting::new("resolution-schedule", "coarse-to-fine");
const FULL: Setting = Setting::new("resolution-schedule", "full");
const BATCH: Setting = Setting::on("batch");
const AFFINE: Setting = Setting::new("appearance", "affine");
const APPEARANCE: Setting = Setting::new("appearance", "ppisp-linear");
const DEPTHS: Setting = Setting::new("depths", "auto");
const NORMALS: Setting = Setting::new("normals", "auto");
const SKY: Setting = Setting::on("sky");
const SKY_MASKS: Setting = Setting::on("sky-masks");
const REFINE_POSES: Setting = Setting::on("refine-poses");
const READOUT_TIME: Setting = Setting::on("readout-time");
const REFINE_INTRINSICS: Setting = Setting::on("refine-intrinsics");
const PRUNE_FLOATERS: Setting = Setting::on("prune-floaters");

impl ResolvedConfig {
    /// Refuses what contradicts: each setting alone is sound.
    pub(super) fn check_together(&self) -> Result<(), ConfigError> {
        let refuse = |key, value: &dyn ToString, problem: &'static str, instead| {
            Err(ConfigError::Value {
                key,
                value: value.to_string(),
                problem: problem.into(),
                instead,
            })
        };
        let pipeline = self.compute.pipeline;
        pipeline
            .check_training()
            .map_err(|problem| ConfigError::Value {
                key: "pipeline",
                value: pipeline.to_string(),
                problem: problem.into(),
                instead: None,
            })?;
        let mcmc = self.strategy == Strategy::Mcmc;
        if mcmc && self.densify.statistic != DensifyStatistic::Mean {
            let problem = "mcmc grows without gradients; leave it at mean";
            return refuse("densify-statistic", &"absolute", problem, Some(ADC));
        }
        if let (true, Some((key, weight, problem))) = (mcmc, self.columns.not_with_mcmc()) {
            return refuse(key, &weight, problem, Some(ADC));
        }
        if let (Some(target), Some(_)) = (self.quality_target, self.poses.motion) {
            let problem = "judges held-out photos while the run learns, and the motion of their \
                           cameras (refine-motion) is found at its end only; give iterations or a \
                           budget";
            return refuse("quality-target", &target, problem, None);
        }
        let data = &self.data;
        if self.sky.learn && data.background != Background::Black {
            let problem = "would come on top of the sky that is learned; leave it at black";
            return refuse("background", &data.background, problem, None);
        }
        let coarse = data.resolution == ResolutionSchedule::CoarseToFine;
        if coarse && data.coarse_until > self.iterations {
            let problem = "is after the last step (iterations), so that photos would never have \
                           their full size; leave it out to let it follow";
            return refuse("coarse-until", &data.coarse_until, problem, Some(FULL));
        }
        Ok(())
    }

    /// Why a setting has no effect beside the others, if so.
    pub(super) fn idle(&self, key: &str) -> Option<Idle> {
        let by_gradients = self.strategy.follows_gradients();
        let coarse = self.data.resolution == ResolutionSchedule::CoarseToFine;
        let budget = self.densify.growing == DensifyGrowth::Budget;
        let halves = self.densify.opacity_halving_every.is_some();
        let (used, reason) = match key {
            "densify-gradient" if by_gradients => (!budget, Idle::Only(&[THRESHOLD])),
            "opacity-reset-every" | "opacity-reset-to" if by_gradients => {
                (!halves, Idle::Only(&[NO_HALVING]))
            }
            "densify-gradient"
            | "densify-growth"
            | "split-scale"
            | "prune-scale"
            | "opacity-reset-every"
            | "opacity-reset-to"
            | "opacity-halving-every" => (by_gradients, Idle::Only(&[SPLATCORE, ADC])),
            "densify-from" => (
                self.densify.until == 0 || self.densify.from <= self.densify.until,
                Idle::Ended(Setting::on("densify-until")),
            ),
            "noise-rate" | "growth" => (!by_gradients, Idle::Only(&[MCMC])),
            "prune-every" => (self.prune.floaters.is_some(), Idle::Only(&[PRUNE_FLOATERS])),
            "batch-scaling" => (self.batch.views > 1, Idle::Only(&[BATCH])),
            "readout-direction" => (
                self.data.readout_time.is_some(),
                Idle::Only(&[READOUT_TIME]),
            ),
            "coarse-until" => (coarse, Idle::Only(&[COARSE])),
            "pose-travel" | "pose-degrees" | "pose-shift" => {
                (self.poses.refine, Idle::Only(&[REFINE_POSES]))
            }
            "depth-kind" | "depth-unit" | "depth-loss" | "depth-weight" => {
                (self.depth.from != Depths::None, Idle::Only(&[DEPTHS]))
            }
            "normal-frame" | "normal-weight" => {
                let normals = &self.depth.normals.from;
                (*normals != Depths::None, Idle::Only(&[NORMALS]))
            }
            "sky-masks" | "lr-sky" => (self.sky.learn, Idle::Only(&[SKY])),
            "sky-weight" => (self.sky.masks.is_some(), Idle::Only(&[SKY_MASKS])),
            "intrinsics-limit" => (self.intrinsics.refine, Idle::Only(&[REFINE_INTRINSICS])),
            "exif-exposure" => (self.loss.colour.is_some(), Idle::Only(&[APPEARANCE])),
            "lr-exposure" | "lr-exposure-final" => {
                let given = |model: ColourModel| model.entry().rates == Rates::Given;
                (self.loss.colour.is_some_and(given), Idle::Only(&[AFFINE]))
            }
            "lr-sh-rest" | "sh-every" => (
                self.scene.sh_degree > 0,
                Idle::NoHarmonics(Setting::new("sh-degree", "0")),
            ),
            _ => return self.columns.idle(key),
        };
        (!used).then_some(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Flags, Preset};
    use clap::{Args, FromArgMatches};
    use std::path::Path;

    fn layered(file: Option<&Path>, line: &str) -> Result<ResolvedConfig, String> {
        let command = Flags::augment_args(clap::Command::new("train").no_binary_name(true));
        let matches = command.get_matches_from(line.split_whitespace());
        let Flags(typed) = Flags::from_arg_matches(&matches).unwrap();
        ResolvedConfig::from_layers(file, &typed).map_err(|error| error.to_string())
    }

    #[test]
    fn contradictions_say_why() {
        for (line, wanted) in [
            (
                "--strategy mcmc --densify-statistic absolute",
                "densify-statistic = absolute: mcmc grows without gradients",
            ),
            (
                "--strategy mcmc --learned-masks 5e-4",
                "learned-masks = 0.0005: mcmc keeps its number",
            ),
            (
                "--iterations 700 --resolution-schedule coarse-to-fine --coarse-until 701",
                "coarse-until = 701: is after the last step",
            ),
            (
                "--quality-target 30 --refine-motion top-to-bottom",
                "quality-target = 30: judges held-out photos while the run learns",
            ),
            (
                "--sky --background white",
                "background = white: would come on top of the sky",
            ),
            (
                "--pipeline exact+tensor-gs-2x2",
                "pipeline = exact+tensor-gs-2x2+subtile: blend 'tensor-gs-2x2' is not trained",
            ),
        ] {
            let error = layered(None, line).unwrap_err();
            assert!(
                error.contains(wanted) && !error.contains('\n'),
                "{line}: {error}"
            );
        }
        for line in [
            "--iterations 700 --resolution-schedule coarse-to-fine --coarse-until 700",
            "--iterations 1 --resolution-schedule coarse-to-fine",
            "--strategy mcmc --learned-masks 0",
            "--learned-masks 5e-4 --optimizer sparse-adam --antialias",
        ] {
            assert!(layered(None, line).is_ok(), "{line}");
        }
    }

    /// In a short run of a long run's settings.
    #[test]
    fn a_file_cannot_leave_all_photos_coarse() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.toml");
        let long = Config {
            coarse_until: Some(9000),
            ..Config::UNSET
        };
        std::fs::write(&file, long.complete().to_toml().unwrap()).unwrap();
        let error = layered(Some(&file), "--iterations 7000").unwrap_err();
        assert!(error.contains("coarse-until = 9000"), "{error}");
        let short = layered(Some(&file), "--iterations 7000 --coarse-until 2000").unwrap();
        // What the file did not choose follows the steps.
        assert_eq!((short.densify.until, short.scene.sh_every), (5600, 700));
        std::fs::write(&file, Config::UNSET.complete().to_toml().unwrap()).unwrap();
        let short = layered(Some(&file), "--iterations 7000").unwrap();
        let typed = layered(None, "--iterations 7000").unwrap();
        assert_eq!(short, typed);
    }

    #[test]
    fn flags_without_effect_are_refused() {
        for (key, value, cure) in [
            ("densify-gradient", "1e-4", "--strategy adc"),
            ("split-scale", "0.5", ""),
            ("prune-scale", "0.5", ""),
            ("opacity-reset-every", "500", "--strategy adc"),
            ("opacity-reset-to", "0.5", "--strategy adc"),
            ("densify-growth", "budget", ""),
            ("opacity-halving-every", "500", ""),
            ("noise-rate", "0", "--strategy mcmc"),
            ("growth", "0.5", "--strategy mcmc"),
            ("prune-every", "70", "--strategy mcmc --prune-floaters 0.8"),
            ("prune-every", "70", "--strategy adc"),
            ("coarse-until", "70", "--resolution-schedule coarse-to-fine"),
            ("batch-scaling", "sqrt", "--batch 2"),
            ("lr-exposure", "0.5", "--appearance affine"),
            ("lr-exposure-final", "0.5", "--appearance affine"),
            ("pose-travel", "0.5", "--refine-poses"),
            ("pose-degrees", "3", "--refine-poses"),
            ("pose-shift", "0.5", "--refine-poses"),
            ("intrinsics-limit", "0.1", "--refine-intrinsics"),
            ("depth-kind", "disparity", "--depths auto"),
            ("depth-unit", "0.1", "--depths auto"),
            ("depth-loss", "log", "--depths auto"),
            ("depth-weight", "0.1", "--depths auto"),
            ("lr-masks", "0.5", "--learned-masks 5e-4"),
            ("sky-masks", "sky", "--sky"),
            ("lr-sky", "0.5", "--sky"),
            ("sky-weight", "0.5", "--sky --sky-masks sky"),
            ("lr-sh-rest", "0.5", "--sh-degree 1"),
            ("sh-every", "70", "--sh-degree 1"),
        ] {
            // What makes it idle, unless the defaults do.
            let context = match (cure, key) {
                ("", _) => "--strategy mcmc",
                (_, "prune-every") => "--strategy mcmc",
                ("--sh-degree 1", _) => "--sh-degree 0",
                (_, "coarse-until") => "--resolution-schedule full",
                _ => "",
            };
            let error = layered(None, &format!("{context} --{key} {value}")).unwrap_err();
            let wanted = format!("{key} has no effect here: ");
            assert!(
                error.starts_with(&wanted) && !error.contains('\n'),
                "{error}"
            );
            let sound = layered(None, &format!("--{key} {value} {cure}"));
            assert!(sound.is_ok(), "{sound:?}");
        }
        for (line, only) in [
            (
                "--densify-growth budget --densify-gradient 1e-4",
                "densify-growth = threshold",
            ),
            (
                "--opacity-halving-every 500 --opacity-reset-to 0.1",
                "opacity-halving-every = 0",
            ),
        ] {
            let error = layered(None, line).unwrap_err();
            assert!(error.contains(only), "{error}");
        }
        // The default, said aloud, is what the user gets.
        assert!(layered(None, "--strategy mcmc --split-scale 0.01").is_ok());
        let error = layered(None, "--strategy mcmc --split-scale 0.5").unwrap_err();
        assert!(error.contains("strategy = splatcore"), "{error}");
        for preset in Preset::ALL {
            assert!(preset.settings().resolve().is_ok());
        }
    }

    #[test]
    fn growth_that_ends_before_it_begins_is_refused() {
        let error = layered(None, "--densify-from 301 --densify-until 300").unwrap_err();
        assert!(error.contains("densify-from has no effect here: it is after"));
        assert!(layered(None, "--densify-from 300 --densify-until 300").is_ok());
        assert!(layered(None, "--densify-from 300 --densify-until 0").is_ok());
    }

    /// What one strategy's run wrote can be the start of the other's.
    #[test]
    fn files_may_hold_what_has_no_effect() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.toml");
        let adc = Config {
            split_scale: Some(0.5),
            ..Config::UNSET
        };
        std::fs::write(&file, adc.complete().to_toml().unwrap()).unwrap();
        assert!(layered(Some(&file), "--strategy mcmc").is_ok());
    }
}

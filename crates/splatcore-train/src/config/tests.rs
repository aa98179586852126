use super::interval::Interval;
use super::*;
use clap::{Args, FromArgMatches};
use splatcore_core::Pipeline;
use std::path::Path;

fn command() -> clap::Command {
    Flags::augment_args(clap::Command::new("train").no_binary_name(true))
}

fn typed(line: &str) -> Config {
    let matches = command().get_matches_from(line.split_whitespace());
    Flags::from_arg_matches(&matches).unwrap().0
}

fn layered(file: Option<&Path>, line: &str) -> Result<ResolvedConfig, ConfigError> {
    ResolvedConfig::from_layers(file, &typed(line))
}

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::from_toml(text, Path::new("run.toml"))
}

#[test]
fn an_empty_line_and_an_empty_file_are_the_defaults() {
    assert_eq!(typed(""), Config::UNSET);
    assert_eq!(parse("").unwrap(), Config::UNSET);
    assert_eq!(Config::default(), Config::UNSET);
    assert_eq!(layered(None, "").unwrap(), Config::UNSET.complete());
}

#[test]
fn flags_beat_the_file_and_the_file_beats_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.toml");
    std::fs::write(
        &file,
        "iterations = 7000\nseed = 4\nbackground = \"white\"\nmax-size = 400\nlr-scales = 0.01\n",
    )
    .unwrap();
    let line =
        "--seed 9 --strategy mcmc --max-gaussians 5000 --iterations 30000 --pipeline vanilla";
    let config = layered(Some(&file), line).unwrap();
    let want = Config {
        // Typed, though it is also the default.
        iterations: Some(30_000),
        seed: Some(9),
        strategy: Some(Strategy::Mcmc),
        max_gaussians: Some(5000),
        pipeline: Some(Pipeline::VANILLA),
        background: Some(Background::White),
        max_size: Some(400),
        lr_scales: Some(0.01),
        ..Config::UNSET
    };
    assert_eq!(config, want.resolve().unwrap());
}

#[test]
fn the_written_config_reproduces_the_run() {
    let config = Config {
        iterations: Some(7000),
        strategy: Some(Strategy::Mcmc),
        background: Some(Background::Colour([0.1, 0.2, 0.3])),
        max_size: Some(480),
        lr_means: Some(1.234_567_890_123e-4),
        seed: Some(u64::MAX >> 1),
        ..Config::UNSET
    };
    let config = config.complete();
    let text = config.to_toml().unwrap();
    let read = parse(&text).unwrap();
    assert_eq!(read, config.to_settings());
    assert_eq!(read.complete(), config);
    assert_eq!(read.complete().to_toml().unwrap(), text);
    assert!(text.contains("\ndensify-until = 5833\n"), "{text}");
    // Every line but the blank ones is a comment or a key; every key is explained.
    let lines: Vec<&str> = text.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        assert!(
            line.is_empty() || line.starts_with("# ") || lines[i - 1].starts_with("# "),
            "{line}"
        );
    }
}

#[test]
fn every_flag_is_a_key_and_has_help() {
    let all = Config {
        max_size: Some(1),
        threads: Some(1),
        eval_every: Some(1),
        checkpoint_every: Some(1),
        max_gaussians: Some(1),
        depth_unit: Some(1.0),
        sky_masks: Some("sky".into()),
        refine_motion: Some(LineOrder::TopToBottom),
        readout_time: Some(0.02),
        preset: Some(Preset::Fast),
        ..Config::UNSET
    };
    // Of a run with a budget what follows from its steps has no value.
    let ends = Config {
        budget: WallTime::from_seconds(10.0),
        quality_target: Some(30.0),
        ..Config::UNSET
    };
    let table = ends.over(&all.complete().to_settings());
    let table = table.to_table().unwrap();
    let command = command();
    // A name for a value of `appearance` from before there were others.
    let older = ["exposure"];
    let mut keys = 0;
    for argument in command.get_arguments() {
        let long = argument.get_long().unwrap();
        assert!(table.contains_key(long) != older.contains(&long), "{long}");
        assert!(argument.get_help().is_some(), "{argument}");
        keys += usize::from(!older.contains(&long));
    }
    assert_eq!(keys, table.len());
}

#[test]
fn errors_name_file_line_and_remedy() {
    for (text, wanted) in [
        (
            "iterations = 10\n\nsh_degree = 2",
            "run.toml, line 3: unknown key `sh_degree`; did you mean `sh-degree`?",
        ),
        ("x = 1", "known keys: preset, iterations, budget"),
        ("[train]\niterations = 1", "line 1: unknown key `train`"),
        ("seed = 1\niterations = \"many\"", "line 2: iterations: "),
        (
            "strategy = \"best\"",
            "line 1: strategy: unknown variant `best`",
        ),
        ("background = \"grey\"", "r,g,b"),
        ("pipeline = \"fast\"", "is not a pipeline"),
        ("seed = = 1", "line 1: is not TOML"),
        ("iterations = -3", "line 1: iterations: "),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(
            error.contains(wanted) && !error.contains('\n'),
            "{text}: {error}"
        );
    }
    let missing = Config::from_file(Path::new("no/such.toml"))
        .unwrap_err()
        .to_string();
    assert!(
        missing.starts_with("no/such.toml: cannot be read"),
        "{missing}"
    );
}

#[test]
fn values_out_of_range_are_refused() {
    for (line, wanted) in [
        ("--iterations 0", "iterations = 0: must be at least 1"),
        (
            "--test-every 1",
            "test-every = 1: would hold out every photo",
        ),
        ("--max-gaussians 0", "max-gaussians = 0"),
        (
            "--ssim-weight 1.5",
            "ssim-weight = 1.5: must be from 0 to 1",
        ),
        ("--lr-means 0", "lr-means = 0: must be above 0"),
        ("--lr-scales NaN", "lr-scales = NaN"),
        ("--lr-exposure 0", "lr-exposure = 0: must be above 0"),
        ("--lr-exposure-final inf", "lr-exposure-final = inf"),
        ("--init-opacity 1", "init-opacity = 1"),
        ("--threads 0", "threads = 0"),
        ("--readout-time 20", "readout-time = 20: must be"),
        ("--eval-every 0", "leave it out"),
        ("--densify-every 0", "densify-every = 0"),
    ] {
        let error = layered(None, line).unwrap_err().to_string();
        assert!(error.contains(wanted), "{line}: {error}");
    }
    for line in [
        "--sh-degree 4",
        "--strategy best",
        "--background grey",
        "--seed 9223372036854775808",
    ] {
        assert!(
            command()
                .try_get_matches_from(line.split_whitespace())
                .is_err(),
            "{line}"
        );
    }
    assert!(Config::UNSET.resolve().is_ok());
}

#[test]
fn schedules_follow_the_iterations_unless_set() {
    let at = |iterations: u32| {
        let c = Config {
            iterations: Some(iterations),
            strategy: Some(Strategy::Adc),
            ..Config::UNSET
        }
        .complete();
        let densify = c.densify;
        [
            c.scene.sh_every,
            densify.from,
            densify.until,
            densify.opacity_reset_every,
        ]
    };
    assert_eq!(at(30_000), [1000, 500, 15_000, 3000]);
    assert_eq!(at(15_000), [1000, 500, 7500, 1500]);
    assert_eq!(at(7000), [700, 233, 3500, 1000]);
    assert_eq!(at(60_000), [1000, 500, 30_000, 6000]);
    assert_eq!(at(1), [1, 1, 1, 1000]);
    let own = Config {
        iterations: Some(7000),
        densify_until: Some(6000),
        ..Config::UNSET
    }
    .complete();
    assert_eq!(own.densify.until, 6000);
    assert_eq!(own.to_settings().complete(), own);
    let mcmc = Config {
        strategy: Some(Strategy::Mcmc),
        ..Config::UNSET
    }
    .complete();
    let (scene, loss) = (&mcmc.scene, &mcmc.loss);
    assert_eq!(
        (scene.max_gaussians, mcmc.rates.opacity),
        (Some(1_000_000), 0.05)
    );
    assert_eq!(
        (mcmc.densify.until, scene.init_opacity, scene.init_scale),
        (25_000, 0.5, 0.1)
    );
    assert_eq!(
        (loss.opacity_regulariser, loss.scale_regulariser),
        (0.01, 0.01)
    );
}

/// 3dgs-mcmc's numbers at the length that a run was made for, in proportion elsewhere.
#[test]
fn mcmc_follows_the_length_that_its_preset_is_made_for() {
    let at = |preset: Option<Preset>, iterations: Option<u32>, every: Option<u32>| {
        let config = Config {
            preset,
            iterations,
            densify_every: every,
            strategy: Some(Strategy::Mcmc),
            ..Config::UNSET
        }
        .complete();
        (
            config.densify.every,
            config.densify.growth,
            config.scene.init_scale,
        )
    };
    for (preset, own) in [
        (Some(Preset::Fast), 7000),
        (Some(Preset::Balanced), 15_000),
        (Some(Preset::Quality), 30_000),
        (None, 30_000),
    ] {
        assert_eq!(at(preset, None, None), (100, 0.05, 0.1), "{preset:?}");
        assert_eq!(at(preset, Some(own), None), (100, 0.05, 0.1), "{preset:?}");
        let (every, growth, scale) = at(preset, Some(own / 2), None);
        assert_eq!((every, growth), (50, 0.05), "{preset:?}");
        // A start at a tenth of the distances is for runs of 6000 iterations and more.
        let start = |iterations: u32| 0.1f64.powf((f64::from(iterations) / 6000.0).min(1.0));
        assert!(
            (scale - start(own / 2)).abs() < 1e-12,
            "{preset:?}: {scale}"
        );
        // A round stands for ten of the reference run's: 1.05^10.
        let (every, growth, _) = at(preset, Some(own / 10), Some(100));
        assert!(every == 100 && (growth - 0.628_894_626_777_442).abs() < 1e-12);
        // The rounds are as close as they get: 1.05^(20/10).
        let (every, growth, scale) = at(preset, Some(own / 10), None);
        assert!(every == 20 && (growth - 0.1025).abs() < 1e-12);
        assert!((scale - start(own / 10)).abs() < 1e-12 && scale > 0.3);
        // Twice as long: 1.05^(1/2).
        let (every, growth, scale) = at(preset, Some(2 * own), None);
        assert!(every == 100 && (growth - 0.024_695_076_595_959_8).abs() < 1e-12);
        assert_eq!(scale, 0.1);
        assert_eq!(at(preset, Some(1), None).1, 1.0);
        assert_eq!(at(preset, Some(u32::MAX), None).1, 0.001);
    }
    let adc = Config {
        iterations: Some(1000),
        ..Config::UNSET
    }
    .complete();
    let densify = (adc.densify.every, adc.densify.growth);
    assert_eq!((densify, adc.scene.init_scale), ((100, 0.05), 1.0));
}

/// A run's own file decides, also one of a program that made these settings otherwise.
#[test]
fn settings_of_an_older_file_are_taken_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    let old = "preset = \"fast\"\niterations = 3000\nstrategy = \"mcmc\"\n\
               max-gaussians = 300000\ndensify-every = 100\ngrowth = 0.05\ninit-scale = 0.1\n";
    std::fs::write(&file, old).unwrap();
    let resumed = layered(Some(&file), "").unwrap();
    let densify = (resumed.densify.every, resumed.densify.growth);
    assert_eq!((densify, resumed.scene.init_scale), ((100, 0.05), 0.1));
    // To name the same preset again changes nothing.
    assert_eq!(layered(Some(&file), "--preset fast").unwrap(), resumed);
}

/// What switches something off is told from what was not given.
#[test]
fn absent_values_have_a_meaning() {
    let off = Config {
        checkpoint_every: Some(0),
        prune_floaters: Some(0.0),
        max_scale: Some(0.0),
        ..Config::UNSET
    }
    .complete();
    assert_eq!(off.saving.checkpoints, Checkpoints::AtEnd);
    assert_eq!((off.prune.floaters, off.prune.max_scale), (None, None));
    let settings = off.to_settings();
    assert_eq!(
        (settings.checkpoint_every, settings.prune_floaters),
        (Some(0), Some(0.0))
    );
    let unset = Config::UNSET.complete();
    assert_eq!(unset.saving.checkpoints, Checkpoints::ByTime);
    assert_eq!(unset.prune.floaters, Some(0.8));
    assert_eq!(unset.to_settings().checkpoint_every, None);
}

#[test]
fn differences_that_matter_are_named_by_their_cause() {
    let base = Config::UNSET.complete();
    let difference = |other: Config| base.difference(&other.complete()).unwrap();
    let harmless = Config {
        threads: Some(1),
        backend: Some(BackendChoice::Cpu),
        checkpoint_every: Some(5),
        deterministic: Some(true),
        eval_every: Some(3),
        ..Config::UNSET
    };
    assert_eq!(difference(harmless), None);
    let shorter = Config {
        iterations: Some(7000),
        ..Config::UNSET
    };
    assert_eq!(
        difference(shorter),
        Some(("iterations".into(), "30000".into(), "7000".into()))
    );
    let limited = Config {
        max_gaussians: Some(7),
        ..Config::UNSET
    };
    assert_eq!(
        difference(limited),
        Some(("max-gaussians".into(), "not set".into(), "7".into()))
    );
}

#[test]
fn a_preset_lies_between_the_defaults_and_what_is_said() {
    let layered = |file: Option<&str>, line: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        std::fs::write(&path, file.unwrap_or_default()).unwrap();
        layered(file.map(|_| path.as_path()), line).unwrap()
    };
    let [fast, balanced, quality, small] = Preset::ALL.map(Preset::settings);
    assert!(small.max_gaussians.is_some() && Preset::Small.writes_sog());
    assert_eq!(layered(None, "--preset fast"), fast.complete());
    let named = parse("preset = \"quality\"").unwrap();
    assert_eq!(named.complete(), quality.complete());
    let steps = [&fast, &balanced, &quality].map(|preset| preset.iterations);
    let unset = Config::UNSET.complete();
    assert!(
        steps.is_sorted() && steps[0] < Some(unset.iterations),
        "{steps:?}"
    );
    // The number follows from steps and photos.
    let gaussians = [&fast, &balanced, &quality].map(|preset| preset.max_gaussians);
    assert_eq!(gaussians, [None; 3]);
    // A flag beats the preset even with the default's value, a file beats it too.
    let typed = layered(None, "--preset fast --iterations 30000");
    let long = Config {
        iterations: Some(30_000),
        ..fast.clone()
    };
    assert_eq!(typed, long.complete());
    let both = layered(Some("iterations = 500\nseed = 3"), "--preset fast --seed 4");
    let short = Config {
        iterations: Some(500),
        seed: Some(4),
        ..fast.clone()
    };
    assert_eq!(both, short.complete());
    // A typed preset takes the place of the file's.
    assert_eq!(
        layered(Some("preset = \"fast\""), "--preset quality"),
        quality.complete()
    );
    for preset in Preset::ALL {
        let resolved = preset.settings().resolve().unwrap();
        // What is written has every value, so that a later version's preset changes nothing; and
        // resuming with another preset is refused.
        let text = resolved.to_toml().unwrap();
        assert_eq!(parse(&text).unwrap(), resolved.to_settings());
        assert!(text.contains(&format!("\niterations = {}\n", resolved.iterations)));
        let other = match preset {
            Preset::Fast => "--preset quality",
            _ => "--preset fast",
        };
        let difference = resolved.difference(&layered(Some(&text), other)).unwrap();
        assert_eq!(difference.unwrap().0, "preset");
    }
}

#[test]
fn options_of_a_step_are_checked() {
    for line in [
        "--optimizer sgd",
        "--resolution-schedule fine",
        "--preset best",
    ] {
        let parsed = command().try_get_matches_from(line.split_whitespace());
        assert!(parsed.is_err(), "{line}");
    }
    let line = "--optimizer sparse-adam --resolution-schedule coarse-to-fine --iterations 3000 \
                --background random";
    let c = layered(None, line).unwrap();
    assert_eq!(c.optimizer, Optimizer::SparseAdam);
    assert_eq!(c.data.background, Background::Random);
    assert_eq!(c.data.coarse_until, 1000);
}

/// What follows from the number of steps has no value before it is planned.
#[test]
fn a_budget_plans_what_follows_from_the_steps() {
    let line = "--preset fast --budget 20s --densify-until 900";
    let config = layered(None, line).unwrap();
    let text = config.to_toml().unwrap();
    assert!(
        !text.contains("\niterations = ") && !text.contains("\nsh-every = "),
        "{text}"
    );
    assert!(text.contains("\nbudget = \"20s\"\n") && text.contains("\ndensify-until = 900\n"));
    assert_eq!(parse(&text).unwrap().complete(), config);
    let planned = config.planned(3500);
    let fast = Config {
        iterations: Some(3500),
        densify_until: Some(900),
        ..Preset::Fast.settings()
    };
    let fast = fast.complete();
    assert_eq!(
        (&planned.densify, &planned.prune),
        (&fast.densify, &fast.prune)
    );
    assert_eq!(
        (planned.iterations, planned.scene.max_gaussians),
        (3500, None)
    );
    assert_eq!(planned.to_toml().unwrap(), text);
    // As many rounds as in 30,000 steps, and as many Gaussians as fit.
    let long = |line| layered(None, line).unwrap().planned(300_000).densify;
    let adc = long("--budget 1h --strategy adc");
    assert_eq!((adc.until, adc.every), (150_000, 1000));
    let own = long("--budget 1h");
    assert_eq!((own.until, own.every), (240_000, 1000));
    assert_eq!(own.opacity_halving_every, Some(Interval::Steps(21_000)));
    let most = |line: &str, steps| {
        layered(None, line)
            .unwrap()
            .planned(steps)
            .scene
            .max_gaussians
    };
    assert_eq!(most("--budget 5s --strategy mcmc", 2500), Some(100_000));
    assert_eq!(most("--budget 5s", 2500), None);
    let error = layered(None, "--budget 5s --iterations 0").unwrap_err();
    assert!(error.to_string().contains("iterations = 0"));
}

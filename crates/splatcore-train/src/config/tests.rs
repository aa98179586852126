use super::*;
use clap::{Args, FromArgMatches};
use std::path::Path;

fn command() -> clap::Command {
    Config::augment_args(clap::Command::new("train").no_binary_name(true))
}

fn matches(line: &str) -> clap::ArgMatches {
    command()
        .try_get_matches_from(line.split_whitespace())
        .unwrap()
}

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::from_toml(text, Path::new("run.toml"))
}

#[test]
fn an_empty_line_and_an_empty_file_are_the_defaults() {
    assert_eq!(Config::layered(None, &matches("")).unwrap(), DEFAULT);
    assert_eq!(Config::from_arg_matches(&matches("")).unwrap(), DEFAULT);
    assert_eq!(parse("").unwrap(), DEFAULT);
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
    let config = Config::layered(Some(&file), &matches(line)).unwrap();
    let want = Config {
        // Typed, though it is also the default.
        iterations: 30_000,
        seed: 9,
        strategy: Strategy::Mcmc,
        max_gaussians: Some(5000),
        pipeline: Pipeline::VANILLA,
        background: Background::White,
        max_size: Some(400),
        lr_scales: 0.01,
        ..DEFAULT
    };
    assert_eq!(config, want);
}

#[test]
fn the_written_config_reproduces_the_run() {
    let config = Config {
        iterations: 7000,
        strategy: Strategy::Mcmc,
        background: Background::Colour([0.1, 0.2, 0.3]),
        max_size: Some(480),
        lr_means: 1.234_567_890_123e-4,
        seed: u64::MAX >> 1,
        ..DEFAULT
    };
    let text = config.to_toml().unwrap();
    let read = parse(&text).unwrap();
    assert_eq!(read, config.resolved());
    assert_eq!(read.to_toml().unwrap(), text);
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
    let resolved = Config {
        max_size: Some(1),
        threads: Some(1),
        eval_every: Some(1),
        checkpoint_every: Some(1),
        max_gaussians: Some(1),
        preset: Some(Preset::Fast),
        ..DEFAULT
    };
    let table = resolved.resolved().to_table().unwrap();
    let command = command();
    let arguments: Vec<String> = command
        .get_arguments()
        .map(|a| a.get_long().unwrap().to_owned())
        .collect();
    assert_eq!(arguments.len(), table.len());
    for argument in command.get_arguments() {
        assert!(table.contains_key(argument.get_long().unwrap()));
        assert!(argument.get_help().is_some(), "{argument}");
    }
}

#[test]
fn errors_name_file_line_and_remedy() {
    for (text, wanted) in [
        (
            "iterations = 10\n\nsh_degree = 2",
            "run.toml, line 3: unknown key `sh_degree`; did you mean `sh-degree`?",
        ),
        ("x = 1", "known keys: preset, iterations, strategy"),
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
        ("--eval-every 0", "leave it out"),
        ("--densify-every 0", "densify-every = 0"),
    ] {
        let error = Config::layered(None, &matches(line))
            .unwrap_err()
            .to_string();
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
    assert!(DEFAULT.validate().is_ok() && DEFAULT.resolved().validate().is_ok());
}

#[test]
fn schedules_follow_the_iterations_unless_set() {
    let at = |iterations: u32| {
        let c = Config {
            iterations,
            ..DEFAULT
        }
        .resolved();
        [
            c.sh_every,
            c.densify_from,
            c.densify_until,
            c.opacity_reset_every,
        ]
        .map(Option::unwrap)
    };
    assert_eq!(at(30_000), [1000, 500, 15_000, 3000]);
    assert_eq!(at(15_000), [1000, 500, 7500, 1500]);
    assert_eq!(at(7000), [700, 233, 3500, 1000]);
    assert_eq!(at(60_000), [1000, 500, 30_000, 6000]);
    assert_eq!(at(1), [1, 1, 1, 1000]);
    let own = Config {
        iterations: 7000,
        densify_until: Some(6000),
        ..DEFAULT
    };
    assert_eq!(own.resolved().densify_until, Some(6000));
    assert_eq!(own.resolved().resolved(), own.resolved());
    let mcmc = Config {
        strategy: Strategy::Mcmc,
        ..DEFAULT
    }
    .resolved();
    assert_eq!(
        (mcmc.max_gaussians, mcmc.lr_opacity),
        (Some(1_000_000), Some(0.05))
    );
    assert_eq!(
        (mcmc.densify_until, mcmc.init_opacity, mcmc.init_scale),
        (Some(25_000), Some(0.5), Some(0.1))
    );
    assert_eq!(
        (mcmc.opacity_regulariser, mcmc.scale_regulariser),
        (Some(0.01), Some(0.01))
    );
}

#[test]
fn differences_that_matter_are_named_by_their_cause() {
    let base = DEFAULT.resolved();
    let harmless = Config {
        threads: Some(1),
        backend: BackendChoice::Cpu,
        checkpoint_every: Some(5),
        deterministic: true,
        eval_every: Some(3),
        ..DEFAULT
    };
    assert_eq!(base.difference(&harmless).unwrap(), None);
    let shorter = Config {
        iterations: 7000,
        ..DEFAULT
    };
    let difference = base.difference(&shorter).unwrap();
    assert_eq!(
        difference,
        Some(("iterations".into(), "30000".into(), "7000".into()))
    );
    let limited = Config {
        max_gaussians: Some(7),
        ..DEFAULT
    };
    let difference = base.difference(&limited).unwrap();
    assert_eq!(
        difference,
        Some(("max-gaussians".into(), "not set".into(), "7".into()))
    );
}

#[test]
fn a_preset_lies_between_the_defaults_and_what_is_said() {
    let layered = |file: Option<&str>, line: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        std::fs::write(&path, file.unwrap_or_default()).unwrap();
        Config::layered(file.map(|_| path.as_path()), &matches(line)).unwrap()
    };
    let [fast, balanced, quality] =
        [Preset::Fast, Preset::Balanced, Preset::Quality].map(Preset::config);
    assert_eq!(layered(None, "--preset fast"), fast);
    assert_eq!(parse("preset = \"quality\"").unwrap(), quality);
    let steps = [&fast, &balanced, &quality].map(|preset| preset.iterations);
    assert!(
        steps.is_sorted() && steps[0] < DEFAULT.iterations,
        "{steps:?}"
    );
    let gaussians = [&fast, &balanced, &quality].map(|preset| preset.max_gaussians);
    assert!(
        gaussians.is_sorted() && gaussians[0].is_some(),
        "{gaussians:?}"
    );
    // A flag beats the preset even with the default's value, a file beats it too.
    let typed = layered(None, "--preset fast --iterations 30000");
    assert_eq!(
        typed,
        Config {
            iterations: 30_000,
            ..fast.clone()
        }
    );
    let both = layered(Some("iterations = 500\nseed = 3"), "--preset fast --seed 4");
    assert_eq!(
        both,
        Config {
            iterations: 500,
            seed: 4,
            ..fast.clone()
        }
    );
    // A typed preset takes the place of the file's.
    assert_eq!(
        layered(Some("preset = \"fast\""), "--preset quality"),
        quality
    );
    for preset in [fast, balanced, quality] {
        assert!(preset.validate().is_ok());
        // What is written has every value, so that a later version's preset changes nothing; and
        // resuming with another preset is refused.
        let text = preset.to_toml().unwrap();
        assert_eq!(parse(&text).unwrap(), preset.resolved());
        assert!(text.contains(&format!("\niterations = {}\n", preset.iterations)));
        let other = layered(
            Some(&text),
            if preset.preset == Some(Preset::Fast) {
                "--preset quality"
            } else {
                "--preset fast"
            },
        );
        let difference = preset.difference(&other).unwrap();
        assert_eq!(difference.unwrap().0, "preset");
    }
}

#[test]
fn options_of_a_step_are_checked() {
    let error = Config::layered(None, &matches("--sh-regulariser=-1")).unwrap_err();
    assert!(error.to_string().contains("sh-regulariser = -1"));
    for line in [
        "--optimizer sgd",
        "--resolution-schedule fine",
        "--preset best",
    ] {
        let parsed = command().try_get_matches_from(line.split_whitespace());
        assert!(parsed.is_err(), "{line}");
    }
    let c = Config::layered(
        None,
        &matches("--optimizer sparse-adam --resolution-schedule coarse-to-fine --iterations 3000 --background random"),
    )
    .unwrap();
    assert_eq!(c.optimizer, Optimizer::SparseAdam);
    assert_eq!(c.background, Background::Random);
    assert_eq!(c.resolved().coarse_until, Some(1000));
}

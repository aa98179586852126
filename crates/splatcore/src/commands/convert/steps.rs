//! Scenes and actions in the order in which they were typed.

use super::action::{ACTIONS, Action};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, builder::PathBufValueParser};
use std::path::{Path, PathBuf};

/// One word of the sentence.
#[derive(Clone, Debug)]
pub enum Step {
    /// Read this scene; the actions behind it are its own.
    Scene(PathBuf),
    /// Change what is before.
    Action(Action),
    /// From here actions concern all scenes together.
    Output,
}

/// What was typed, in order: scenes with their actions, the output, actions for all.
#[derive(Clone, Debug)]
pub struct Steps(pub Vec<Step>);

const SCENES: &str = "scenes";

impl Steps {
    /// The paths of the scenes.
    pub fn scenes(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter_map(|step| match step {
            Step::Scene(path) => Some(path.as_path()),
            _ => None,
        })
    }

    /// Whether an action asks the dataset.
    pub fn ask_photos(&self) -> bool {
        self.0
            .iter()
            .any(|step| matches!(step, Step::Action(action) if action.asks_photos()))
    }
}

impl clap::Args for Steps {
    fn augment_args(command: Command) -> Command {
        let scenes = Arg::new(SCENES)
            .value_name("SCENE")
            .help("The scenes: .ply, .spz, .sog, .splat, .ksplat, .glb; folders of a SOG or a run")
            .value_parser(PathBufValueParser::new())
            .required(true)
            .num_args(1..)
            .action(ArgAction::Append);
        let mut command = command.arg(scenes);
        for kind in &ACTIONS {
            let mut arg = Arg::new(kind.name)
                .long(kind.name)
                .value_name(kind.value)
                .help(kind.help)
                .help_heading("Actions, in order")
                .value_parser(kind.parse)
                // Coordinates may begin with a minus.
                .allow_hyphen_values(true)
                .action(ArgAction::Append);
            if let Some(missing) = kind.without_value {
                arg = arg
                    .num_args(0..=1)
                    .require_equals(true)
                    .default_missing_value(missing);
            }
            command = command.arg(arg);
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Steps {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut found: Vec<(usize, Step)> = Vec::new();
        let mut add = |name: &str, steps: Vec<Step>| {
            let indices = matches.indices_of(name).into_iter().flatten();
            found.extend(indices.zip(steps));
        };
        let scenes = matches.get_many::<PathBuf>(SCENES).into_iter().flatten();
        add(SCENES, scenes.cloned().map(Step::Scene).collect());
        for kind in &ACTIONS {
            let actions = matches.get_many::<Action>(kind.name).into_iter().flatten();
            add(kind.name, actions.cloned().map(Step::Action).collect());
        }
        add("output", vec![Step::Output]);
        found.sort_by_key(|(index, _)| *index);
        let steps: Vec<Step> = found.into_iter().map(|(_, step)| step).collect();
        check(&steps)?;
        let (mut own, mut of_all) = (Vec::new(), Vec::new());
        let mut behind_output = false;
        for step in steps {
            match step {
                Step::Output => behind_output = true,
                Step::Scene(_) => {
                    behind_output = false;
                    own.push(step);
                }
                step if behind_output => of_all.push(step),
                step => own.push(step),
            }
        }
        own.push(Step::Output);
        own.append(&mut of_all);
        Ok(Self(own))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// An action needs a scene before it.
fn check(steps: &[Step]) -> Result<(), clap::Error> {
    if let Some(Step::Action(_)) = steps.iter().find(|step| !matches!(step, Step::Output)) {
        return Err(clap::Error::raw(
            clap::error::ErrorKind::ArgumentConflict,
            "an action stands before the first scene; write the scene first, then what is to be \
             done with it\n",
        ));
    }
    Ok(())
}

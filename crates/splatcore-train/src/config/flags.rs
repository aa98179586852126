//! The settings as flags of a command.

use super::Config;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::sync::LazyLock;
use toml::Value;

/// The settings that were typed. Defaults are shown in the help, and are not among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flags(pub Config);

/// Key and value, as help shows them, of every setting whose default follows from nothing else.
static SHOWN_DEFAULTS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let fixed = Config::fixed_defaults();
    let shown = fixed.to_table().unwrap_or_default().into_iter();
    let text = |value: Value| match value {
        Value::String(text) => Some(text),
        Value::Float(number) => Some(number.to_string()),
        Value::Integer(number) => Some(number.to_string()),
        // A flag without a value: its default is its absence.
        _ => None,
    };
    shown
        .filter_map(|(key, value)| Some((key, text(value)?)))
        .collect()
});

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        let fill = |command: Command, (key, value): &'static (String, String)| {
            command.mut_arg(key.replace('-', "_"), |arg| {
                arg.default_value(value.as_str())
            })
        };
        SHOWN_DEFAULTS
            .iter()
            .fold(Config::augment_args(command), fill)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        Ok(Self(Config::from_arg_matches(matches)?.filtered(typed)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

//! docs/guide/presets.md, made from the table of presets.

use super::{Config, HARMLESS_ON_RESUME, Preset, ResolvedConfig, preset};
use clap::ValueEnum;
use toml::{Table, Value};

/// The page as text. `examples/presets_page.rs` prints it.
pub fn presets_page() -> String {
    let names: Vec<String> = Preset::ALL.iter().map(|preset| name(*preset)).collect();
    let mut page = format!(
        "# Presets\n\n\
         <!-- Made by `cargo run -p splatcore-train --example presets_page`. Do not edit. -->\n\n\
         A preset is a named set of settings: `splatcore train PHOTOS -o RUN --preset {}`. A \
         settings\nfile and other flags override it. {}:\n\
         `--budget` takes any time between.\n\n",
        names[0],
        preset::IN_WORDS,
    );
    for preset in Preset::ALL {
        let item = format!("- `{}`: {}.", name(preset), preset::summary(preset));
        page.push_str(&wrapped(&item));
    }
    page.push_str(
        "\nWhat a run is resolved with, where it differs from the defaults (steps follow from \
         `iterations`\nunless they are given):\n\n",
    );
    let defaults = Config::UNSET.complete();
    let runs = Preset::ALL.map(|preset| preset.settings().complete());
    let tables: Vec<Table> = std::iter::once(&defaults).chain(&runs).map(table).collect();
    row(&mut page, "setting", "defaults", &names);
    row(
        &mut page,
        "---",
        "---",
        &names.iter().map(|_| "---".into()).collect::<Vec<_>>(),
    );
    for key in Config::keys() {
        let values: Vec<Option<&Value>> = tables.iter().map(|table| table.get(&key)).collect();
        if key != "preset"
            && !HARMLESS_ON_RESUME.contains(&key.as_str())
            && values.iter().any(|value| *value != values[0])
        {
            let cells: Vec<String> = values.iter().map(|value| cell(*value)).collect();
            row(&mut page, &format!("`{key}`"), &cells[0], &cells[1..]);
        }
    }
    page
}

/// An item of a list in lines of at most 100 columns.
fn wrapped(item: &str) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for word in item.split_inclusive(' ') {
        if column + word.trim_end().len() > 100 {
            text.truncate(text.trim_end().len());
            text.push_str("\n  ");
            column = 2;
        }
        text.push_str(word);
        column += word.len();
    }
    text + "\n"
}

fn name(preset: Preset) -> String {
    let value = preset.to_possible_value();
    value.map_or(String::new(), |value| value.get_name().to_owned())
}

fn table(config: &ResolvedConfig) -> Table {
    config.to_settings().to_table().unwrap_or_default()
}

fn row(page: &mut String, first: &str, second: &str, others: &[String]) {
    page.push_str(&format!(
        "| {first} | {second} | {} |\n",
        others.join(" | ")
    ));
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None => "by steps and photos".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

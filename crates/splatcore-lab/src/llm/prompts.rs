//! Templates of prompts: Markdown files in which `{{name}}` is replaced. An experiment has its own
//! copies, which people may edit.

use super::model::{Author, Message};
use std::collections::BTreeSet;
use std::path::Path;

/// A template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prompt {
    /// Asks for advice.
    Planner,
    /// Asks which advice to keep.
    Pruner,
    /// Asks for edits.
    Coder,
    /// Says why an answer could not be used.
    Repair,
    /// Asks whether a candidate computes the same.
    Checker,
}

impl Prompt {
    /// All templates.
    pub const ALL: [Self; 5] = [
        Self::Planner,
        Self::Pruner,
        Self::Coder,
        Self::Repair,
        Self::Checker,
    ];

    /// Its file.
    pub fn file(self) -> &'static str {
        match self {
            Self::Planner => "planner.md",
            Self::Pruner => "pruner.md",
            Self::Coder => "coder.md",
            Self::Repair => "repair.md",
            Self::Checker => "checker.md",
        }
    }

    /// Its text as shipped.
    pub fn shipped(self) -> &'static str {
        match self {
            Self::Planner => include_str!("prompts/planner.md"),
            Self::Pruner => include_str!("prompts/pruner.md"),
            Self::Coder => include_str!("prompts/coder.md"),
            Self::Repair => include_str!("prompts/repair.md"),
            Self::Checker => include_str!("prompts/checker.md"),
        }
    }

    /// Names that it may hold.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Planner => &["task", "files", "most"],
            Self::Pruner => &["task", "files", "most", "profile", "advice"],
            Self::Coder => &["task", "files", "profile", "parent", "advice"],
            Self::Repair => &["problem"],
            Self::Checker => &["task", "files", "change"],
        }
    }
}

/// Why templates cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// A name that nothing is known of.
    #[error("{file}: {{{{{name}}}}} is unknown; there are {known}")]
    Unknown {
        /// The template.
        file: &'static str,
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A file cannot be read or written.
    #[error("{0}")]
    File(String),
}

/// The templates of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompts {
    texts: [String; Prompt::ALL.len()],
}

impl Default for Prompts {
    /// The templates as shipped.
    fn default() -> Self {
        Self {
            texts: Prompt::ALL.map(|prompt| prompt.shipped().to_owned()),
        }
    }
}

impl Prompts {
    /// The templates in a folder. Those that are not there are written there as shipped.
    ///
    /// # Errors
    /// If a file cannot be read or written, or holds a name that nothing is known of.
    pub fn in_folder(folder: &Path) -> Result<Self, PromptError> {
        let failed = |path: &Path, error: std::io::Error| {
            PromptError::File(format!("{}: {error}", path.display()))
        };
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let mut prompts = Self::default();
        for (prompt, text) in Prompt::ALL.into_iter().zip(&mut prompts.texts) {
            let path = folder.join(prompt.file());
            match std::fs::read_to_string(&path) {
                Ok(found) => *text = found,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    std::fs::write(&path, &*text).map_err(|error| failed(&path, error))?;
                }
                Err(error) => return Err(failed(&path, error)),
            }
            check(prompt, text)?;
        }
        Ok(prompts)
    }

    /// The messages of a prompt. A line `---` with empty lines around it parts the model's frame
    /// from the question; without one all is the question. Values are not looked into: what they
    /// hold in braces stays.
    pub fn messages(&self, prompt: Prompt, values: &[(&str, &str)]) -> Vec<Message> {
        let text = &self.texts[prompt as usize];
        let filled = |part: &str| fill(part.trim(), values);
        match text.split_once("\n\n---\n\n") {
            Some((frame, question)) => vec![
                Message::new(Author::System, filled(frame)),
                Message::new(Author::User, filled(question)),
            ],
            None => vec![Message::new(Author::User, filled(text))],
        }
    }
}

fn check(prompt: Prompt, text: &str) -> Result<(), PromptError> {
    let known: BTreeSet<&str> = prompt.names().iter().copied().collect();
    match pieces(text).find_map(|(_, name)| name.filter(|name| !known.contains(name))) {
        None => Ok(()),
        Some(name) => Err(PromptError::Unknown {
            file: prompt.file(),
            name: name.to_owned(),
            known: known.into_iter().collect::<Vec<_>>().join(", "),
        }),
    }
}

fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    for (before, name) in pieces(text) {
        filled.push_str(before);
        let value = name.and_then(|name| values.iter().find(|(known, _)| *known == name));
        filled.push_str(value.map_or("", |(_, value)| value.trim_end()));
    }
    filled
}

/// Text, and the name in double braces that follows it.
fn pieces(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut from = 0;
        while let Some(open) = text[from..].find("{{").map(|at| from + at) {
            let inner = &text[open + 2..];
            let name = inner.find("}}").map(|end| &inner[..end]);
            let plain = |name: &&str| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
            };
            if let Some(name) = name.filter(plain) {
                rest = Some(&inner[name.len() + 2..]);
                return Some((&text[..open], Some(name)));
            }
            from = open + 2;
        }
        rest = None;
        Some((text, None))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_template_holds_all_its_names() {
        for prompt in Prompt::ALL {
            check(prompt, prompt.shipped()).unwrap();
            for name in prompt.names() {
                let held = format!("{{{{{name}}}}}");
                assert!(prompt.shipped().contains(&held), "{prompt:?} {name}");
            }
            assert_eq!(Prompt::ALL[prompt as usize], prompt);
        }
    }

    #[test]
    fn values_are_filled_in_and_not_looked_into() {
        let text = "a {{one}} {{two}} {{ x }} {{{}} {{one}}";
        let filled = fill(text, &[("one", "{{two}}"), ("two", "2\n\n")]);
        assert_eq!(filled, "a {{two}} 2 {{ x }} {{{}} {{two}}");
        let messages = Prompts::default().messages(Prompt::Planner, &[("task", "blend")]);
        assert_eq!(messages.len(), 2);
        assert!(messages[0].content.ends_with("You\nwrite no code."));
        assert!(
            messages[1]
                .content
                .starts_with("# Task\n\nblend\n\n# Files")
        );
        let repair = Prompts::default().messages(Prompt::Repair, &[("problem", "none")]);
        assert_eq!(repair.len(), 1);
    }

    #[test]
    fn an_experiment_has_its_own_templates() {
        let folder = tempfile::tempdir().unwrap();
        let prompts = folder.path().join("prompts");
        assert_eq!(Prompts::in_folder(&prompts).unwrap(), Prompts::default());
        let file = prompts.join("planner.md");
        std::fs::write(&file, "Look at {{files}}.").unwrap();
        let edited = Prompts::in_folder(&prompts).unwrap();
        let messages = edited.messages(Prompt::Planner, &[("files", "this")]);
        assert_eq!(messages, [Message::new(Author::User, "Look at this.")]);
        std::fs::write(&file, "Look at {{scenes}}.").unwrap();
        let error = Prompts::in_folder(&prompts).unwrap_err().to_string();
        let says = "planner.md: {{scenes}} is unknown; there are files, most, task";
        assert_eq!(error, says);
    }
}

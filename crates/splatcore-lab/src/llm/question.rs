//! Questions: what stands in prompts, what may not, and how an answer that cannot be used goes
//! back.

use super::model::{Author, Message, Model, ModelError, Parameters, Reply, Request, Role};
use super::prompts::{Prompt, Prompts};
use crate::candidate::Texts;
use similar::TextDiff;
use std::collections::BTreeMap;

/// How often an answer that cannot be used is sent back.
pub const REPAIRS: u32 = 2;

/// Bytes of a diff, a log or a list that a prompt holds.
pub const MAX_PART_BYTES: usize = 8 << 10;

/// What every question of an experiment needs.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What the task's kernels compute, for people and models.
    pub task: String,
    /// What each role's endpoint gets besides the messages.
    pub parameters: BTreeMap<Role, Parameters>,
    /// Words that no prompt may hold: names of held-out scenes.
    pub hidden: Vec<String>,
    /// Bytes that a prompt may have.
    pub max_prompt_bytes: usize,
    /// The templates.
    pub prompts: Prompts,
}

impl Setting {
    /// A setting without parameters and hidden words, for prompts of at most 400 KB.
    pub fn new(task: impl Into<String>) -> Self {
        Self {
            task: task.into(),
            parameters: BTreeMap::new(),
            hidden: Vec::new(),
            max_prompt_bytes: 400_000,
            prompts: Prompts::default(),
        }
    }

    /// The name of a role's model, as its endpoint knows it; that of the role where answers come
    /// from elsewhere.
    pub fn model_of(&self, role: Role) -> String {
        let parameters = self.parameters.get(&role);
        let name = parameters.and_then(|parameters| parameters.get("model")?.as_str());
        name.map_or_else(|| role.to_string(), str::to_owned)
    }

    /// A request, if its messages may be sent.
    ///
    /// # Errors
    /// [`ModelError::Prompt`] if a message is too long or holds a hidden word.
    pub fn request(
        &self,
        role: Role,
        number: u64,
        messages: Vec<Message>,
    ) -> Result<Request, ModelError> {
        let parameters = self.parameters.get(&role).cloned().unwrap_or_default();
        let request = Request {
            role,
            number,
            messages,
            parameters,
        };
        if request.bytes() > self.max_prompt_bytes {
            return Err(ModelError::Prompt(format!(
                "the {role}'s prompt has {} bytes, {} are allowed: give the task fewer files, or \
                 raise the limit",
                request.bytes(),
                self.max_prompt_bytes
            )));
        }
        if let Some(word) = self.hidden.iter().find(|word| {
            let held = |m: &Message| m.author != Author::Assistant && m.content.contains(*word);
            request.messages.iter().any(held)
        }) {
            return Err(ModelError::Prompt(format!(
                "the {role}'s prompt would name {word}, which is held out: take it out of the \
                 task's description, prompts and kernel files"
            )));
        }
        Ok(request)
    }

    /// Asks until `read` can use the answer, and sends it back at most [`REPAIRS`] times. `Err`
    /// inside `Ok`: why the last answer could not be used.
    ///
    /// # Errors
    /// Those of the model.
    pub fn ask<T>(
        &self,
        model: &mut impl Model,
        mut request: Request,
        mut read: impl FnMut(&str) -> Result<T, String>,
    ) -> Result<Result<T, String>, ModelError> {
        for repairs in 0.. {
            let reply = model.ask(&request)?;
            let problem = match read_whole(&reply, &mut read) {
                Ok(value) => return Ok(Ok(value)),
                Err(problem) => problem,
            };
            if repairs == REPAIRS {
                return Ok(Err(problem));
            }
            let mut messages = request.messages;
            messages.push(Message::new(Author::Assistant, reply.text));
            let problem = first_bytes(&self.without_hidden(&problem), MAX_PART_BYTES);
            let values = [("problem", problem.as_str())];
            messages.extend(self.prompts.messages(Prompt::Repair, &values));
            request = self.request(request.role, request.number, messages)?;
        }
        unreachable!("the repairs are counted")
    }

    /// `text` without the lines that hold a hidden word.
    pub fn without_hidden(&self, text: &str) -> String {
        let shown = |line: &&str| !self.hidden.iter().any(|word| line.contains(word));
        text.lines().filter(shown).collect::<Vec<_>>().join("\n")
    }
}

fn read_whole<T>(
    reply: &Reply,
    read: &mut impl FnMut(&str) -> Result<T, String>,
) -> Result<T, String> {
    match reply.cut {
        true => Err("it was cut off at the limit of tokens: be shorter".into()),
        false => read(&reply.text),
    }
}

/// Whole files, each in a fence.
pub fn files(texts: &Texts) -> String {
    let mut all = String::new();
    for (name, text) in texts {
        // A fence that the text does not hold.
        let mut fence = "```".to_owned();
        while text.contains(&fence) {
            fence.push('`');
        }
        all.push_str(&format!(
            "## {name}\n\n{fence}cuda\n{}\n{fence}\n\n",
            text.trim_end()
        ));
    }
    all
}

/// The changes from one set of files to another, as a unified diff of at most
/// [`MAX_PART_BYTES`].
pub fn diff(before: &Texts, after: &Texts) -> String {
    first_bytes(&whole_diff(before, after), MAX_PART_BYTES)
}

/// The changes from one set of files to another, as a unified diff.
pub fn whole_diff(before: &Texts, after: &Texts) -> String {
    let mut all = String::new();
    for (name, text) in after {
        let old = before.get(name).map_or("", String::as_str);
        if old != text {
            let diff = TextDiff::from_lines(old, text);
            all.push_str(&diff.unified_diff().header(name, name).to_string());
        }
    }
    all
}

/// The first lines of a text, so that it has at most `limit` bytes with a note on what is missing.
pub fn first_bytes(text: &str, limit: usize) -> String {
    const NOTE: &str = "(the rest is left out)";
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut end = limit.saturating_sub(NOTE.len() + 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind('\n').unwrap_or(end);
    format!("{}\n{NOTE}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Answering, reply};
    use super::*;

    fn texts(pairs: &[(&str, &str)]) -> Texts {
        pairs.iter().map(|&(n, t)| (n.into(), t.into())).collect()
    }

    #[test]
    fn prompts_that_may_not_be_sent_are_refused() {
        let mut setting = Setting::new("blend");
        setting.hidden = vec!["garden".into()];
        setting.max_prompt_bytes = 100;
        let request = |text: &str| {
            let messages = vec![Message::new(Author::User, text)];
            setting
                .request(Role::Coder, 0, messages)
                .map_err(|e| e.to_string())
        };
        assert!(request("the bicycle").is_ok());
        let error = request("the garden").unwrap_err();
        assert!(error.contains("would name garden"), "{error}");
        let error = request(&"x".repeat(101)).unwrap_err();
        assert!(error.contains("has 101 bytes, 100 are allowed"), "{error}");
        assert_eq!(setting.without_hidden("a\nin garden 3\nb"), "a\nb");
    }

    #[test]
    fn an_answer_goes_back_twice() {
        let setting = Setting::new("blend");
        let question = vec![Message::new(Author::User, "a number?")];
        let request = setting.request(Role::Coder, 0, question).unwrap();
        let mut sizes = Vec::new();
        let mut answers = ["one", "two", "3"].iter().cycle();
        let mut model = Answering(|request: &Request| {
            sizes.push(request.messages.len());
            let last = &request.messages[request.messages.len() - 1].content;
            assert_eq!(
                last.contains("no digit"),
                request.messages.len() > 1,
                "{last}"
            );
            Ok(reply(answers.next().unwrap()))
        });
        let number = |text: &str| {
            text.parse::<u32>()
                .map_err(|_| format!("no digit in {text}"))
        };
        let read = setting.ask(&mut model, request.clone(), number).unwrap();
        assert_eq!(read, Ok(3));
        let never = |text: &str| Err::<(), String>(format!("no digit in {text}"));
        let read = setting.ask(&mut model, request, never).unwrap();
        assert_eq!(read, Err("no digit in 3".into()));
        assert_eq!(sizes, [1, 3, 5, 1, 3, 5]);
    }

    #[test]
    fn an_answer_that_was_cut_off_is_not_read() {
        let setting = Setting::new("blend");
        let request = setting.request(Role::Coder, 0, Vec::new()).unwrap();
        let mut model = Answering(|_: &Request| {
            let mut reply = reply("3");
            reply.cut = true;
            Ok(reply)
        });
        let read = setting.ask(&mut model, request, |text: &str| Ok(text.to_owned()));
        assert!(read.unwrap().unwrap_err().contains("be shorter"));
    }

    #[test]
    fn files_and_changes_are_shown() {
        let before = texts(&[("a.cu", "one\ntwo\n"), ("b.cu", "same\n")]);
        let after = texts(&[("a.cu", "one\n2\n"), ("b.cu", "same\n")]);
        let shown = diff(&before, &after);
        assert_eq!(
            shown,
            "--- a.cu\n+++ a.cu\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
        );
        let fenced = files(&texts(&[("a.cu", "x // ```\n")]));
        assert_eq!(fenced, "## a.cu\n\n````cuda\nx // ```\n````\n\n");
    }

    #[test]
    fn long_texts_end_after_a_line() {
        let long = "äöü line\n".repeat(2000);
        let short = first_bytes(&long, MAX_PART_BYTES);
        assert!(short.len() <= MAX_PART_BYTES);
        assert!(short.ends_with("line\n(the rest is left out)"));
        assert_eq!(first_bytes("short", 5), "short");
    }
}

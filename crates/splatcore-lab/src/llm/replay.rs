//! A model that repeats a recorded transcript.

use super::model::{Model, ModelError, Parameters, Reply, Request, Role};
use super::record::Exchange;
use std::collections::BTreeMap;

/// Answers from a transcript, in its order: each request must be the one that was recorded.
#[derive(Debug)]
pub struct Replay {
    exchanges: Vec<Exchange>,
    next: usize,
}

impl Replay {
    /// A replay of these exchanges. The first `asked` of them have been repeated already, by a run
    /// that was killed and goes on now: as many as its own record holds.
    pub fn new(exchanges: Vec<Exchange>, asked: usize) -> Self {
        Self {
            exchanges,
            next: asked,
        }
    }

    /// The parameters that each role had. With others no request would be the recorded one.
    pub fn parameters(&self) -> BTreeMap<Role, Parameters> {
        let mut found = BTreeMap::new();
        for exchange in &self.exchanges {
            let request = &exchange.request;
            found
                .entry(request.role)
                .or_insert_with(|| request.parameters.clone());
        }
        found
    }
}

impl Model for Replay {
    fn ask(&mut self, request: &Request) -> Result<Reply, ModelError> {
        let number = self.next + 1;
        let Some(exchange) = self.exchanges.get(self.next) else {
            return Err(ModelError::Differs(format!(
                "the transcript ends after {} exchanges, and the {} is asked again: record more, \
                 or end the run here",
                self.exchanges.len(),
                request.role
            )));
        };
        if exchange.hash != request.hash() {
            return Err(ModelError::Differs(format!(
                "request {number} is not the recorded one: {}: replay with the commit, prompts \
                 and settings of the recorded experiment",
                difference(&exchange.request, request)
            )));
        }
        self.next += 1;
        Ok(exchange.reply.clone())
    }
}

/// The first difference between two requests, on one line.
pub(super) fn difference(recorded: &Request, now: &Request) -> String {
    if recorded.role != now.role {
        return format!("the {} was asked, now the {}", recorded.role, now.role);
    }
    if recorded.number != now.number {
        return format!(
            "it was of try {}, now of try {}",
            recorded.number, now.number
        );
    }
    let names = recorded.parameters.keys().chain(now.parameters.keys());
    for name in names {
        let (was, is) = (recorded.parameters.get(name), now.parameters.get(name));
        if was != is {
            let shown = |value: Option<&serde_json::Value>| {
                value.map_or("absent".to_owned(), |value| short(&value.to_string()))
            };
            return format!("parameter {name} was {}, now {}", shown(was), shown(is));
        }
    }
    for (at, (was, is)) in (1..).zip(recorded.messages.iter().zip(&now.messages)) {
        if was.author != is.author {
            return format!(
                "message {at} was the {}'s, now the {}'s",
                was.author.name(),
                is.author.name()
            );
        }
        if let Some((line, was, is)) = first_line(&was.content, &is.content) {
            return format!("message {at}, line {line} was {was:?}, now {is:?}");
        }
    }
    let (was, is) = (recorded.messages.len(), now.messages.len());
    format!("there were {was} messages, now {is}")
}

/// Number and text of the first line that differs.
fn first_line(was: &str, is: &str) -> Option<(usize, String, String)> {
    if was == is {
        return None;
    }
    let (mut left, mut right) = (was.split('\n'), is.split('\n'));
    for line in 1.. {
        match (left.next(), right.next()) {
            (None, None) => return None,
            (was, is) if was == is => (),
            (was, is) => {
                let shown = |text: Option<&str>| short(text.unwrap_or("(the end)"));
                return Some((line, shown(was), shown(is)));
            }
        }
    }
    None
}

fn short(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{} ...", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::{Author, Message};
    use super::super::testing::{exchange, reply, request};
    use super::*;

    fn replay(asked: usize) -> Replay {
        let recorded = ["a\nb", "c"].iter().zip(0..);
        let exchanges = recorded.map(|(text, number)| exchange(number, text, "yes"));
        Replay::new(exchanges.collect(), asked)
    }

    #[test]
    fn equal_requests_are_answered_in_order() {
        let mut model = replay(0);
        assert_eq!(model.ask(&request(0, "a\nb")), Ok(reply("yes")));
        assert_eq!(model.ask(&request(1, "c")), Ok(reply("yes")));
        let error = model.ask(&request(2, "d")).unwrap_err().to_string();
        assert!(error.contains("ends after 2 exchanges"), "{error}");
        assert_eq!(replay(1).ask(&request(1, "c")), Ok(reply("yes")));
        let parameters = &replay(0).parameters()[&Role::Coder];
        assert_eq!(parameters["model"], "m");
    }

    #[test]
    fn what_differs_is_said() {
        type Change = fn(&mut Request);
        let cases: [(Change, &str); 6] = [
            (
                |r| r.role = Role::Checker,
                "the coder was asked, now the checker",
            ),
            (|r| r.number = 7, "of try 0, now of try 7"),
            (
                |r| r.messages[0].content = "a\nB\nc".into(),
                r#"message 1, line 2 was "b", now "B""#,
            ),
            (
                |r| r.messages[0].content = "a".into(),
                r#"line 2 was "b", now "(the end)""#,
            ),
            (
                |r| r.messages.push(Message::new(Author::User, "more")),
                "there were 1 messages, now 2",
            ),
            (
                |r| drop(r.parameters.insert("seed".into(), 1.into())),
                "parameter seed was absent, now 1",
            ),
        ];
        for (change, says) in cases {
            let mut other = request(0, "a\nb");
            change(&mut other);
            let mut model = replay(0);
            let error = model.ask(&other).unwrap_err().to_string();
            assert!(error.starts_with("request 1 is not the recorded one"));
            assert!(error.contains(says), "{error}");
            assert_eq!(error.lines().count(), 1);
            // It costs nothing: the right request is still answered.
            assert!(model.ask(&request(0, "a\nb")).is_ok());
        }
    }
}

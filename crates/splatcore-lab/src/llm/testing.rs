//! What several tests need.

use super::endpoint::Price;
use super::model::{
    Author, By, Message, Model, ModelError, Parameters, Reply, Request, Role, Usage,
};
use super::record::Exchange;

/// A request of the coder with one message.
pub fn request(number: u64, question: &str) -> Request {
    Request {
        role: Role::Coder,
        number,
        messages: vec![Message::new(Author::User, question)],
        parameters: Parameters::from([
            ("model".into(), "m".into()),
            ("top_p".into(), (1.0 - f64::EPSILON).into()),
        ]),
    }
}

/// A reply of ten tokens in and five out.
pub fn reply(text: &str) -> Reply {
    Reply {
        text: text.into(),
        usage: Usage {
            tokens_in: 10,
            tokens_out: 5,
            estimated: false,
        },
        by: By::default(),
        cut: false,
    }
}

/// An exchange of both, at 1 and 2 a million tokens.
pub fn exchange(number: u64, question: &str, answer: &str) -> Exchange {
    let price = Price {
        input: 1.0,
        output: 2.0,
    };
    Exchange::new(request(number, question), reply(answer), Some(price), 0.5)
}

/// A model that a function answers for.
pub struct Answering<F>(pub F);

impl<F: FnMut(&Request) -> Result<Reply, ModelError>> Model for Answering<F> {
    fn ask(&mut self, request: &Request) -> Result<Reply, ModelError> {
        (self.0)(request)
    }
}

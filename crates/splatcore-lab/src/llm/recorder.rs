//! The one way to models: what was asked before is answered from the record, anything else within
//! the budget by the role's model, and then recorded.

use super::budget::Budget;
use super::endpoint::Price;
use super::model::{Model, ModelError, Reply, Request, Role};
use super::record::{Exchange, Record};
use crate::candidate::Bill;
use std::collections::BTreeMap;
use std::time::Instant;

/// A model for each role.
#[derive(Default)]
pub struct Models {
    models: BTreeMap<Role, Box<dyn Model + Send>>,
}

impl Models {
    /// Sets the model of a role.
    #[must_use]
    pub fn with(mut self, role: Role, model: impl Model + Send + 'static) -> Self {
        self.models.insert(role, Box::new(model));
        self
    }
}

impl Model for Models {
    fn ask(&mut self, request: &Request) -> Result<Reply, ModelError> {
        let model = self.models.get_mut(&request.role);
        let model = model.ok_or(ModelError::NoModel(request.role))?;
        model.ask(request)
    }
}

/// A model whose exchanges are on record and within a budget.
pub struct Recorder<M> {
    record: Record,
    budget: Budget,
    prices: BTreeMap<Role, Price>,
    /// Who answers, where the answer does not say.
    named: Option<String>,
    bills: Vec<Bill>,
    model: M,
}

impl<M: Model> Recorder<M> {
    /// Puts a model behind a record. The budget should know what the record has spent.
    pub fn new(record: Record, budget: Budget, prices: BTreeMap<Role, Price>, model: M) -> Self {
        Self {
            record,
            budget,
            prices,
            named: None,
            bills: Vec::new(),
            model,
        }
    }

    /// Says who answers, for programs and files: their answers do not.
    #[must_use]
    pub fn named(self, named: Option<String>) -> Self {
        Self { named, ..self }
    }

    /// The record.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }
}

impl<M: Model> Model for Recorder<M> {
    fn ask(&mut self, request: &Request) -> Result<Reply, ModelError> {
        if let Some(exchange) = self.record.find(&request.hash()) {
            self.bills.push(exchange.bill());
            return Ok(exchange.reply.clone());
        }
        let price = self.prices.get(&request.role).copied();
        let reservation = self.budget.reserve(request, price)?;
        let start = Instant::now();
        let mut reply = match self.model.ask(request) {
            Ok(reply) => reply,
            Err(error) => {
                self.budget.release(reservation);
                return Err(error);
            }
        };
        self.budget.settle(reservation, reply.usage, price);
        let seconds = start.elapsed().as_secs_f64();
        reply.by.model = reply.by.model.or_else(|| self.named.clone());
        let exchange = Exchange::new(request.clone(), reply.clone(), price, seconds);
        let answered = exchange.bill();
        self.record.append(exchange)?;
        self.bills.push(answered);
        Ok(reply)
    }

    fn take_bills(&mut self) -> Vec<Bill> {
        std::mem::take(&mut self.bills)
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::{Amount, Limits};
    use super::super::endpoint::{Endpoint, Keys};
    use super::super::http::Http;
    use super::super::pause::Pause;
    use super::super::record;
    use super::super::server::{Answer, Received, Server};
    use super::super::testing::{Answering, reply, request};
    use super::*;
    use std::path::Path;

    fn recorder<M: Model>(path: &Path, limits: Limits, model: M) -> Recorder<M> {
        let record = Record::open(path).unwrap();
        let budget = Budget::new(limits, record.exchanges());
        let price = Price {
            input: 1.0,
            output: 2.0,
        };
        Recorder::new(
            record,
            budget,
            BTreeMap::from([(Role::Coder, price)]),
            model,
        )
    }

    #[test]
    fn nothing_is_asked_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("llm.jsonl");
        let answer = |request: &Request| Ok(reply(&request.messages[0].content));
        let mut first = recorder(&path, Limits::default(), Answering(answer));
        assert_eq!(first.ask(&request(0, "a")), Ok(reply("a")));
        assert_eq!(first.ask(&request(1, "a")), Ok(reply("a")));
        let spent = first.budget().spent();
        assert_eq!((spent.calls, spent.tokens_in), (2, 20));
        assert_eq!(first.record().exchanges()[1].cost, Some(2e-5));
        drop(first);
        let silent = |_: &Request| panic!("asked again");
        let mut second = recorder(&path, Limits::default(), Answering(silent));
        assert_eq!(second.budget().spent(), spent);
        for number in [1, 0] {
            assert_eq!(second.ask(&request(number, "a")), Ok(reply("a")));
        }
    }

    #[test]
    fn a_call_that_fails_costs_nothing_and_is_not_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("llm.jsonl");
        let fails = |_: &Request| Err(ModelError::Differs("no".into()));
        let limits = Limits {
            calls: Some(1),
            ..Limits::default()
        };
        let mut model = recorder(&path, limits, Answering(fails));
        for _ in 0..3 {
            let error = model.ask(&request(0, "a")).unwrap_err();
            assert_eq!(error, ModelError::Differs("no".into()));
        }
        assert_eq!(model.budget().spent(), Amount::default());
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn roles_without_a_model_are_named() {
        let mut models =
            Models::default().with(Role::Planner, Answering(|_: &Request| Ok(reply("planned"))));
        let error = models.ask(&request(0, "a")).unwrap_err().to_string();
        assert!(
            error.starts_with("no model is set for the coder"),
            "{error}"
        );
    }

    #[test]
    fn a_key_reaches_no_file() {
        const SECRET: &str = "sk-in-no-file";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("llm.jsonl");
        let answer = |number, received: &Received| {
            let quoted = received.headers["authorization"].clone();
            match number {
                1 => Answer::Reply(reply(&format!("you sent {quoted}"))),
                _ => Answer::Status(418, quoted),
            }
        };
        let server = Server::start(0, answer).unwrap();
        let settings = format!(
            "base_url = '{}'\nmodel = 'm'\nkey_env = 'LAB_KEY'",
            server.base_url()
        );
        let endpoint: Endpoint = toml::from_str(&settings).unwrap();
        let keys = Keys::of(|_| Some(SECRET.to_owned()));
        let http = Http::new(Role::Coder, endpoint, keys, Pause::default()).unwrap();
        let mut model = recorder(&path, Limits::default(), http);
        assert_eq!(
            model.ask(&request(0, "a")).unwrap().text,
            "you sent Bearer [key]"
        );
        let refused = model.ask(&request(1, "b")).unwrap_err();
        let leaks = model.ask(&request(2, SECRET)).unwrap_err();
        for said in [
            refused.to_string(),
            leaks.to_string(),
            format!("{refused:?}"),
        ] {
            assert!(!said.contains(SECRET), "{said}");
        }
        assert_eq!(record::read(&path).unwrap().len(), 1);
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let written = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(!written.contains(SECRET));
        }
    }
}

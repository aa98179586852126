//! What models may cost. A call is reserved before it is made and settled after: no call can
//! exceed a budget unnoticed.

use super::endpoint::Price;
use super::model::{ModelError, Parameters, Request, Usage, tokens_of};
use super::record::Exchange;
use serde::{Deserialize, Serialize};

/// Tokens of a reply that are reserved if no parameter limits them.
const USUAL_REPLY_TOKENS: u64 = 16_384;

/// Names under which endpoints take a limit of tokens for the reply.
const LIMITS_OF_REPLY: [&str; 3] = ["max_completion_tokens", "max_tokens", "max_output_tokens"];

/// Limits of an experiment; what is absent is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Answers of models.
    #[serde(default)]
    pub calls: Option<u64>,
    /// Tokens that models read.
    #[serde(default)]
    pub tokens_in: Option<u64>,
    /// Tokens that models write.
    #[serde(default)]
    pub tokens_out: Option<u64>,
    /// Money, in the currency of the prices.
    #[serde(default)]
    pub money: Option<f64>,
}

/// An amount of everything that is limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Amount {
    /// Answers of models.
    pub calls: u64,
    /// Tokens that models read.
    pub tokens_in: u64,
    /// Tokens that models wrote.
    pub tokens_out: u64,
    /// Money, as far as prices are known.
    pub money: f64,
}

impl Amount {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
        self.money += other.money;
    }
}

/// Limits, and what is spent of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    limits: Limits,
    spent: Amount,
    reserved: Vec<(u64, Amount)>,
    next: u64,
}

/// A call that is under way. Give it back by [`Budget::settle`] or [`Budget::release`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "settle it after the call, or release it if the call failed"]
pub struct Reservation(u64);

impl Budget {
    /// A budget of which these exchanges have spent already.
    pub fn new(limits: Limits, exchanges: &[Exchange]) -> Self {
        let mut spent = Amount::default();
        for exchange in exchanges {
            let usage = exchange.reply.usage;
            spent.add(Amount {
                calls: 1,
                tokens_in: usage.tokens_in,
                tokens_out: usage.tokens_out,
                money: exchange.cost.unwrap_or(0.0),
            });
        }
        Self {
            limits,
            spent,
            ..Self::default()
        }
    }

    /// What is spent by now.
    pub fn spent(&self) -> Amount {
        self.spent
    }

    /// The limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Sets aside what a request will cost at most: tokens as estimated from its bytes, and for
    /// the reply the limit in its parameters, or 16384 tokens without one.
    ///
    /// # Errors
    /// [`ModelError::Budget`] if a limit would be exceeded, or if there is a limit of money and the
    /// price is unknown.
    pub fn reserve(
        &mut self,
        request: &Request,
        price: Option<Price>,
    ) -> Result<Reservation, ModelError> {
        if self.limits.money.is_some() && price.is_none() {
            return Err(ModelError::Budget(format!(
                "the price of the {} is unknown, so that the budget of money cannot be kept: set \
                 its price, 0 if it costs nothing",
                request.role
            )));
        }
        let usage = Usage {
            tokens_in: tokens_of(request.bytes()),
            tokens_out: reply_tokens(&request.parameters),
            estimated: true,
        };
        let wanted = Amount {
            calls: 1,
            tokens_in: usage.tokens_in,
            tokens_out: usage.tokens_out,
            money: price.map_or(0.0, |price| price.of(usage)),
        };
        self.check(request, wanted)?;
        self.next += 1;
        self.reserved.push((self.next, wanted));
        Ok(Reservation(self.next))
    }

    fn check(&self, request: &Request, wanted: Amount) -> Result<(), ModelError> {
        let mut all = self.spent;
        self.reserved
            .iter()
            .for_each(|(_, amount)| all.add(*amount));
        let count = |name: &str, limit: Option<u64>, have: u64, wants: u64| match limit {
            Some(limit) if have.saturating_add(wants) > limit => {
                Err(exceeded(request, name, &limit, &have, &wants))
            }
            _ => Ok(()),
        };
        let limits = &self.limits;
        count("calls", limits.calls, all.calls, wanted.calls)?;
        count(
            "tokens_in",
            limits.tokens_in,
            all.tokens_in,
            wanted.tokens_in,
        )?;
        count(
            "tokens_out",
            limits.tokens_out,
            all.tokens_out,
            wanted.tokens_out,
        )?;
        match limits.money {
            Some(limit) if all.money + wanted.money > limit => {
                let shown = [limit, all.money, wanted.money].map(|m| format!("{m:.4}"));
                Err(exceeded(request, "money", &shown[0], &shown[1], &shown[2]))
            }
            _ => Ok(()),
        }
    }

    /// Replaces what was set aside by what a call took.
    pub fn settle(&mut self, reservation: Reservation, usage: Usage, price: Option<Price>) {
        self.release(reservation);
        self.spent.add(Amount {
            calls: 1,
            tokens_in: usage.tokens_in,
            tokens_out: usage.tokens_out,
            money: price.map_or(0.0, |price| price.of(usage)),
        });
    }

    /// Gives back what was set aside for a call that failed.
    pub fn release(&mut self, reservation: Reservation) {
        self.reserved.retain(|(number, _)| *number != reservation.0);
    }
}

fn exceeded(
    request: &Request,
    name: &str,
    limit: &dyn std::fmt::Display,
    spent: &dyn std::fmt::Display,
    wanted: &dyn std::fmt::Display,
) -> ModelError {
    ModelError::Budget(format!(
        "the budget of {name} ends: {spent} of {limit} are spent, and the {}'s next request may \
         take {wanted}: raise the budget and resume, or look at the report",
        request.role
    ))
}

/// The limit of the reply in these parameters.
fn reply_tokens(parameters: &Parameters) -> u64 {
    let found = LIMITS_OF_REPLY
        .iter()
        .find_map(|name| parameters.get(*name)?.as_u64());
    found.unwrap_or(USUAL_REPLY_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{exchange, request};
    use super::*;

    const PRICE: Option<Price> = Some(Price {
        input: 1.0,
        output: 2.0,
    });

    fn usage(tokens_in: u64, tokens_out: u64) -> Usage {
        Usage {
            tokens_in,
            tokens_out,
            estimated: false,
        }
    }

    /// A request of 100 tokens, at most 1000 back.
    fn asked() -> Request {
        let mut request = request(0, &"x".repeat(300));
        request.parameters.insert("max_tokens".into(), 1000.into());
        request
    }

    #[test]
    fn calls_are_reserved_and_settled() {
        let limits = Limits {
            tokens_out: Some(2500),
            ..Limits::default()
        };
        let mut budget = Budget::new(limits, &[exchange(0, "a", "b")]);
        assert_eq!(budget.spent().tokens_out, 5);
        let first = budget.reserve(&asked(), None).unwrap();
        let second = budget.reserve(&asked(), None).unwrap();
        let error = budget.reserve(&asked(), None).unwrap_err().to_string();
        let says = "the budget of tokens_out ends: 2005 of 2500 are spent";
        assert!(error.starts_with(says), "{error}");
        budget.settle(first, usage(100, 300), None);
        budget.release(second);
        let amount = Amount {
            calls: 2,
            tokens_in: 110,
            tokens_out: 305,
            money: 2e-5,
        };
        assert_eq!(budget.spent(), amount);
        assert!(budget.reserve(&asked(), None).is_ok());
    }

    #[test]
    fn every_limit_holds() {
        let cases = [
            (r#"{"calls":0}"#, "budget of calls ends: 0 of 0"),
            (r#"{"tokens_in":99}"#, "may take 100"),
            (r#"{"tokens_out":999}"#, "may take 1000"),
            (r#"{"money":0.002}"#, "0.0000 of 0.0020 are spent"),
        ];
        for (limits, says) in cases {
            let mut budget = Budget::new(serde_json::from_str(limits).unwrap(), &[]);
            let error = budget.reserve(&asked(), PRICE).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
            assert_eq!(error.lines().count(), 1);
            assert_eq!(budget.spent(), Amount::default());
        }
        let limits = Limits {
            money: Some(0.0022),
            ..Limits::default()
        };
        assert!(Budget::new(limits, &[]).reserve(&asked(), PRICE).is_ok());
    }

    #[test]
    fn money_needs_prices() {
        let limits = Limits {
            money: Some(1.0),
            ..Limits::default()
        };
        let mut budget = Budget::new(limits, &[]);
        let error = budget.reserve(&asked(), None).unwrap_err().to_string();
        assert!(error.contains("price of the coder is unknown"), "{error}");
        assert!(Budget::default().reserve(&asked(), None).is_ok());
    }

    #[test]
    fn without_a_limit_the_usual_length_is_reserved() {
        assert_eq!(reply_tokens(&Parameters::new()), USUAL_REPLY_TOKENS);
    }
}

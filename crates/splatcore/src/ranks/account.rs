//! What each rank says of itself when the training is over: for metrics.json, and in a line.

use serde::{Deserialize, Serialize};
use splatcore_train::memory::{self, Bytes};
use splatcore_train::{Breakdown, TrainError, Trainer};

/// A rank of a training. Times are of steps whose stages were timed, on average.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Its number.
    pub rank: usize,
    /// Its machine.
    pub host: String,
    /// Its card there; `None` of a processor.
    pub card: Option<usize>,
    /// Seconds of a step in which its card computed.
    pub work_seconds: Option<f64>,
    /// Seconds of a step in which its card waited for exchanges.
    pub exchange_seconds: Option<f64>,
    /// The most bytes of the card's memory that it used at a time, without what driver and NCCL
    /// take for themselves.
    pub card_bytes: Option<u64>,
    /// The bytes that it might have used.
    pub card_bytes_in_all: Option<u64>,
    /// The most bytes of the computer's memory that its process had at a time, if the system says.
    pub host_bytes: Option<u64>,
    /// Bytes of the scene that lay in the computer's memory at the end.
    pub offloaded_bytes: u64,
}

impl Account {
    /// Adds what a trainer and the system know to who a rank is.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn with(self, trainer: &mut Trainer) -> Result<Self, TrainError> {
        let times = trainer.breakdown().as_ref().map(times);
        Ok(Self {
            work_seconds: times.map(|[work, _]| work),
            exchange_seconds: times.map(|[_, exchange]| exchange),
            host_bytes: memory::peak(),
            offloaded_bytes: trainer.host_memory()?.bytes,
            ..self
        })
    }

    fn place(&self) -> String {
        match self.card {
            Some(card) => format!("card {card} of {}", self.host),
            None => self.host.clone(),
        }
    }
}

/// Seconds of a step in which the device computed, and in which it waited for exchanges.
fn times(breakdown: &Breakdown) -> [f64; 2] {
    let (mut work, mut exchange) = (0.0, 0.0);
    for part in &breakdown.parts {
        match part.name {
            "exchange" => exchange += part.seconds,
            // What a rank does alone, and what is left of the clock.
            "checkpoint" | "evaluation" | "idle" => {}
            _ => work += part.seconds,
        }
    }
    [work, exchange].map(|seconds| seconds / f64::from(breakdown.steps.max(1)))
}

/// Which rank is the slowest and which card the fullest, in a line; `None` if neither is known.
pub fn in_a_line(accounts: &[Account]) -> Option<String> {
    let slowest = accounts.iter().filter_map(|account| {
        Some((
            account,
            account.work_seconds?,
            account.exchange_seconds.unwrap_or(0.0),
        ))
    });
    let slowest = slowest.max_by(|a, b| a.1.total_cmp(&b.1));
    let slowest = slowest.map(|(account, work, exchange)| {
        format!(
            "rank {} ({}) computes longest: {:.2} ms a step, and {:.2} in exchanges",
            account.rank,
            account.place(),
            1e3 * work,
            1e3 * exchange
        )
    });
    let full = |account: &Account| {
        let all = account.card_bytes_in_all.filter(|&all| all > 0)?;
        Some((account.card_bytes?, all))
    };
    let fullest = accounts.iter().filter_map(|a| full(a).map(|of| (a, of)));
    let share = |(bytes, all): (u64, u64)| bytes as f64 / all as f64;
    let fullest = fullest.max_by(|a, b| share(a.1).total_cmp(&share(b.1)));
    let fullest = fullest.map(|(account, (bytes, all))| {
        format!(
            "the card of rank {} ({}) is the fullest: {} of {}",
            account.rank,
            account.place(),
            Bytes(bytes),
            Bytes(all)
        )
    });
    let both: Vec<String> = slowest.into_iter().chain(fullest).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(rank: usize, work: f64, card_bytes: u64) -> Account {
        Account {
            rank,
            host: "node1".into(),
            card: Some(rank),
            work_seconds: Some(work),
            exchange_seconds: Some(0.0005),
            card_bytes: Some(card_bytes),
            card_bytes_in_all: Some(4 << 30),
            ..Account::default()
        }
    }

    #[test]
    fn the_slowest_rank_and_the_fullest_card_are_named() {
        let all = [
            account(0, 0.002, 1 << 30),
            account(1, 0.003, 1 << 29),
            account(2, 0.001, 3 << 30),
        ];
        assert_eq!(
            in_a_line(&all).unwrap(),
            "rank 1 (card 1 of node1) computes longest: 3.00 ms a step, and 0.50 in exchanges; \
             the card of rank 2 (card 2 of node1) is the fullest: 3.0 GiB of 4.0 GiB"
        );
        let short = all.map(|account| Account {
            work_seconds: None,
            ..account
        });
        let line = in_a_line(&short).unwrap();
        assert!(
            line.starts_with("the card of rank 2 (card 2 of node1) is the fullest"),
            "{line}"
        );
        assert_eq!(in_a_line(&[Account::default()]), None);
    }
}

//! Which gate an error of a worker belongs to.

use crate::gates::{Gate, Rejection};
use crate::worker::WorkerError;

/// Words of backends and the emulator, and the gates that they belong to, most telling first.
const WORDS: [(&str, Gate); 16] = [
    ("did not compile", Gate::Compile),
    ("does not compile", Gate::Compile),
    ("race at", Gate::Races),
    ("wait", Gate::Races),
    ("which lacks the caller", Gate::Races),
    ("it needs the whole warp", Gate::Races),
    ("nothing is allocated", Gate::Memory),
    ("were given back", Gate::Memory),
    ("the end of", Gate::Memory),
    ("that begin", Gate::Memory),
    ("local memory", Gate::Memory),
    ("is not one of", Gate::Memory),
    ("guard", Gate::Memory),
    ("canary", Gate::Memory),
    ("illegal", Gate::Memory),
    ("misaligned", Gate::Memory),
];

/// The rejection of a candidate whose worker failed.
pub fn blame(error: WorkerError) -> Rejection {
    let reason = error.to_string();
    let gate = match &error {
        WorkerError::Deadline { .. } => Gate::Deadline,
        // A crash: on an emulator an access outside all memory.
        WorkerError::Ended { .. } => Gate::Memory,
        WorkerError::Said(words) => {
            let found = WORDS.iter().find(|(word, _)| words.contains(word));
            found.map_or(Gate::Result, |&(_, gate)| gate)
        }
        WorkerError::Unconfined(_) | WorkerError::System(_) => Gate::Result,
    };
    Rejection { gate, reason }
}

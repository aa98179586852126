//! [`History`]: steps that can be undone and redone.

use super::mask::{Difference, Mask};
use super::moves::Moves;
use std::collections::VecDeque;

/// Memory that steps may take; beyond it the oldest are forgotten. A step takes at most a quarter
/// byte a Gaussian for each of two masks.
const MAX_BYTES: usize = 256 << 20;

/// What edits change.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Gaussians that are deleted.
    pub deleted: Mask,
    /// Gaussians that are selected; none of them is deleted.
    pub selected: Mask,
    /// How the scene is moved when it is saved.
    pub moves: Moves,
}

impl State {
    /// Nothing deleted, selected or moved.
    pub fn new(gaussians: usize) -> Self {
        Self {
            deleted: Mask::none(gaussians),
            selected: Mask::none(gaussians),
            moves: Moves::default(),
        }
    }
}

/// A change of a [`State`], which leads both ways.
struct Step {
    deleted: Difference,
    selected: Difference,
    /// Those of the other state.
    moves: Moves,
}

impl Step {
    fn bytes(&self) -> usize {
        self.deleted.bytes() + self.selected.bytes() + size_of::<Self>()
    }

    /// Changes the state, and itself into the step that leads back.
    fn take(&mut self, state: &mut State) {
        state.deleted.apply(&self.deleted);
        state.selected.apply(&self.selected);
        std::mem::swap(&mut state.moves, &mut self.moves);
    }
}

/// The steps that led to a state, and those that were undone.
pub struct History {
    past: VecDeque<Step>,
    future: Vec<Step>,
    bytes: usize,
    most_bytes: usize,
}

impl Default for History {
    fn default() -> Self {
        Self {
            past: VecDeque::new(),
            future: Vec::new(),
            bytes: 0,
            most_bytes: MAX_BYTES,
        }
    }
}

impl History {
    /// Goes from `state` to `next`, which becomes the newest step; what was undone is forgotten.
    /// Returns whether they differ.
    pub fn go(&mut self, state: &mut State, next: State) -> bool {
        if *state == next {
            return false;
        }
        let step = Step {
            deleted: state.deleted.difference(&next.deleted),
            selected: state.selected.difference(&next.selected),
            moves: state.moves.clone(),
        };
        let undone: usize = self.future.drain(..).map(|step| step.bytes()).sum();
        self.bytes = self.bytes + step.bytes() - undone;
        self.past.push_back(step);
        while self.bytes > self.most_bytes {
            let Some(oldest) = self.past.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes();
        }
        *state = next;
        true
    }

    /// Takes the newest step back. Returns whether there was one.
    pub fn undo(&mut self, state: &mut State) -> bool {
        let Some(mut step) = self.past.pop_back() else {
            return false;
        };
        step.take(state);
        self.future.push(step);
        true
    }

    /// Takes the step again that was undone last. Returns whether there was one.
    pub fn redo(&mut self, state: &mut State) -> bool {
        let Some(mut step) = self.future.pop() else {
            return false;
        };
        step.take(state);
        self.past.push_back(step);
        true
    }

    /// Steps that can be undone, and redone.
    pub fn steps(&self) -> [usize; 2] {
        [self.past.len(), self.future.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    fn random(rng: &mut Rng, len: usize) -> State {
        let mut bits = |share: f32| {
            let chosen: Vec<bool> = (0..len).map(|_| rng.normal() > share).collect();
            Mask::of(len, |i| chosen[i])
        };
        let (deleted, selected) = (bits(1.0), bits(0.5));
        State {
            selected: selected.without(&deleted),
            deleted,
            ..State::new(len)
        }
    }

    /// A hundred steps back and forth meet every state again.
    #[test]
    fn any_number_of_steps_leads_back_and_forth() {
        let mut rng = Rng::new(5, 0);
        let (mut history, mut state) = (History::default(), State::new(1000));
        let mut met = vec![state.clone()];
        for i in 0..100 {
            let mut next = random(&mut rng, 1000);
            next.moves.metric = (i % 2 == 0).then_some(([[0.0; 3], [1.0; 3]], 2.0));
            assert!(history.go(&mut state, next));
            met.push(state.clone());
        }
        assert!(!history.go(&mut state.clone(), state.clone()));
        assert_eq!(history.steps(), [100, 0]);
        for want in met[..100].iter().rev() {
            assert!(history.undo(&mut state));
            assert!(state == *want);
        }
        assert!(!history.undo(&mut state));
        for want in &met[1..61] {
            assert!(history.redo(&mut state));
            assert!(state == *want);
        }
        assert_eq!(history.steps(), [60, 40]);
        // A new step forgets what was undone.
        assert!(history.go(&mut state, State::new(1000)));
        assert_eq!(history.steps(), [61, 0]);
        assert!(!history.redo(&mut state));
    }

    #[test]
    fn the_oldest_steps_go_when_memory_is_short() {
        let (len, mut state) = (6400, State::new(6400));
        let mut history = History {
            most_bytes: 64_000,
            ..History::default()
        };
        for i in 0..80 {
            let next = State {
                selected: Mask::of(len, |g| (g + i) % 2 == 0),
                ..State::new(len)
            };
            assert!(history.go(&mut state, next));
        }
        let [past, _] = history.steps();
        // 100 words of 16 bytes a step, and what each has beside them.
        assert!((25..41).contains(&past), "{past}");
        assert!(history.bytes <= 64_000);
    }
}

//! The table of numbers that are refined beside the scene, in double precision: a row for each
//! photo, or for each lens that photos share. Poses and intrinsics have one each.

/// Adam's decays. A photo is seen some hundred times: the second moment must forget sooner than
/// that of the Gaussians.
const BETAS: [f64; 2] = [0.9, 0.99];
const EPSILON: f64 = 1e-15;

/// What a table is called in a checkpoint, and those of its columns whose names differ.
pub struct Names {
    /// Of the table.
    pub table: &'static str,
    /// Of [`Refined::values`].
    pub values: &'static str,
    /// Of [`Refined::moves`].
    pub moves: &'static str,
    /// Where the numbers of a row of earlier files are among those of today; empty if they were as
    /// many.
    pub earlier: &'static [usize],
}

/// Rows of values `V`, which N numbers move by Adam; M counts of moves, one for all numbers or one
/// for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined<V, const N: usize, const M: usize> {
    /// From what the dataset says to what is known now.
    pub values: Vec<V>,
    /// Adam's first moments.
    pub first: Vec<[f64; N]>,
    /// Adam's second moments.
    pub second: Vec<[f64; N]>,
    /// Moves taken, the exponents of Adam's bias corrections.
    pub moves: Vec<[u32; M]>,
    /// Not 0 if the row has been at a limit.
    pub limited: Vec<u32>,
    /// Views of the gradients that wait for the next move.
    pub waiting_views: Vec<u32>,
    /// Those gradients.
    pub waiting: Vec<[f64; N]>,
}

impl<V: Copy, const N: usize, const M: usize> Refined<V, N, M> {
    /// Rows that nothing is known of.
    pub fn fresh(rows: usize, value: V) -> Self {
        Self {
            values: vec![value; rows],
            first: vec![[0.0; N]; rows],
            second: vec![[0.0; N]; rows],
            moves: vec![[0; M]; rows],
            limited: vec![0; rows],
            waiting_views: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Whether it has so many rows, and gradients of so many views.
    pub fn fits(&self, rows: usize, views: usize) -> bool {
        let (first, second) = (self.first.len(), self.second.len());
        let (moves, limited) = (self.moves.len(), self.limited.len());
        [self.values.len(), first, second, moves, limited] == [rows; 5]
            && self.waiting.len() == self.waiting_views.len()
            && (self.waiting_views.iter()).all(|&view| (view as usize) < views)
    }

    /// Keeps a gradient of a view for the next move, unless it is not finite.
    pub fn note(&mut self, view: usize, gradient: [f64; N]) {
        if gradient.iter().all(|g| g.is_finite()) {
            self.waiting_views.push(view as u32);
            self.waiting.push(gradient);
        }
    }

    /// The gradients that wait, with their views; none do afterwards.
    pub fn take_waiting(&mut self) -> Vec<(usize, [f64; N])> {
        let views = std::mem::take(&mut self.waiting_views).into_iter();
        let gradients = std::mem::take(&mut self.waiting);
        views.map(|view| view as usize).zip(gradients).collect()
    }

    /// Adam's step of a row by a gradient; numbers without a rate are held.
    pub fn adam(&mut self, row: usize, gradient: &[f64; N], rates: [Option<f64>; N]) -> [f64; N] {
        let (first, second) = (&mut self.first[row], &mut self.second[row]);
        let moves = &mut self.moves[row];
        let is_each = M == N;
        for (k, moves) in moves.iter_mut().enumerate() {
            let moved = !is_each || rates[k].is_some();
            *moves = moves.saturating_add(moved.into());
        }
        std::array::from_fn(|k| {
            let Some(rate) = rates[k] else {
                return 0.0;
            };
            let moves = moves[if is_each { k } else { 0 }].min(1 << 20) as i32;
            let corrections = BETAS.map(|beta| 1.0 - beta.powi(moves));
            let g = gradient[k];
            first[k] = BETAS[0] * first[k] + (1.0 - BETAS[0]) * g;
            second[k] = BETAS[1] * second[k] + (1.0 - BETAS[1]) * g * g;
            let root = (second[k] / corrections[1]).sqrt();
            -rate * first[k] / corrections[0] / (root + EPSILON)
        })
    }

    /// Notes that a row is at a limit; whether for the first time.
    pub fn note_limit(&mut self, row: usize) -> bool {
        std::mem::replace(&mut self.limited[row], 1) == 0
    }

    /// Forgets what a row's gradients were, and puts it somewhere.
    pub fn begin_at(&mut self, row: usize, value: V) {
        self.values[row] = value;
        (self.first[row], self.second[row]) = ([0.0; N], [0.0; N]);
        self.moves[row] = [0; M];
    }
}

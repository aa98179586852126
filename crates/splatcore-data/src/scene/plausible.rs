//! What hardly is a scene: Gaussians that nobody can see, all at one place, or of absurd size. The
//! one place that judges what the readers of all formats give; what it finds becomes notes.

use splatcore_core::Gaussians;
use splatcore_core::gaussians::sigmoid;
use splatcore_core::semantics::ALPHA_MIN;
use std::iter::zip;

/// No real scene has centres or sizes beyond this, in any unit.
pub(super) const MAX_LENGTH: f32 = 1e9;
/// Nor is a Gaussian seen whose largest standard deviation is below this share of a unit: zeros of
/// formats that hold sizes themselves become the smallest f32.
const MIN_SIZE: f32 = 1e-20;

/// Counts over a scene's sound Gaussians; they may come in pieces, in any order.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    gaussians: usize,
    min: [f32; 3],
    max: [f32; 3],
    /// With an opacity that the renderer draws.
    visible: usize,
    /// With a size.
    extended: usize,
    huge: usize,
    far: usize,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            gaussians: 0,
            min: [f32::INFINITY; 3],
            max: [f32::NEG_INFINITY; 3],
            visible: 0,
            extended: 0,
            huge: 0,
            far: 0,
        }
    }
}

impl Counts {
    /// Of all Gaussians of a set.
    pub fn of(gaussians: &Gaussians) -> Self {
        let mut counts = Self::default();
        (0..gaussians.len()).for_each(|i| counts.add(gaussians, i));
        counts
    }

    /// Takes Gaussian `i`, which is sound.
    pub fn add(&mut self, gaussians: &Gaussians, i: usize) {
        let mean = gaussians.means[i];
        let largest = gaussians.log_scales[i]
            .into_iter()
            .fold(f32::NEG_INFINITY, f32::max);
        self.gaussians += 1;
        for (axis, v) in mean.into_iter().enumerate() {
            self.min[axis] = self.min[axis].min(v);
            self.max[axis] = self.max[axis].max(v);
        }
        self.visible += usize::from(f64::from(sigmoid(gaussians.opacity_logits[i])) >= ALPHA_MIN);
        self.extended += usize::from(largest > MIN_SIZE.ln());
        self.huge += usize::from(largest > MAX_LENGTH.ln());
        self.far += usize::from(mean.iter().any(|v| v.abs() > MAX_LENGTH));
    }

    /// Takes what others counted.
    pub fn join(mut self, other: Self) -> Self {
        for axis in 0..3 {
            self.min[axis] = self.min[axis].min(other.min[axis]);
            self.max[axis] = self.max[axis].max(other.max[axis]);
        }
        self.gaussians += other.gaussians;
        self.visible += other.visible;
        self.extended += other.extended;
        self.huge += other.huge;
        self.far += other.far;
        self
    }

    /// What is to be said, a line each.
    pub fn notes(&self, dropped: usize) -> Vec<String> {
        let count = self.gaussians;
        if count == 0 {
            return match dropped {
                0 => Vec::new(),
                _ => vec!["no Gaussian is left: nothing can be seen".into()],
            };
        }
        let mut notes = Vec::new();
        let mut say = |wrong: bool, line: String| {
            if wrong {
                notes.push(line);
            }
        };
        let [x, y, z] = self.min;
        say(
            count > 1 && self.min == self.max,
            format!("all {count} Gaussians are at one place, ({x}, {y}, {z}): not a scene"),
        );
        say(
            self.visible == 0,
            format!(
                "nothing can be seen: the opacity of all {count} Gaussians is below 1/255, which \
                 no renderer draws"
            ),
        );
        say(
            self.extended == 0,
            format!("all {count} Gaussians have size 0: they are points, if anything is seen"),
        );
        say(
            self.huge > 0,
            format!(
                "{} of {count} Gaussians are larger than {MAX_LENGTH:e} units: they cover all else",
                self.huge
            ),
        );
        say(
            self.far > 0,
            format!(
                "{} of {count} Gaussians are farther than {MAX_LENGTH:e} units from the origin",
                self.far
            ),
        );
        notes
    }
}

/// How many Gaussians were left out for which parameter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unsound([usize; 5]);

impl Unsound {
    /// Takes Gaussian `i`, which is not sound.
    pub fn add(&mut self, gaussians: &Gaussians, i: usize) {
        let wrong = |values: &[f32]| values.iter().any(|v| !v.is_finite());
        let rotation = &gaussians.rotations[i];
        let found = [
            wrong(&gaussians.means[i]),
            wrong(&gaussians.log_scales[i]),
            wrong(rotation) || rotation.iter().all(|&q| q == 0.0),
            wrong(&gaussians.opacity_logits[i..=i]),
            gaussians.sh_of(i).iter().any(|colour| wrong(colour)),
        ];
        zip(&mut self.0, found).for_each(|(count, found)| *count += usize::from(found));
    }

    /// What others counted, too.
    pub fn join(mut self, other: Self) -> Self {
        zip(&mut self.0, other.0).for_each(|(count, other)| *count += other);
        self
    }

    /// What is to be said; nothing if none was left out.
    pub fn note(self) -> Option<String> {
        let names = ["position", "scale", "rotation", "opacity", "colour"];
        let said: Vec<String> = zip(names, self.0)
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} of {count}"))
            .collect();
        (!said.is_empty()).then(|| {
            format!(
                "left out for what is not finite (or a rotation of 0): {}",
                said.join(", ")
            )
        })
    }
}

//! How long a step takes, as far as it was measured.

/// Before the number of Gaussians has changed much: the share of a step's time that follows it.
const SHARE_OF_GAUSSIANS: f64 = 0.15;
/// Time of a step on photos of a half and of a quarter of each side, in times of a step on full
/// ones, before these are measured.
const COARSE: [(u32, f64); 2] = [(2, 0.6), (4, 0.45)];
/// What is left of a measurement's weight when the next one comes.
const MEMORY: f64 = 0.9;
/// The relative spread of the number of Gaussians at which measurements count as much as what is
/// assumed of their share.
const TRUSTED_SPREAD: f64 = 0.1;
/// Steps that take less than this share of what was expected of them tell that the ones before
/// waited for something: for kernels that were compiled, or for another program.
const WAITED: f64 = 0.5;

/// Seconds of a step as a straight line over the number of Gaussians, from recent measurements.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The size of photos that was measured, as [`crate::schedule::Schedule::scale`] has it.
    scale: u32,
    weight: f64,
    gaussians: f64,
    seconds: f64,
    /// Weighted sums of squared deviations of the number, and of its product with the seconds'.
    spread: f64,
    product: f64,
    /// Seconds for each Gaussian, in shares of a step's time, where photos were of another size.
    share: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            scale: 1,
            weight: 0.0,
            gaussians: 0.0,
            seconds: 0.0,
            spread: 0.0,
            product: 0.0,
            share: SHARE_OF_GAUSSIANS,
        }
    }
}

impl Pace {
    /// Steps at this size of photos with so many Gaussians took so many seconds each.
    pub fn add(&mut self, scale: u32, gaussians: f64, seconds: f64) {
        if scale != self.scale && self.weight > 0.0 {
            *self = Self {
                share: (self.slope() * self.gaussians / self.seconds).clamp(0.0, 1.0),
                ..Self::default()
            };
        }
        if self.is_known() && seconds < WAITED * self.of(scale, gaussians) {
            *self = Self::default();
        }
        self.scale = scale;
        for sum in [&mut self.weight, &mut self.spread, &mut self.product] {
            *sum *= MEMORY;
        }
        self.weight += 1.0;
        let (dg, ds) = (gaussians - self.gaussians, seconds - self.seconds);
        self.gaussians += dg / self.weight;
        self.seconds += ds / self.weight;
        self.spread += dg * (gaussians - self.gaussians);
        self.product += dg * (seconds - self.seconds);
    }

    /// Whether anything was measured.
    pub fn is_known(&self) -> bool {
        self.weight > 0.0
    }

    /// Seconds for each Gaussian: measured as far as their number has changed, else assumed.
    fn slope(&self) -> f64 {
        let all = self.seconds / self.gaussians.max(1.0);
        let trusted = self.weight * (TRUSTED_SPREAD * self.gaussians).powi(2);
        let slope =
            (self.product + trusted * self.share * all) / (self.spread + trusted).max(1e-30);
        slope.clamp(0.0, all)
    }

    /// Seconds of a step at this size of photos with so many Gaussians.
    pub fn of(&self, scale: u32, gaussians: f64) -> f64 {
        let at = self.seconds + self.slope() * (gaussians - self.gaussians);
        let relative = |scale: u32| {
            let known = COARSE.iter().find(|(coarse, _)| *coarse == scale);
            known.map_or(1.0, |(_, share)| *share)
        };
        at.max(0.1 * self.seconds) * relative(scale) / relative(self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_is_found() {
        let mut pace = Pace::default();
        assert!(!pace.is_known());
        let truth = |gaussians: f64| 2e-3 + 4e-9 * gaussians;
        for i in 0..40 {
            let gaussians = 1e5 * f64::from(i + 1);
            // A little noise, which the same run always has.
            let noise = 1.0 + 0.02 * f64::from(i % 3 - 1);
            pace.add(1, gaussians, truth(gaussians) * noise);
        }
        for gaussians in [4e6, 8e6] {
            let ratio = pace.of(1, gaussians) / truth(gaussians);
            assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
        }
    }

    #[test]
    fn what_waited_is_forgotten_once_steps_are_fast() {
        let mut pace = Pace::default();
        for seconds in [0.15, 0.15, 0.11, 1e-3, 1.1e-3] {
            pace.add(1, 1e5, seconds);
        }
        assert!((pace.of(1, 1e5) / 1.05e-3 - 1.0).abs() < 0.01);
        // One slow step counts, as others may follow.
        pace.add(1, 1e5, 0.1);
        assert!(pace.of(1, 1e5) > 0.03);
    }

    #[test]
    fn what_was_not_seen_is_assumed() {
        let mut pace = Pace::default();
        for _ in 0..5 {
            pace.add(4, 1e5, 1e-3);
        }
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(near(pace.of(4, 1e5), 1e-3));
        assert!(near(pace.of(4, 2e5), 1.15e-3));
        assert!(near(pace.of(1, 1e5), 1e-3 / 0.45));
        // The first measurement of another size counts alone.
        pace.add(2, 1e5, 3e-3);
        assert!(near(pace.of(2, 1e5), 3e-3) && near(pace.of(1, 1e5), 5e-3));
        assert!(pace.of(1, 0.0) > 0.0);
    }
}

//! Recorded spaces without a card: models of kernels with coefficients drawn from a seed.
//!
//! They are for tests and for choosing settings of strategies, not for claims about kernels. Each
//! family has one trait that makes tuning hard; all times carry 1 % of noise, drawn once.

use super::recorded::{Entry, Failure, Recorded};
use super::space::{Axis, Config, Space, Value};
use crate::candidate::expression::Expression;
use splatcore_core::random::Rng;
use std::collections::BTreeMap;

/// The families.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Registers and shared memory limit the blocks that fit: steps in the time, spills, failures.
    Occupancy,
    /// Each axis acts together with two others (Kauffman's NK model): many local minima.
    Interactions,
    /// A small fast region, elsewhere plateaus; half of the points fail.
    Cliffs,
    /// Tile sizes of a matrix product that must divide one another.
    Tiles,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 4] = [
        Self::Occupancy,
        Self::Interactions,
        Self::Cliffs,
        Self::Tiles,
    ];

    /// The name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Occupancy => "occupancy",
            Self::Interactions => "interactions",
            Self::Cliffs => "cliffs",
            Self::Tiles => "tiles",
        }
    }

    /// A space of this family with all its points. Times in milliseconds.
    pub fn record(self, seed: u64) -> Recorded {
        let (axes, conditions) = self.shape();
        let conditions: Vec<Expression> =
            conditions.iter().filter_map(|c| c.parse().ok()).collect();
        let space = Space::new(axes.clone(), &conditions);
        let points = space.ok().and_then(|space| Some(space.points()?.to_vec()));
        let mut rng = Rng::new(seed, self as u64);
        let model = Model::draw(&axes, &mut rng);
        let mut entries = BTreeMap::new();
        for config in points.unwrap_or_default() {
            let noise = 1.0 + 0.01 * f64::from(rng.normal());
            let result = match self {
                Self::Occupancy => model.occupancy(&config),
                Self::Interactions => Ok(model.interactions(&config)),
                Self::Cliffs => model.cliffs(&config),
                Self::Tiles => model.tiles(&config),
            };
            let mut entry = Entry::new(result.map(|time| time * noise));
            // What Kernel Tuner adds up when its budget is a time.
            (entry.compile, entry.benchmark) = (500.0, 50.0);
            entries.insert(config, entry);
        }
        Recorded {
            device: "synthetic".into(),
            kernel: format!("{}_{seed}", self.name()),
            problem_size: serde_json::json!([1024]),
            objective: "time".into(),
            axes,
            entries,
        }
    }

    fn shape(self) -> (Vec<Axis>, &'static [&'static str]) {
        match self {
            Self::Occupancy => (
                axes(&[
                    ("BLOCK", &[32, 64, 96, 128, 192, 256, 384, 512, 768, 1024]),
                    ("ITEMS", &[1, 2, 3, 4, 6, 8]),
                    ("UNROLL", &[1, 2, 4, 8]),
                    ("STAGES", &[1, 2, 3, 4]),
                    ("SHARED", &[0, 1]),
                    ("LOAD", &[0, 1, 2]),
                ]),
                &["SHARED == 1 || STAGES == 1", "BLOCK * ITEMS <= 4096"],
            ),
            Self::Interactions => (
                axes(&[
                    ("A", &[0, 1, 2, 3]),
                    ("B", &[0, 1, 2]),
                    ("C", &[1, 2, 4, 8]),
                    ("D", &[0, 1]),
                    ("E", &[0, 1, 2]),
                    ("F", &[0, 1]),
                    ("G", &[16, 32, 64, 128]),
                    ("H", &[0, 1]),
                ]),
                &[],
            ),
            Self::Cliffs => (
                axes(&[
                    ("A", &[1, 2, 3, 4, 5, 6, 7, 8]),
                    ("B", &[1, 2, 3, 4, 5, 6, 7, 8]),
                    ("C", &[1, 2, 4, 8]),
                    ("D", &[0, 1, 2]),
                    ("E", &[0, 1]),
                    ("F", &[0, 1]),
                ]),
                &["A + B >= 4"],
            ),
            Self::Tiles => (
                axes(&[
                    ("MWG", &[16, 32, 64, 128]),
                    ("NWG", &[16, 32, 64, 128]),
                    ("KWG", &[16, 32]),
                    ("MDIM", &[8, 16, 32]),
                    ("NDIM", &[8, 16, 32]),
                    ("VWM", &[1, 2, 4]),
                    ("VWN", &[1, 2, 4]),
                    ("SA", &[0, 1]),
                    ("SB", &[0, 1]),
                ]),
                &[
                    "MWG % (MDIM * VWM) == 0",
                    "NWG % (NDIM * VWN) == 0",
                    "MDIM * NDIM >= 64",
                ],
            ),
        }
    }
}

fn axes(list: &[(&str, &[i64])]) -> Vec<Axis> {
    let axis = |&(name, values): &(&str, &[i64])| Axis {
        name: name.into(),
        values: values.iter().map(|&value| Value::Integer(value)).collect(),
    };
    list.iter().map(axis).collect()
}

/// Coefficients of a kernel's model, each in [0, 1).
struct Model<'a> {
    axes: &'a [Axis],
    /// `[axis][value]`: the cost of a value by itself.
    single: Vec<Vec<f64>>,
    /// `[axis][value + 20 * value of the next axis + 400 * value of the one after]`.
    triple: Vec<Vec<f64>>,
    /// General coefficients.
    general: [f64; 8],
    /// A point: the middle of the fast region.
    centre: Config,
}

impl<'a> Model<'a> {
    fn draw(axes: &'a [Axis], rng: &mut Rng) -> Self {
        let mut uniform = || f64::from(rng.uniform());
        let single = axes
            .iter()
            .map(|axis| axis.values.iter().map(|_| uniform()).collect());
        let single = single.collect();
        let triple = axes
            .iter()
            .map(|_| (0..8000).map(|_| uniform()).collect())
            .collect();
        let general = [(); 8].map(|()| uniform());
        let centre = axes
            .iter()
            .map(|axis| rng.below(axis.values.len()) as u16)
            .collect();
        Self {
            axes,
            single,
            triple,
            general,
            centre,
        }
    }

    fn value(&self, config: &[u16], axis: usize) -> f64 {
        match self.axes[axis].values[usize::from(config[axis])] {
            Value::Integer(value) => value as f64,
            _ => 0.0,
        }
    }

    fn singles(&self, config: &[u16]) -> f64 {
        let each = config.iter().zip(&self.single);
        each.map(|(&index, costs)| costs[usize::from(index)]).sum()
    }

    fn occupancy(&self, config: &[u16]) -> Result<f64, Failure> {
        let value = |axis| self.value(config, axis);
        let [block, items, unroll, stages] = [0, 1, 2, 3].map(value);
        let (shared, load) = (value(4), value(5));
        let g = &self.general;
        let registers =
            20.0 + 12.0 * g[0] + items * (4.0 + 6.0 * g[1]) + unroll * (2.0 + 4.0 * g[2]);
        let bytes = shared * stages * block * items * (8.0 + 24.0 * g[3]);
        if registers.ceil() * block > 65536.0 {
            return Err(Failure::Runtime);
        }
        if bytes > 99.0 * 1024.0 {
            return Err(Failure::Constraints);
        }
        let fit = (65536.0 / (registers * block)).floor();
        let fit = fit
            .min((2048.0 / block).floor())
            .min((102_400.0 / bytes.max(1.0)).floor());
        let warps = (fit.max(1.0) * block / 32.0).min(64.0);
        // Latency is hidden by warps, by independent items and by stages in flight.
        let hidden = (warps / 64.0) * (1.0 + 0.5 * g[4] * items.sqrt()) * (0.8 + 0.2 * stages);
        let spill = ((registers - 96.0) / 32.0).max(0.0);
        let reuse = 1.0 + shared * g[5] - load * shared * 0.1;
        let loads = [0.0, 0.1 - 0.2 * g[6], 0.15 - 0.2 * g[7]][usize::from(config[5])];
        let tail = (1.0 + block * items / 8192.0) * (1.0 + 0.3 / unroll);
        let bound = 1.0 / hidden.min(1.0) + spill;
        Ok(bound * tail * (1.0 + loads) / reuse)
    }

    fn interactions(&self, config: &[u16]) -> f64 {
        let axes = config.len();
        let together = (0..axes).map(|axis| {
            let at = |step: usize| usize::from(config[(axis + step) % axes]);
            self.triple[axis][at(0) + 20 * at(1) + 400 * at(2)]
        });
        let together: f64 = together.sum();
        (0.6 * together / axes as f64 + 0.4 * self.singles(config) / axes as f64).exp()
    }

    fn cliffs(&self, config: &[u16]) -> Result<f64, Failure> {
        let [a, b] = [0, 1].map(|axis| usize::from(config[axis]));
        // A checkered half of the plane fails.
        if self.triple[2][a / 2 + 20 * (b / 2) + 400 * usize::from(config[3])] < 0.5 {
            return Err(Failure::Compile);
        }
        let far = config
            .iter()
            .zip(&self.centre)
            .map(|(&c, &centre)| c.abs_diff(centre));
        let steps: u16 = far.sum();
        let plateau = match steps {
            0..=2 => 1.0,
            3..=5 => 1.6,
            6..=8 => 2.2,
            _ => 3.0,
        };
        Ok(plateau * (1.0 + 0.15 * self.singles(config)))
    }

    fn tiles(&self, config: &[u16]) -> Result<f64, Failure> {
        let value = |axis| self.value(config, axis);
        let [m, n, k, dm, dn, vm, vn, sa, sb] = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(value);
        let g = &self.general;
        let threads = dm * dn;
        let accumulators = m * n / threads;
        let bytes = 4.0 * k * (sa * m + sb * n);
        if accumulators > 100.0 {
            return Err(Failure::Compile);
        }
        if bytes > 32_768.0 {
            return Err(Failure::Constraints);
        }
        let registers = 24.0 + accumulators * 1.2 + 2.0 * (vm + vn);
        let blocks = (65536.0 / (registers * threads))
            .floor()
            .min(2048.0 / threads)
            .max(1.0);
        let warps = blocks * threads / 32.0;
        // Operands a multiply-add, from shared or from global memory.
        let traffic_a = (1.0 / n)
            * if sa == 1.0 {
                1.0 + g[0]
            } else {
                2.0 + 2.0 * g[1]
            };
        let traffic_b = (1.0 / m)
            * if sb == 1.0 {
                1.0 + g[2]
            } else {
                2.0 + 2.0 * g[3]
            };
        let vector = |width: f64, best: f64| 1.0 + 0.15 * (width.log2() - best * 2.0).abs();
        let memory = 40.0 * (traffic_a * vector(vm, g[4]) + traffic_b * vector(vn, g[5]));
        let compute = 1.0 + 4.0 / accumulators + 0.3 * g[6] * (32.0 / k - 1.0);
        let hidden = (warps * accumulators.sqrt() / (48.0 + 64.0 * g[7])).min(1.0);
        Ok((compute.max(memory) + 0.3 * compute.min(memory)) / hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_repeatable_and_hard() {
        for family in Family::ALL {
            let recorded = family.record(1);
            assert_eq!(recorded, family.record(1));
            assert_ne!(recorded.entries, family.record(2).entries);
            let count = recorded.entries.len();
            assert!((500..10_000).contains(&count), "{family:?}: {count} points");
            let mut times: Vec<f64> = recorded
                .entries
                .values()
                .filter_map(|entry| entry.result.ok())
                .collect();
            times.sort_by(f64::total_cmp);
            assert!(
                times[0] > 0.0 && times[times.len() / 2] > 1.2 * times[0],
                "{family:?}"
            );
            let failed = count - times.len();
            match family {
                Family::Interactions => assert_eq!(failed, 0),
                _ => assert!(failed > count / 50, "{family:?}: {failed} of {count} fail"),
            }
        }
    }
}

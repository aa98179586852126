//! A finite space of configurations: axes with values, and conditions.

use splatcore_core::expression::Expression;
use splatcore_core::random::Rng;

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An integer. Only axes of integers may stand in conditions.
    Integer(i64),
    /// A word.
    Text(String),
}

/// A name and the values that it may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The name, unique in a space.
    pub name: String,
    /// The values, each once.
    pub values: Vec<Value>,
}

impl Axis {
    /// Whether neighbours in the list of values are alike: three or more numbers that rise or fall.
    pub fn is_ordered(&self) -> bool {
        let number = |value: &Value| match value {
            Value::Integer(number) => Some(*number),
            Value::Text(_) => None,
        };
        let numbers: Option<Vec<i64>> = self.values.iter().map(number).collect();
        numbers.is_some_and(|numbers| {
            let rises = numbers.windows(2).all(|pair| pair[0] < pair[1]);
            let falls = numbers.windows(2).all(|pair| pair[0] > pair[1]);
            numbers.len() > 2 && (rises || falls)
        })
    }
}

/// A point of a space: for each axis, the index of its value.
pub type Config = Vec<u16>;

/// Why axes and conditions make no space.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    /// An axis without values, or with more than can be numbered.
    #[error("axis {0} has {1} values; it needs 1 to 65535")]
    Values(String, usize),
    /// Two axes of one name.
    #[error("two axes are called {0}: rename one")]
    Twice(String),
    /// A condition uses what is no axis of integers.
    #[error("the condition {condition} uses {name}, which is no axis of integers")]
    Condition {
        /// The condition.
        condition: String,
        /// The name in it.
        name: String,
    },
}

/// Spaces with more combinations of values than this are not listed.
const MAX_LISTED: u64 = 1 << 20;
/// Random draws before a space that is not listed counts as exhausted.
const MAX_DRAWS: usize = 20_000;

/// A finite space.
#[derive(Clone, Debug)]
pub struct Space {
    axes: Vec<Axis>,
    ordered: Vec<bool>,
    /// Expressions over the axes' values, which hold for every point. Names are indices of axes.
    conditions: Vec<Expression<usize>>,
    /// All points in lexicographic order; None if there are too many combinations to look at.
    points: Option<Vec<Config>>,
}

impl Space {
    /// The combinations of the axes' values where all conditions hold.
    ///
    /// # Errors
    /// If an axis has no values, a name is not unique, or a condition uses another name than that
    /// of an axis of integers.
    pub fn new(axes: Vec<Axis>, conditions: &[Expression]) -> Result<Self, SpaceError> {
        let integers = |axis: &Axis| axis.values.iter().all(|v| matches!(v, Value::Integer(_)));
        let mut bound = Vec::with_capacity(conditions.len());
        for condition in conditions {
            bound.push(condition.bind(&mut |name: &String| {
                let at = axes.iter().position(|a| a.name == *name && integers(a));
                at.map(Expression::Name)
                    .ok_or_else(|| SpaceError::Condition {
                        condition: condition.to_string(),
                        name: name.clone(),
                    })
            })?);
        }
        for (at, axis) in axes.iter().enumerate() {
            if axis.values.is_empty() || axis.values.len() > usize::from(u16::MAX) {
                return Err(SpaceError::Values(axis.name.clone(), axis.values.len()));
            }
            if axes[..at].iter().any(|other| other.name == axis.name) {
                return Err(SpaceError::Twice(axis.name.clone()));
            }
        }
        let mut space = Self {
            ordered: axes.iter().map(Axis::is_ordered).collect(),
            axes,
            conditions: bound,
            points: None,
        };
        let combinations = space.axes.iter().try_fold(1u64, |product, axis| {
            product.checked_mul(axis.values.len() as u64)
        });
        if combinations.is_some_and(|combinations| combinations <= MAX_LISTED) {
            let mut points = Vec::new();
            let mut config = Some(vec![0; space.axes.len()]);
            while let Some(point) = config {
                config = space.after(&point);
                if space.allows(&point) {
                    points.push(point);
                }
            }
            space.points = Some(points);
        }
        Ok(space)
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The number of values of an axis.
    pub fn values(&self, axis: usize) -> usize {
        self.axes[axis].values.len()
    }

    /// [`Axis::is_ordered`] of an axis.
    pub fn is_ordered(&self, axis: usize) -> bool {
        self.ordered[axis]
    }

    /// All points in lexicographic order, if the combinations of values are few enough to look at
    /// (2^20), conditions or not.
    pub fn points(&self) -> Option<&[Config]> {
        self.points.as_deref()
    }

    /// Whether a point lies on the axes and in the space.
    pub fn allows(&self, config: &[u16]) -> bool {
        let mut indices = config.iter().zip(&self.axes);
        let is_on_axes = config.len() == self.axes.len()
            && indices.all(|(index, axis)| usize::from(*index) < axis.values.len());
        let value = |axis: &usize| match self.axes[*axis].values[usize::from(config[*axis])] {
            Value::Integer(value) => value,
            Value::Text(_) => 0,
        };
        is_on_axes && self.conditions.iter().all(|c| c.holds(&value))
    }

    /// The next combination of values in lexicographic order, in the space or not.
    pub fn after(&self, config: &[u16]) -> Option<Config> {
        let mut next = config.to_vec();
        for (index, axis) in next.iter_mut().zip(&self.axes).rev() {
            *index += 1;
            if usize::from(*index) < axis.values.len() {
                return Some(next);
            }
            *index = 0;
        }
        None
    }

    /// A random point for which `wanted` holds, uniform among them. None if there is none; in a
    /// space that is not listed, also if 20000 draws find none.
    pub fn draw(&self, rng: &mut Rng, wanted: &dyn Fn(&[u16]) -> bool) -> Option<Config> {
        let Some(points) = &self.points else {
            return (0..MAX_DRAWS).find_map(|_| {
                let index = |axis: &Axis| rng.below(axis.values.len()) as u16;
                let config: Config = self.axes.iter().map(index).collect();
                (self.allows(&config) && wanted(&config)).then_some(config)
            });
        };
        for _ in 0..32 {
            let point = points.get(rng.below(points.len()))?;
            if wanted(point) {
                return Some(point.clone());
            }
        }
        let left: Vec<&Config> = points.iter().filter(|point| wanted(point)).collect();
        left.get(rng.below(left.len())).map(|&point| point.clone())
    }

    /// Calls `visit` with each point that differs from `config` in one axis.
    pub fn neighbours(&self, config: &[u16], visit: &mut dyn FnMut(&Config)) {
        let mut neighbour = config.to_vec();
        for axis in 0..config.len() {
            for index in 0..self.values(axis) as u16 {
                neighbour[axis] = index;
                if index != config[axis] && self.allows(&neighbour) {
                    visit(&neighbour);
                }
            }
            neighbour[axis] = config[axis];
        }
    }
}

/// In how many axes two points differ.
pub fn distance(a: &[u16], b: &[u16]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a != b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, values: &[i64]) -> Axis {
        Axis {
            name: name.into(),
            values: values.iter().map(|&value| Value::Integer(value)).collect(),
        }
    }

    fn space(conditions: &[&str]) -> Result<Space, SpaceError> {
        let conditions: Vec<Expression> = conditions.iter().map(|c| c.parse().unwrap()).collect();
        let axes = vec![
            axis("A", &[1, 2, 3]),
            axis("B", &[4, 8]),
            axis("C", &[0, 1]),
        ];
        Space::new(axes, &conditions)
    }

    #[test]
    fn conditions_cut_the_space() {
        let all = space(&[]).unwrap();
        assert_eq!(all.points().unwrap().len(), 12);
        let cut = space(&["B % A == 0", "C == 0 || A == 1"]).unwrap();
        let points = cut.points().unwrap();
        let expected = [
            [0, 0, 0],
            [0, 0, 1],
            [0, 1, 0],
            [0, 1, 1],
            [1, 0, 0],
            [1, 1, 0],
        ];
        assert_eq!(points, expected.map(Vec::from));
        assert!(cut.allows(&[1, 1, 0]) && !cut.allows(&[2, 0, 0]));
        assert!(!cut.allows(&[1, 2, 0]) && !cut.allows(&[1, 1]));
        let mut near = Vec::new();
        cut.neighbours(&[1, 1, 0], &mut |point| near.push(point.clone()));
        assert_eq!(near, [[0, 1, 0], [1, 0, 0]].map(Vec::from));
    }

    #[test]
    fn what_is_no_space_is_said() {
        assert!(matches!(
            space(&["D == 1"]),
            Err(SpaceError::Condition { .. })
        ));
        let empty = Space::new(vec![axis("A", &[])], &[]);
        assert!(matches!(empty, Err(SpaceError::Values(..))));
        let twice = Space::new(vec![axis("A", &[1]), axis("A", &[1])], &[]);
        assert!(matches!(twice, Err(SpaceError::Twice(_))));
    }

    #[test]
    fn draws_are_uniform_over_what_is_wanted() {
        let cut = space(&["B % A == 0"]).unwrap();
        let mut counts = std::collections::BTreeMap::new();
        let mut rng = Rng::new(1, 0);
        for _ in 0..4000 {
            let point = cut.draw(&mut rng, &|p| p[2] == 1).unwrap();
            *counts.entry(point).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 4);
        assert!(
            counts.values().all(|count| (850..1150).contains(count)),
            "{counts:?}"
        );
        assert_eq!(cut.draw(&mut rng, &|_| false), None);
        let nothing = space(&["A > 3"]).unwrap();
        assert_eq!(nothing.draw(&mut rng, &|_| true), None);
    }

    #[test]
    fn large_spaces_are_drawn_from_unlisted() {
        let values: Vec<i64> = (0..64).collect();
        let axes: Vec<Axis> = (0..12).map(|i| axis(&format!("A{i}"), &values)).collect();
        let condition: Expression = "A0 == A1".parse().unwrap();
        let large = Space::new(axes, &[condition]).unwrap();
        assert!(large.points().is_none());
        let drawn = large.draw(&mut Rng::new(2, 0), &|_| true).unwrap();
        assert_eq!(drawn[0], drawn[1]);
    }

    #[test]
    fn order_is_that_of_numbers() {
        assert!(axis("A", &[1, 2, 4]).is_ordered() && axis("A", &[4, 2, 1]).is_ordered());
        assert!(!axis("A", &[1, 2]).is_ordered() && !axis("A", &[1, 4, 2]).is_ordered());
        let words = ["a", "b", "c"].map(|word| Value::Text(word.into()));
        let words = Axis {
            name: "A".into(),
            values: words.into(),
        };
        assert!(!words.is_ordered());
    }
}

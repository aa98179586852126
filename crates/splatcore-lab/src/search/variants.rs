//! The space that the tunables and marked places of kernel texts span.

use super::space::{Axis, Config, Space, SpaceError, Value};
use crate::candidate::splice::splice;
use crate::candidate::transforms::{self, Site};
use crate::candidate::tunables::{self, DeclarationError, Tunable};
use crate::candidate::{Operator, Texts};

/// The axes of texts: first the tunables, then the sites of transformations.
#[derive(Clone, Debug)]
pub struct Variants {
    tunables: Vec<Tunable>,
    sites: Vec<Site>,
}

/// What stands on the axis of a site for the text as it is.
const AS_WRITTEN: &str = "as written";

impl Variants {
    /// What the texts declare and mark.
    ///
    /// # Errors
    /// If a declaration or a mark is malformed.
    pub fn find(texts: &Texts) -> Result<Self, DeclarationError> {
        Ok(Self {
            tunables: tunables::parse(texts)?,
            sites: transforms::find(texts)?,
        })
    }

    /// The tunables, one axis each.
    pub fn tunables(&self) -> &[Tunable] {
        &self.tunables
    }

    /// The sites of transformations, one axis each, behind the tunables.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// All combinations for which the tunables' conditions hold.
    ///
    /// # Errors
    /// If two axes share a name, or there are too many values.
    pub fn space(&self) -> Result<Space, SpaceError> {
        let tunables = self.tunables.iter().map(|tunable| Axis {
            name: tunable.name.clone(),
            values: tunable
                .values
                .iter()
                .map(|&value| Value::Integer(value))
                .collect(),
        });
        let sites = self.sites.iter().map(|site| Axis {
            name: site.name.clone(),
            values: std::iter::once(AS_WRITTEN)
                .chain(site.choices.iter().map(|(name, _)| *name))
                .map(|name| Value::Text(name.to_owned()))
                .collect(),
        });
        let conditions: Vec<_> = self
            .tunables
            .iter()
            .filter_map(|tunable| tunable.condition.clone())
            .collect();
        Space::new(tunables.chain(sites).collect(), &conditions)
    }

    /// The point of the texts as they are.
    pub fn start(&self) -> Config {
        let tunables = self.tunables.iter().map(|tunable| tunable.current as u16);
        tunables.chain(self.sites.iter().map(|_| 0)).collect()
    }

    /// The texts, which must be those that the variants were found in, at a point. None if the
    /// point is off the axes, or two of its changes overlap.
    pub fn apply(&self, texts: &Texts, config: &[u16]) -> Option<Texts> {
        if config.len() != self.tunables.len() + self.sites.len() {
            return None;
        }
        let (values, choices) = config.split_at(self.tunables.len());
        let mut splices = Vec::new();
        for (tunable, &index) in self.tunables.iter().zip(values) {
            tunable.values.get(usize::from(index))?;
            if usize::from(index) != tunable.current {
                splices.push(tunables::assign(tunable, index.into()));
            }
        }
        for (site, &choice) in self.sites.iter().zip(choices) {
            if let Some(choice) = usize::from(choice).checked_sub(1) {
                splices.extend(site.choices.get(choice)?.1.iter().cloned());
            }
        }
        splice(texts, splices)
    }

    /// How a point comes about from the texts as they are.
    pub fn operator(&self, config: &[u16]) -> Operator {
        let transformed = config[self.tunables.len()..]
            .iter()
            .any(|&choice| choice != 0);
        if transformed {
            Operator::Transform
        } else {
            Operator::Tunable
        }
    }

    /// What a point changes in the texts: `BATCH 64 -> 128, expf -> __expf`. Empty for the point of
    /// the texts as they are.
    pub fn about(&self, config: &[u16]) -> String {
        let (values, choices) = config.split_at(self.tunables.len());
        let value = |(tunable, &index): (&Tunable, &u16)| {
            let Tunable {
                name,
                values,
                current,
                ..
            } = tunable;
            let (old, new) = (values[*current], values[usize::from(index)]);
            (old != new).then(|| format!("{name} {old} -> {new}"))
        };
        let choice = |(site, &choice): (&Site, &u16)| {
            let choice = usize::from(choice).checked_sub(1)?;
            Some(format!("{} -> {}", site.name, site.choices[choice].0))
        };
        let values = self.tunables.iter().zip(values).filter_map(value);
        let choices = self.sites.iter().zip(choices).filter_map(choice);
        values.chain(choices).collect::<Vec<_>>().join(", ")
    }

    /// The point that a candidate may lie at, from its texts and what is said about it. Only a
    /// guess: the candidate is there if [`Variants::apply`] gives its texts.
    pub fn locate(&self, texts: &Texts, about: &str) -> Option<Config> {
        let mut config = self.start();
        let tunables = tunables::parse(texts).ok()?;
        for (index, tunable) in config.iter_mut().zip(&self.tunables) {
            let same = tunables.iter().find(|other| other.name == tunable.name)?;
            let value = same.values[same.current];
            *index = tunable.values.iter().position(|known| *known == value)? as u16;
        }
        let choices = &mut config[self.tunables.len()..];
        for change in about.split([',', ';']) {
            let Some((name, to)) = change.split_once("->") else {
                continue;
            };
            for (index, site) in choices.iter_mut().zip(&self.sites) {
                let choice = site
                    .choices
                    .iter()
                    .position(|(choice, _)| *choice == to.trim());
                if let Some(choice) = choice.filter(|_| site.name == name.trim()) {
                    *index = choice as u16 + 1;
                }
            }
        }
        Some(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    const TEXT: &str = "#define BATCH 64  // tune: 32 64 128; when BATCH % WIDTH == 0\n\
        #define WIDTH 32  // tune: 32 64\n\
        void f() {\n\
        \x20   // mark: loop K\n\
        \x20   for (int k = 0; k < n && !done; ++k) {\n\
        \x20       a[k] = expf(b[k]);\n\
        \x20   }\n\
        }\n";

    fn texts() -> Texts {
        Texts::from([
            ("a.cu".into(), TEXT.into()),
            ("b.cuh".into(), "int i;\n".into()),
        ])
    }

    #[test]
    fn tunables_and_sites_are_axes_of_one_space() {
        let variants = Variants::find(&texts()).unwrap();
        let space = variants.space().unwrap();
        let names: Vec<&str> = space.axes().iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(names, ["BATCH", "WIDTH", "K.unroll", "K.exit", "expf"]);
        // BATCH 32 excludes WIDTH 64.
        assert_eq!(space.points().unwrap().len(), 5 * 5 * 3 * 2);
        assert_eq!(variants.start(), [1, 0, 0, 0, 0]);
        assert_eq!(variants.apply(&texts(), &variants.start()), Some(texts()));
        let point = [2, 0, 3, 1, 1];
        let about = "BATCH 64 -> 128, K.unroll -> 4, K.exit -> break, expf -> __expf";
        assert_eq!(variants.about(&point), about);
        assert_eq!(variants.operator(&point), Operator::Transform);
        assert_eq!(variants.operator(&[2, 0, 0, 0, 0]), Operator::Tunable);
        let after = variants.apply(&texts(), &point).unwrap();
        let expected = TEXT
            .replace("BATCH 64", "BATCH 128")
            .replace(
                "    for (int k = 0; k < n && !done;",
                "    #pragma unroll 4\n    for (int k = 0; k < n;",
            )
            .replace("++k) {", "++k) {\n        if (done) break;")
            .replace("expf", "__expf");
        assert_eq!(after["a.cu"], expected);
        assert_eq!(variants.apply(&texts(), &[3, 0, 0, 0, 0]), None);
        assert_eq!(variants.apply(&texts(), &[0, 0, 0]), None);
    }

    #[test]
    fn candidates_are_found_again_by_what_is_said_about_them() {
        let variants = Variants::find(&texts()).unwrap();
        let space = variants.space().unwrap();
        for seed in 0..100 {
            let point = space.draw(&mut Rng::new(seed, 0), &|_| true).unwrap();
            let after = variants.apply(&texts(), &point).unwrap();
            assert_eq!(
                variants.locate(&after, &variants.about(&point)),
                Some(point.clone())
            );
            if variants.operator(&point) == Operator::Tunable {
                assert_eq!(variants.locate(&after, "batches of 128"), Some(point));
            }
        }
    }
}

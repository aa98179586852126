//! The settings of columns that learn ([`splatcore_core::columns`]): of each the weight of its term
//! in the loss and a learning rate.

use super::settings::Config;
use super::{Idle, Setting};
use splatcore_core::columns::{Column, ColumnPlan, ColumnPlans, Each};

/// Which settings a column has.
struct Row {
    column: Column,
    /// Keys of weight and rate.
    keys: [&'static str; 2],
    /// The weight's.
    on: &'static [Setting<'static>],
    /// Weight and rate if they are not given.
    defaults: [f64; 2],
    /// Weight and rate.
    fields: fn(&mut Config) -> [&mut Option<f64>; 2],
    /// Why it cannot be learned with mcmc, and what to do.
    not_with_mcmc: &'static str,
}

const ROWS: &[Row] = &[Row {
    column: Column::Mask,
    keys: ["learned-masks", "lr-masks"],
    on: &[Setting::on("learned-masks")],
    defaults: [0.0, 0.01],
    fields: |config| [&mut config.learned_masks, &mut config.lr_masks],
    not_with_mcmc: "mcmc keeps its number of Gaussians and gives those that are masked away again; \
                    leave it at 0, and ask for fewer by max-gaussians",
}];

/// What is done with columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnSettings {
    /// Weight and rate; a weight of 0 learns none.
    learned: Each<[f64; 2]>,
    /// Whether it is computed from the cameras.
    computed: Each<bool>,
}

impl ColumnSettings {
    /// The given settings, and the others' defaults.
    pub(super) fn of(config: &Config) -> Self {
        let (mut config, mut settings) = (config.clone(), Self::default());
        for row in ROWS {
            let [weight, rate] = (row.fields)(&mut config);
            let given = [
                weight.unwrap_or(row.defaults[0]),
                rate.unwrap_or(row.defaults[1]),
            ];
            settings.learned[row.column] = given;
        }
        settings.computed[Column::Filter] = config.antialias.unwrap_or(false);
        settings
    }

    /// These settings one by one.
    pub(super) fn to_settings(&self) -> Config {
        let mut config = Config::UNSET;
        for row in ROWS {
            let [weight, rate] = (row.fields)(&mut config);
            (*weight, *rate) = (
                Some(self.learned[row.column][0]),
                Some(self.learned[row.column][1]),
            );
        }
        config
    }

    /// Every number with its key.
    pub(super) fn numbers(&self) -> Vec<(&'static str, f64)> {
        let of_row = |row: &Row| row.keys.into_iter().zip(self.learned[row.column]);
        ROWS.iter().flat_map(of_row).collect()
    }

    /// Key, weight and problem of a column that is learned and that mcmc cannot learn.
    pub(super) fn not_with_mcmc(&self) -> Option<(&'static str, f64, &'static str)> {
        let row = ROWS.iter().find(|row| self.learns(row.column))?;
        Some((row.keys[0], self.learned[row.column][0], row.not_with_mcmc))
    }

    /// Why a setting has no effect, if so.
    pub(super) fn idle(&self, key: &str) -> Option<Idle> {
        let row = ROWS.iter().find(|row| row.keys[1] == key)?;
        (!self.learns(row.column)).then_some(Idle::Only(row.on))
    }

    /// Whether a column is computed from the cameras.
    pub fn computes(&self, column: Column) -> bool {
        self.computed[column]
    }

    /// Whether a column is learned.
    pub fn learns(&self, column: Column) -> bool {
        self.learned[column][0] != 0.0
    }

    /// How columns learn in every step.
    pub(crate) fn plans(&self) -> ColumnPlans {
        ColumnPlans::of(|column| {
            let [weight, rate] = self.learned[column].map(|number| number as f32);
            self.learns(column).then_some(ColumnPlan { weight, rate })
        })
    }
}

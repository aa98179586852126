//! What kernels are told of columns.

use super::rows::AllRows;
use crate::device::Program;
use crate::device::params::{Address, shared_struct};
use crate::ops::constants::{flag, float};
use bytemuck::Zeroable;
use splatcore_core::backend::StepPlan;
use splatcore_core::columns::{Column, OFF_OPACITY_LOGIT};

/// How many columns there are.
pub const COLUMNS: usize = Column::ALL.len();
/// A constant: 1 learns columns.
const LEARNED_COLUMNS: &str = "LEARNED_COLUMNS";

/// Constants of columns.cuh.
pub fn constants() -> [(&'static str, String); 4] {
    [
        ("COLUMNS", COLUMNS.to_string()),
        ("COLUMN_MASK", (Column::Mask as u8).to_string()),
        flag(LEARNED_COLUMNS, false),
        float("OFF_OPACITY_LOGIT", OFF_OPACITY_LOGIT.into()),
    ]
}

/// The program, which includes columns.cuh, of steps that learn columns if `learns`.
pub fn learning(program: Program, learns: bool) -> Program {
    program.with(LEARNED_COLUMNS, learns as u8)
}

shared_struct! {
    /// `LearnedColumn` of columns.cuh.
    pub struct LearnedColumn as "LearnedColumn" {
        values: Address,
        first: Address,
        second: Address,
        weight: f32,
        rate: f32,
        min: f32,
        padding: u32,
    }
}

impl LearnedColumn {
    /// Those that a step learns, the others null; `scale` makes of a rate what `adam` is told.
    pub fn all(rows: &AllRows, plan: &StepPlan, scale: impl Fn(f32) -> f32) -> [Self; COLUMNS] {
        Column::ALL.map(|column| {
            let learns = column.entry().learns.as_ref();
            match (plan.columns[column], learns, &rows[column].arrays[..]) {
                (Some(plan), Some(learns), [values, first, second]) => Self {
                    values: values.address(),
                    first: first.address(),
                    second: second.address(),
                    weight: plan.weight,
                    rate: scale(plan.rate),
                    min: learns.min,
                    padding: 0,
                },
                _ => Self::zeroed(),
            }
        })
    }
}

shared_struct! {
    /// `ShapeColumns` of shape_columns.cuh: where columns are that change how Gaussians are drawn.
    #[derive(Default)]
    pub struct ShapeColumns as "ShapeColumns" {
        filter: Address,
    }
}

impl ShapeColumns {
    /// Of these columns.
    pub fn of(rows: &AllRows) -> Self {
        Self {
            filter: rows[Column::Filter].address(),
        }
    }

    /// Whether there is one.
    pub fn any(self) -> bool {
        self.filter != 0
    }
}

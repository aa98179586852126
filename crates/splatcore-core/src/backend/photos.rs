//! Photos that are read before a step needs them.

use super::{BackendError, Ranks, StepPlan};
use crate::View;
use crate::image::elsewhere::expect;

/// Reads the photos that one of some ranks needs in a step, if they are not held, and lets those of
/// the steps that follow be read ahead. So a photo that cannot be read is known of before the step.
///
/// # Errors
/// As [`crate::Photo::held`].
pub fn read_ahead(views: &[View], ranks: Ranks, plan: &StepPlan) -> Result<(), BackendError> {
    let batch = plan.views.len().max(1);
    let own = |(index, &view): (usize, &usize)| {
        let rendered = ranks.team(index % batch, batch).contains(&ranks.rank);
        rendered.then_some(view)
    };
    let own =
        |views: &[usize]| -> Vec<usize> { views.iter().enumerate().filter_map(own).collect() };
    let now = own(&plan.views);
    expect(views, &now, &own(&plan.upcoming));
    for view in now {
        // Whoever takes the step refuses a view that there is not.
        if let Some(view) = views.get(view) {
            view.photo.held()?;
        }
    }
    Ok(())
}

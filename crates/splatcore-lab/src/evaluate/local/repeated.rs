//! Times alone, for those who ask how sure a verdict is.

use super::{Local, Stop};
use crate::candidate::Texts;
use crate::evaluate::Broken;
use crate::gates::Verdict;
use crate::journal::Series;

impl Local<'_> {
    /// Times kernels beside the baseline's, in a worker of their own, until the verdict falls. No
    /// gate is met.
    ///
    /// # Errors
    /// If they cannot be timed here.
    pub fn compare(&mut self, changed: &Texts) -> Result<(Vec<Series>, Verdict), Broken> {
        self.evaluated += 1;
        self.timed(changed).map_err(broken)
    }

    /// How much processes of the baseline differ: [`crate::timing::margin`], measured when it is
    /// first wanted.
    ///
    /// # Errors
    /// If the baseline cannot be timed here.
    pub fn process_margin(&mut self) -> Result<f64, Broken> {
        self.margin().map_err(broken)
    }
}

fn broken(stop: Stop) -> Broken {
    Broken(format!("times: {stop}"))
}

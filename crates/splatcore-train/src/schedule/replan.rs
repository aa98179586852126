//! Moving the end of a run while it runs.

use super::Schedule;
use super::course::Course;

impl Schedule {
    /// The course, if the end of the run was moved.
    pub fn course(&self) -> Option<&Course> {
        self.course.as_ref()
    }

    /// The schedule of a run that had such a course.
    pub(crate) fn on(self, course: Option<Course>) -> Self {
        let Some(course) = course else { return self };
        let config = self.config.planned(course.first);
        Self { config, ..self }.with(course)
    }

    /// The plan of a run with a budget, after step `step`: to end at `iterations`. Where growth
    /// would not have begun by such a plan, all that follows from the number of steps (how many
    /// Gaussians, how often the set is refined) is chosen anew: an earlier plan may have been made
    /// of slow steps, in which kernels were compiled.
    pub(crate) fn planned(&self, step: u32, iterations: u32) -> Self {
        let anew = self.begun(step, iterations);
        match self.course {
            Some(_) if step >= anew.config.densify.from => self.moved(step, iterations),
            _ => anew,
        }
    }

    /// As a first plan: all that follows from the number of steps is chosen for `iterations`.
    fn begun(&self, step: u32, iterations: u32) -> Self {
        let config = self.config.planned(iterations);
        Self {
            course: Some(Course::of(&config, step, iterations)),
            config,
            ..self.clone()
        }
    }

    /// After step `step` the end moves to `iterations`, a later step.
    fn moved(&self, step: u32, iterations: u32) -> Self {
        let config = &self.config;
        let old = self
            .course
            .unwrap_or_else(|| Course::of(config, step, config.iterations));
        let mut course = Course {
            iterations: iterations.max(step + 1),
            step,
            done: old.share(step),
            ..old
        };
        let fixes = |key: &str| config.budget.as_ref().is_some_and(|b| b.fixes(key));
        if old.until_step > step && !fixes("densify-until") {
            course.until_step = course.step_at(old.densify_until);
        }
        if old.coarse_step > step && !fixes("coarse-until") {
            // It was a share of the run by the plan that stands.
            course.coarse_step = course.step_at(old.share(old.coarse_step));
        }
        self.clone().with(course)
    }

    /// After step `step` the run comes to its end, at step `iterations`: it grows no more, photos
    /// have their full size, and what is left of the schedules passes until then.
    pub(crate) fn ending(&self, step: u32, iterations: u32) -> Self {
        let mut ending = self.moved(step, iterations);
        if let Some(mut course) = ending.course {
            course.until_step = course.until_step.min(step);
            course.coarse_step = course.coarse_step.min(step);
            ending = ending.with(course);
        }
        ending
    }

    fn with(mut self, course: Course) -> Self {
        self.config.iterations = course.iterations;
        self.config.densify.until = course.until_step;
        self.config.data.coarse_until = course.coarse_step;
        self.course = Some(course);
        self
    }

    /// The share of the run that is done at a step.
    pub(crate) fn share_done(&self, step: u32) -> f64 {
        self.progress(step).min(1.0)
    }
}

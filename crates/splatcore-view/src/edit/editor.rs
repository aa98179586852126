//! [`Editor`]: a scene and what was changed of it.

use super::history::{History, State};
use super::mask::Mask;
use super::moves::Up;
use super::region::{Region, Stroke};
use super::save::{self, NotSaved, SavePlace, Saved};
use super::sight::Sight;
use super::status::EditStatus;
use splatcore_core::Gaussians;
use splatcore_data::scene::edit::normal_of;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// How a region changes the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// It becomes the selection.
    Replace,
    /// It is added.
    Add,
    /// It is taken away.
    Remove,
}

/// A change that a browser asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Select a part of the scene.
    Select(Region, Join),
    /// Select what is not selected.
    Invert,
    /// Select nothing.
    Clear,
    /// Delete what is selected.
    Delete,
    /// Delete what is not selected.
    Keep,
    /// Take the newest step back.
    Undo,
    /// Take the step again that was undone last.
    Redo,
    /// Two points are so far apart; none: lengths stay.
    Metric(Option<([[f64; 3]; 2], f64)>),
    /// This is up; none: up stays.
    Up(Option<Up>),
    /// Up is the normal of the plane through what is selected, on the side of a point.
    UpFromSelection([f64; 3]),
}

impl Edit {
    /// The stroke of which it must be known what its view shows.
    pub fn sight(&self) -> Option<&Stroke> {
        match self {
            Edit::Select(region, _) => region.sight(),
            _ => None,
        }
    }
}

/// A save that is under way: whose it is, and where its end is told.
struct Saving {
    client: u64,
    end: Receiver<Result<Saved, String>>,
}

/// A scene that is edited.
pub struct Editor {
    scene: Arc<Gaussians>,
    state: State,
    history: History,
    place: Option<SavePlace>,
    saving: Option<Saving>,
    /// Whether something was changed since the last save.
    unsaved: bool,
}

impl Editor {
    /// Nothing is changed yet. Without a place nothing can be saved.
    pub fn new(scene: Arc<Gaussians>, place: Option<SavePlace>) -> Self {
        Self {
            state: State::new(scene.len()),
            scene,
            history: History::default(),
            place,
            saving: None,
            unsaved: false,
        }
    }

    /// What is changed now.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Makes a change. `sight` is what the view of [`Edit::sight`] shows.
    ///
    /// # Errors
    /// One line that says why nothing was changed.
    pub fn apply(&mut self, edit: &Edit, sight: Option<&Sight>) -> Result<(), String> {
        let mut next = self.state.clone();
        match edit {
            Edit::Undo | Edit::Redo => {
                let gone = match edit {
                    Edit::Undo => self.history.undo(&mut self.state),
                    _ => self.history.redo(&mut self.state),
                };
                self.unsaved |= gone;
                return Ok(());
            }
            Edit::Select(region, join) => {
                let found = region.of(&self.scene, sight).without(&next.deleted);
                next.selected = match join {
                    Join::Replace => found,
                    Join::Add => next.selected.or(&found),
                    Join::Remove => next.selected.without(&found),
                };
            }
            Edit::Invert => next.selected = next.selected.or(&next.deleted).inverse(),
            Edit::Clear => next.selected = Mask::none(self.scene.len()),
            Edit::Delete | Edit::Keep => {
                if next.selected.is_empty() {
                    return Err("nothing is selected; select Gaussians first".into());
                }
                let gone = match edit {
                    Edit::Delete => next.selected.clone(),
                    _ => next.selected.inverse(),
                };
                next.deleted = next.deleted.or(&gone);
                next.selected = Mask::none(self.scene.len());
            }
            Edit::Metric(metric) => next.moves.metric = *metric,
            Edit::Up(up) => next.moves.up = up.clone(),
            Edit::UpFromSelection(towards) => {
                let means = &self.scene.means;
                let points: Vec<[f64; 3]> = (next.selected.indices())
                    .map(|i| means[i].map(f64::from))
                    .collect();
                let normal = normal_of(&points, *towards).ok_or(
                    "the selection is no plane; select a part of a floor, a table or a wall",
                )?;
                next.moves.up = Some(Up::Direction(normal));
            }
        }
        let changes = next.deleted != self.state.deleted || next.moves != self.state.moves;
        self.history.go(&mut self.state, next);
        self.unsaved |= changes;
        Ok(())
    }

    /// Begins to write what is left under a name; [`Editor::saved`] tells the end.
    ///
    /// # Errors
    /// If it is not written.
    pub fn save(&mut self, client: u64, name: &str, replace: bool) -> Result<(), NotSaved> {
        let failed = |message: &str| Err(NotSaved::Failed(message.into()));
        let Some(place) = &self.place else {
            return failed("this is not a scene's file, and cannot be saved as one");
        };
        if self.saving.is_some() {
            return failed("a save is under way; try again when it is done");
        }
        let path = place.file(name, replace)?;
        let (sender, end) = channel();
        let (scene, state) = (Arc::clone(&self.scene), self.state.clone());
        let antialiased = place.antialiased;
        std::thread::spawn(move || {
            // An error means that nobody waits any more.
            let _ = sender.send(save::write(&path, &scene, &state, antialiased));
        });
        self.saving = Some(Saving { client, end });
        self.unsaved = false;
        Ok(())
    }

    /// The end of a save and whose it was, once.
    pub fn saved(&mut self) -> Option<(u64, Result<Saved, String>)> {
        let saving = self.saving.as_ref()?;
        let client = saving.client;
        let end = match saving.end.try_recv() {
            Ok(end) => end,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err("the save failed".into()),
        };
        self.saving = None;
        self.unsaved |= end.is_err();
        Some((client, end))
    }

    /// What browsers are told.
    pub fn status(&self) -> EditStatus {
        let (state, [undo, redo]) = (&self.state, self.history.steps());
        let deleted = state.deleted.count();
        EditStatus {
            enabled: true,
            left: self.scene.len() - deleted,
            selected: state.selected.count(),
            deleted,
            undo,
            redo,
            scale: state.moves.scale(),
            up: state.moves.up.as_ref().and_then(Up::direction),
            command: state.moves.command(),
            unsaved: self.unsaved,
            proposal: self.place.as_ref().map(|place| place.proposal.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_data::scene::edit::Shape;

    /// Gaussians at x = 0 to 9.
    fn editor() -> Editor {
        let mut scene = Gaussians::zeros(10, 0);
        for i in 0..10 {
            scene.means[i] = [i as f32, 0.0, 0.0];
        }
        Editor::new(Arc::new(scene), None)
    }

    fn between(low: f64, high: f64) -> Region {
        Region::Volume(Shape::Box {
            min: [low, -1.0, -1.0],
            max: [high, 1.0, 1.0],
        })
    }

    fn selected(editor: &Editor) -> Vec<usize> {
        editor.state().selected.indices().collect()
    }

    #[test]
    fn selections_are_replaced_added_to_and_taken_from() {
        let mut editor = editor();
        let mut select = |low, high, join| {
            let edit = Edit::Select(between(low, high), join);
            editor.apply(&edit, None).unwrap();
            selected(&editor)
        };
        assert_eq!(select(0.0, 3.0, Join::Replace), [0, 1, 2, 3]);
        assert_eq!(select(5.0, 6.0, Join::Add), [0, 1, 2, 3, 5, 6]);
        assert_eq!(select(2.0, 5.0, Join::Remove), [0, 1, 6]);
        assert_eq!(select(9.0, 9.0, Join::Replace), [9]);
        editor.apply(&Edit::Invert, None).unwrap();
        assert_eq!(selected(&editor), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        editor.apply(&Edit::Clear, None).unwrap();
        assert_eq!(selected(&editor), [0; 0]);
        assert!(!editor.status().unsaved);
    }

    #[test]
    fn what_is_deleted_is_not_selected_again_until_it_is_back() {
        let mut editor = editor();
        assert!(editor.apply(&Edit::Delete, None).is_err());
        let all = Edit::Select(between(0.0, 9.0), Join::Replace);
        editor
            .apply(&Edit::Select(between(0.0, 3.0), Join::Replace), None)
            .unwrap();
        editor.apply(&Edit::Delete, None).unwrap();
        assert_eq!((editor.status().left, editor.status().selected), (6, 0));
        editor.apply(&all, None).unwrap();
        assert_eq!(selected(&editor), [4, 5, 6, 7, 8, 9]);
        editor
            .apply(&Edit::Select(between(4.0, 5.0), Join::Replace), None)
            .unwrap();
        editor.apply(&Edit::Invert, None).unwrap();
        assert_eq!(selected(&editor), [6, 7, 8, 9]);
        editor.apply(&Edit::Keep, None).unwrap();
        assert!(editor.state().deleted.indices().eq(0..6));
        assert!(editor.status().unsaved);
        let steps = editor.status().undo;
        for _ in 0..steps {
            editor.apply(&Edit::Undo, None).unwrap();
        }
        assert_eq!(editor.state(), &State::new(10));
        for _ in 0..steps {
            editor.apply(&Edit::Redo, None).unwrap();
        }
        assert!(editor.state().deleted.indices().eq(0..6));
        assert_eq!((editor.status().undo, editor.status().redo), (steps, 0));
    }

    #[test]
    fn a_save_needs_a_place() {
        let refused = editor().save(1, "x.ply", false);
        assert!(matches!(refused, Err(NotSaved::Failed(_))));
    }
}

//! [`Editor`]: a scene and what was changed of it.

use super::history::{History, State};
use super::mask::Mask;
use super::moves::{Moves, Up};
use super::region::Region;
use super::save::{self, NotSaved, SavePlace, Saved};
use super::sight::Sight;
use super::status::EditStatus;
use super::stroke::Stroke;
use splatcore_core::Gaussians;
use splatcore_data::scene::edit::normal_of;
use std::path::{Path, PathBuf};
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
    /// What had been saved before.
    before: Content,
}

/// What a saved file holds of a scene.
#[derive(Clone)]
struct Content {
    deleted: Mask,
    moves: Moves,
    /// Edits that led here.
    edits: usize,
}

/// A scene that is edited.
pub struct Editor {
    scene: Arc<Gaussians>,
    state: State,
    history: History,
    place: Option<SavePlace>,
    saving: Option<Saving>,
    /// Edits that led to the present state, without selections.
    edits: usize,
    /// What was saved last, or opened.
    kept: Content,
}

impl Editor {
    /// Nothing is changed yet. Without a place nothing can be saved.
    pub fn new(scene: Arc<Gaussians>, place: Option<SavePlace>) -> Self {
        Self {
            state: State::new(scene.len()),
            kept: Content {
                deleted: Mask::none(scene.len()),
                moves: Moves::default(),
                edits: 0,
            },
            scene,
            history: History::default(),
            place,
            saving: None,
            edits: 0,
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
        let before = (self.state.deleted.clone(), self.state.moves.clone());
        let back = *edit == Edit::Undo;
        match edit {
            Edit::Undo => _ = self.history.undo(&mut self.state),
            Edit::Redo => _ = self.history.redo(&mut self.state),
            _ => {
                let next = self.next(edit, sight)?;
                self.history.go(&mut self.state, next);
            }
        }
        if before != (self.state.deleted.clone(), self.state.moves.clone()) {
            self.edits = match back {
                true => self.edits.saturating_sub(1),
                false => self.edits + 1,
            };
        }
        Ok(())
    }

    /// The state after an edit that is no undo or redo.
    fn next(&self, edit: &Edit, sight: Option<&Sight>) -> Result<State, String> {
        let mut next = self.state.clone();
        match edit {
            Edit::Undo | Edit::Redo => {}
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
        Ok(next)
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
        let (name, antialiased) = (name.to_owned(), place.antialiased);
        let after = place.after.clone();
        std::thread::spawn(move || {
            let saved = save::write(&path, &scene, &state, (antialiased, after.as_ref()));
            // An error means that nobody waits any more.
            let _ = sender.send(saved.map(|saved| Saved { name, ..saved }));
        });
        let now = self.content();
        let before = std::mem::replace(&mut self.kept, now);
        self.saving = Some(Saving {
            client,
            end,
            before,
        });
        Ok(())
    }

    fn content(&self) -> Content {
        Content {
            deleted: self.state.deleted.clone(),
            moves: self.state.moves.clone(),
            edits: self.edits,
        }
    }

    /// Edits that would be lost now.
    pub fn unsaved(&self) -> usize {
        let (kept, state) = (&self.kept, &self.state);
        match kept.deleted == state.deleted && kept.moves == state.moves {
            true => 0,
            // Other edits than those that were saved may be as many.
            false => self.edits.abs_diff(kept.edits).max(1),
        }
    }

    /// The program ends: waits for a save that is under way. Then says where the edits belong that
    /// would be lost, a file that there is not yet; none if there are none or nothing can be saved.
    pub fn end(&mut self) -> Option<PathBuf> {
        if let Some(saving) = self.saving.take()
            && !matches!(saving.end.recv(), Ok(Ok(_)))
        {
            self.kept = saving.before;
        }
        let place = self.place.as_ref().filter(|_| self.unsaved() > 0)?;
        Some(place.rescue())
    }

    /// Writes what is left of the scene to a file, whatever browsers do.
    ///
    /// # Errors
    /// As [`Editor::save`], in one line.
    pub fn write(&self, path: &Path) -> Result<Saved, String> {
        let place = self.place.as_ref();
        let antialiased = place.is_some_and(|place| place.antialiased);
        let after = place.and_then(|place| place.after.as_ref());
        save::write(path, &self.scene, &self.state, (antialiased, after))
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
        let saving = self.saving.take()?;
        if end.is_err() {
            self.kept = saving.before;
        }
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
            unsaved: self.unsaved(),
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
        assert_eq!(editor.status().unsaved, 0);
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
        assert_eq!(editor.status().unsaved, 2);
        let steps = editor.status().undo;
        for _ in 0..steps {
            editor.apply(&Edit::Undo, None).unwrap();
        }
        assert_eq!(editor.state(), &State::new(10));
        assert_eq!(editor.unsaved(), 0);
        for _ in 0..steps {
            editor.apply(&Edit::Redo, None).unwrap();
        }
        assert!(editor.state().deleted.indices().eq(0..6));
        assert_eq!((editor.status().undo, editor.status().redo), (steps, 0));
    }

    /// What was saved is not lost; what was changed since, or taken back, is.
    #[test]
    fn edits_since_the_last_save_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let place = SavePlace {
            folder: folder.path().into(),
            opened: None,
            proposal: "tower-edited.ply".into(),
            antialiased: false,
            after: None,
        };
        let mut editor = Editor {
            place: Some(place),
            ..editor()
        };
        let delete = |editor: &mut Editor, at: f64| {
            let select = Edit::Select(between(at, at), Join::Replace);
            editor.apply(&select, None).unwrap();
            editor.apply(&Edit::Delete, None).unwrap();
        };
        assert_eq!(editor.end(), None);
        (0..3).for_each(|i| delete(&mut editor, f64::from(i)));
        assert_eq!(editor.unsaved(), 3);
        editor.save(1, "x.ply", false).unwrap();
        assert_eq!(editor.end(), None);
        delete(&mut editor, 5.0);
        editor.apply(&Edit::Clear, None).unwrap();
        assert_eq!(editor.unsaved(), 1);
        let file = editor.end().unwrap();
        assert_eq!(file, folder.path().join("tower-unsaved.ply"));
        assert_eq!(editor.write(&file).unwrap().gaussians, 6);
        assert_eq!(
            editor.end().unwrap(),
            folder.path().join("tower-unsaved-2.ply")
        );
        // Back at what was saved, and beyond it.
        for unsaved in [0, 0, 1] {
            editor.apply(&Edit::Undo, None).unwrap();
            assert_eq!(editor.unsaved(), unsaved);
        }
        // A save that fails keeps nothing.
        editor.apply(&Edit::Clear, None).unwrap();
        editor.apply(&Edit::Invert, None).unwrap();
        editor.apply(&Edit::Delete, None).unwrap();
        let lost = editor.unsaved();
        editor.save(1, "y.ply", false).unwrap();
        assert!(editor.end().is_some());
        assert_eq!(editor.unsaved(), lost);
    }

    #[test]
    fn a_save_needs_a_place() {
        let refused = editor().save(1, "x.ply", false);
        assert!(matches!(refused, Err(NotSaved::Failed(_))));
    }
}

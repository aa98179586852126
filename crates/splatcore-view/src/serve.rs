//! The loop of the thread that draws a finished scene and edits it.

use crate::drawing::Variants;
use crate::edit::{Editor, NotSaved};
use crate::hub::{Hub, Work};
use splatcore_core::backend::RenderOptions;
use std::time::Duration;

/// How long to wait for work before asking whether to stop.
const POLL: Duration = Duration::from_millis(200);

/// Draws a finished scene for browsers, and edits and saves it for those that may, until `stop`
/// says so.
pub fn serve(
    hub: &Hub,
    variants: &mut Variants,
    editor: &mut Editor,
    options: &RenderOptions,
    stop: impl Fn() -> bool,
) {
    hub.publish_edits(editor.status());
    while !stop() {
        let taken = hub.take(POLL);
        if let Some((client, end)) = editor.saved() {
            hub.tell_saved(client, "", end.map_err(NotSaved::Failed));
            hub.publish_edits(editor.status());
        }
        let Some((client, work)) = taken else {
            continue;
        };
        match &work {
            Work::Sight(look) => {
                if let Err(error) = variants.look(&look.camera, options, editor.state()) {
                    hub.fail((client, work), &error);
                }
            }
            Work::Edit(edit) => {
                let sight = edit
                    .sight()
                    .map(|stroke| variants.sight(stroke, options, editor.state()))
                    .transpose();
                let done = sight.map_err(|error| error.to_string());
                let done = done.and_then(|sight| editor.apply(edit, sight.as_deref()));
                if let Err(problem) = done {
                    hub.refuse(client, problem);
                }
                hub.publish_edits(editor.status());
            }
            Work::Save(name, replace) => {
                if let Err(refused) = editor.save(client, name, *replace) {
                    hub.tell_saved(client, name, Err(refused));
                }
            }
            Work::View(look) | Work::Pick(look, ..) | Work::Picture(look) => {
                let highlight = !matches!(work, Work::Picture(_));
                match variants.of(look, editor.state(), highlight) {
                    Ok(renderer) => hub.draw((client, work), renderer, options, 0),
                    Err(error) => hub.fail((client, work), &error),
                }
            }
        }
    }
}

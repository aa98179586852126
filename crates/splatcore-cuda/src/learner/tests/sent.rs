//! How much ranks send each other.

use super::ranks::{Course, PLAIN, by};
use super::*;
use crate::ops::blend_backward::SUM_BYTES;
use crate::passes::SPLAT_ROWS;
use crate::tests::support::device::device;

/// Bytes that four ranks send in a step of a scene of which each view sees a part, once they know
/// how much room is wanted, and splats that they have room for.
fn sent_in_a_step(course: Course) -> Option<(usize, usize)> {
    const STEPS: u32 = 12;
    let device = device()?;
    let all = by(4, move |_, peers| {
        let peers = match course.strips {
            true => Arc::new(Arc::into_inner(peers).unwrap().with_strips()),
            false => peers,
        };
        // The ranks have their strips already.
        let plain = Course {
            strips: false,
            ..course
        };
        let learner = plain.learner_on(&device, offload::scene(), false, Some(peers));
        let mut learner = learner.unwrap();
        (1..=4).for_each(|step| learner.step(&course.plan(step)).unwrap());
        learner.last_loss().unwrap();
        let before = learner.exchanged();
        (5..5 + STEPS).for_each(|step| learner.step(&course.plan(step)).unwrap());
        learner.last_loss().unwrap();
        let after = learner.exchanged();
        assert!(after.exchanges > before.exchanges && after.pieces > before.pieces);
        let sent = (after.bytes - before.bytes) as usize / STEPS as usize;
        Some((sent, learner.sharing.as_ref().unwrap().shared_room()))
    })?;
    Some((all.iter().map(|(sent, _)| sent).sum(), all[0].1))
}

/// A splat with what goes with it, and its sums.
const SPLAT_AND_SUMS: usize = SPLAT_ROWS[0] + SPLAT_ROWS[1] + SPLAT_ROWS[2] + SUM_BYTES;

/// Of what ranks send in steps, splats and sums are those in view, with some room.
#[test]
fn what_no_view_sees_is_not_sent() {
    let Some((sent, _)) = sent_in_a_step(PLAIN) else {
        return;
    };
    // Each rank has a quarter of the fifth that is in view, and room for a quarter more than that.
    let all = offload::scene().len() * 3 / 4 * SPLAT_AND_SUMS;
    eprintln!("4 ranks send {sent} bytes a step; {all} if all rows went");
    assert!(7 * sent < 2 * all, "{sent} of {all}");
}

/// Of what four ranks send that render a photo together, beside splats and sums from each to each
/// other and the image, rows of pairs are those that others add up, with some room.
#[test]
fn strips_do_not_send_all_rows_of_pairs() {
    let Some((sent, splats)) = sent_in_a_step(Course {
        strips: true,
        ..PLAIN
    }) else {
        return;
    };
    let device = device().unwrap();
    let mut learner = PLAIN
        .learner_on(&device, offload::scene(), false, None)
        .unwrap();
    let (mut pairs, mut pixels) = (0, 0);
    for View { camera, .. } in &views() {
        let counts = learner.counts(camera, &PLAIN.plan(1).render).unwrap();
        pairs += counts.pairs as usize / 3;
        pixels += camera.width as usize * camera.height as usize / 3;
    }
    let rows = sent - 3 * (SPLAT_AND_SUMS * splats + 12 * pixels);
    let all = 3 * SUM_BYTES * pairs;
    eprintln!("4 ranks send {rows} bytes of rows a step; {all} if all went");
    assert!(rows < all, "{rows} of {all}");
}

/// Ranks do not share a photo where that saves nothing.
#[test]
fn what_cannot_be_divided_is_sent_once() {
    let sent = |strips| {
        sent_in_a_step(Course {
            atomic: true,
            strips,
            ..PLAIN
        })
    };
    assert_eq!(sent(true), sent(false));
}

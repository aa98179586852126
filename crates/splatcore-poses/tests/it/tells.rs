//! What an observer hears: phases, counts, time left.

use crate::fake::{Ear, Fake};
use splatcore_poses::{Matching, find_poses};

const PHOTOS: [&str; 4] = ["1.jpg", "2.jpg", "3.jpg", "5.jpg"];

#[test]
fn a_silent_mapper_does_not_silence_the_progress() {
    let fake = Fake::old(&PHOTOS);
    fake.put("slow_mapper", "1.7");
    fake.put("log_mapper", "Finding good initial image pair\n");
    let mut ear = Ear::default();
    find_poses(&fake.job(), &mut ear).unwrap();
    let line = "3/3 registering photos 0/4 looking for a pair to begin with";
    let heard = ear.heard.borrow();
    let times = heard.iter().filter(|heard| *heard == line).count();
    assert!(times >= 3, "told {times} times in 1.7 s: {heard:?}");
}

#[test]
fn time_left_is_estimated_in_every_phase_and_ends_near_zero() {
    let fake = Fake::old(&PHOTOS);
    fake.put(
        "log_mapper",
        "Initializing with image pair #1 and #2\nGlobal bundle adjustment\n\
         Registering image #3 (3)\nRegistering image #4 (4)\n",
    );
    let mut ear = Ear::default();
    find_poses(&fake.job(), &mut ear).unwrap();
    let (heard, left) = (ear.heard.borrow(), ear.left.borrow());
    for phase in ["1/3 features", "2/3 matching", "3/3 registering photos"] {
        assert!(
            heard.iter().any(|line| line.starts_with(phase)),
            "{heard:?}"
        );
    }
    for line in [
        "3/3 registering photos 2/4",
        "3/3 registering photos 2/4 bundle adjustment",
        "3/3 registering photos 4/4",
    ] {
        assert!(heard.iter().any(|heard| heard == line), "{line}: {heard:?}");
    }
    assert!(left.iter().all(Option::is_some), "{left:?}");
    assert!(left.last().unwrap().unwrap() < left[0].unwrap(), "{left:?}");
}

#[test]
fn the_global_mapper_counts_its_stages() {
    let fake = Fake::new_version(&PHOTOS);
    let mut ear = Ear::default();
    find_poses(&fake.job(), &mut ear).unwrap();
    let line = "3/3 posing all photos 0/0 positions (4 of 6)";
    let heard = ear.heard.borrow();
    assert!(heard.iter().any(|heard| heard == line), "{heard:?}");
}

#[test]
fn a_camera_is_noted_as_soon_as_it_is_made() {
    let fake = Fake::old(&PHOTOS);
    let mut ear = Ear {
        watched: Some(fake.job().dataset.join("poses.json")),
        ..Ear::default()
    };
    find_poses(&fake.job(), &mut ear).unwrap();
    let (heard, states) = (ear.heard.borrow(), ear.states.borrow());
    // The camera's line stands before that of the second photo.
    let second = heard.iter().position(|line| line == "1/3 features 2/4");
    let state = &states[second.unwrap()];
    let state: serde_json::Value = serde_json::from_str(state).unwrap();
    let cameras = state["cameras"].as_object().unwrap();
    assert!(cameras.values().any(|id| id == 3), "{state}");
}

#[test]
fn frames_of_a_video_that_someone_else_took_are_matched_in_order() {
    let names = |step: usize| -> Vec<String> {
        (0..80).map(|i| format!("f_{:05}.jpg", i * step)).collect()
    };
    let commands = |names: &[String], matching| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let fake = Fake::old(&names);
        let job = splatcore_poses::Job {
            matching,
            ..fake.job()
        };
        find_poses(&job, &mut Ear::default()).unwrap();
        fake.commands()
    };
    let frames = names(8);
    assert_eq!(commands(&frames, Matching::Auto)[1], "sequential_matcher");
    assert_eq!(
        commands(&frames, Matching::Exhaustive)[1],
        "exhaustive_matcher"
    );
    let fewer = &frames[..79];
    assert_eq!(commands(fewer, Matching::Auto)[1], "exhaustive_matcher");
}

//! Stops, and what the next call does.

use crate::fake::{Ear, Fake, photo};
use crate::model;
use splatcore_poses::{Cameras, Job, Mapper, Matching, PosesError, find_poses, forecast};
use std::time::{Duration, Instant};

const PHOTOS: [&str; 3] = ["1.jpg", "2.jpg", "3.jpg"];

#[test]
fn a_stop_ends_the_program_and_what_it_started_and_the_next_call_goes_on() {
    for (command, then) in [
        (
            "feature_extractor",
            &["feature_extractor", "exhaustive_matcher", "mapper"][..],
        ),
        ("exhaustive_matcher", &["exhaustive_matcher", "mapper"]),
        ("mapper", &["mapper"]),
    ] {
        let fake = Fake::old(&PHOTOS);
        let hang = format!("hang_{command}");
        fake.put(&hang, "");
        let mut ear = Ear {
            stop_when: Some(fake.at("sleeper")),
            ..Ear::default()
        };
        let start = Instant::now();
        let error = find_poses(&fake.job(), &mut ear).unwrap_err();
        assert!(matches!(error, PosesError::Stopped { .. }), "{error}");
        let anew = error.to_string().ends_with("but the mapper begins anew");
        assert_eq!(anew, command == "mapper", "{error}");
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
        let sleeper = std::fs::read_to_string(fake.at("sleeper")).unwrap();
        assert!(ends(sleeper.trim()), "the program's child lives");
        assert!(!fake.job().dataset.join("sparse/0").exists());
        let first = fake.commands();
        assert_eq!(first.last().unwrap(), command);
        std::fs::remove_file(fake.at(&hang)).unwrap();
        let mut ear = Ear::default();
        find_poses(&fake.job(), &mut ear).unwrap();
        let heard = ear.heard.into_inner();
        let mut notes = heard.iter();
        let said = notes.any(|note| note.starts_with("note: the mapper was ended"));
        assert_eq!(said, command == "mapper", "{heard:?}");
        let calls = fake.calls();
        let commands: Vec<&str> = calls.iter().filter_map(|c| c.split(' ').next()).collect();
        assert_eq!(commands, then);
        if command == "feature_extractor" {
            // The camera of the photos that were done before the stop.
            assert_contains!(calls[0], "--ImageReader.existing_camera_id 3");
        }
        let notes = std::fs::read_to_string(fake.job().dataset.join("poses.db")).unwrap();
        assert_eq!(
            notes.lines().next(),
            Some("feature_extractor"),
            "the database was kept"
        );
    }
}

/// Whether a process has ended, soon: a signal that kills takes effect when the process runs next.
fn ends(process: &str) -> bool {
    let start = Instant::now();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
        if stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z ")) {
            return true;
        }
        if start.elapsed() > Duration::from_secs(5) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_finished_dataset_is_left_alone() {
    let fake = Fake::old(&PHOTOS);
    find_poses(&fake.job(), &mut Ear::default()).unwrap();
    assert_eq!(fake.commands().len(), 3);
    // Not even the program is needed.
    let job = Job {
        colmap: Some("/nowhere".into()),
        ..fake.job()
    };
    assert!(find_poses(&job, &mut Ear::default()).unwrap().already);
    let job = Job {
        overwrite: true,
        ..fake.job()
    };
    assert!(!find_poses(&job, &mut Ear::default()).unwrap().already);
    assert_eq!(
        fake.commands(),
        ["feature_extractor", "exhaustive_matcher", "mapper"]
    );
    let notes = std::fs::read_to_string(job.dataset.join("poses.db")).unwrap();
    assert_eq!(notes.lines().count(), 3, "a new database: {notes}");
    // Other matches are more matches; the features stay.
    let job = Job {
        matching: Matching::Sequential,
        ..fake.job()
    };
    assert!(!find_poses(&job, &mut Ear::default()).unwrap().already);
    assert_eq!(fake.commands(), ["sequential_matcher", "mapper"]);
}

#[test]
fn new_photos_join_the_others() {
    let fake = Fake::old(&PHOTOS);
    find_poses(&fake.job(), &mut Ear::default()).unwrap();
    fake.calls();
    photo(&fake.at("my photos/2b.jpg"));
    model::write(
        &fake.at("models_mapper/0"),
        &["1.jpg", "2.jpg", "2b.jpg", "3.jpg"],
        50,
        0.5,
    );
    let mut ear = Ear::default();
    let outcome = find_poses(&fake.job(), &mut ear).unwrap();
    assert_eq!((outcome.already, outcome.report.registered), (false, 4));
    let calls = fake.calls();
    assert!(
        calls.len() == 3 && calls[0].contains("existing_camera_id 3"),
        "{calls:?}"
    );
    let note = "note: 1 photos are new; what is known of the others is kept";
    assert!(
        ear.heard.borrow().iter().any(|line| line == note),
        "{:?}",
        ear.heard
    );
    let notes = std::fs::read_to_string(fake.job().dataset.join("poses.db")).unwrap();
    assert_eq!(notes.lines().count(), 6, "the same database");
}

/// Poses that something was made of are not replaced, and what they are is not forgotten.
#[test]
fn poses_that_are_in_use_stay() {
    let fake = Fake::old(&PHOTOS);
    let keep = |job: Job| Job { keep: true, ..job };
    find_poses(&keep(fake.job()), &mut Ear::default()).unwrap();
    fake.calls();
    let model = fake.job().dataset.join("sparse/0/images.bin");
    let before = std::fs::read(&model).unwrap();
    let refused = |job: Job, wanted: &str| {
        assert!(!forecast(&job, None).unwrap().done);
        let error = find_poses(&keep(job), &mut Ear::default()).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
        assert_eq!(std::fs::read(&model).unwrap(), before);
        assert_eq!(fake.calls(), Vec::<String>::new());
        assert!(
            find_poses(&keep(fake.job()), &mut Ear::default())
                .unwrap()
                .already
        );
    };
    let anew = "would be found anew";
    let mapper = Mapper::Incremental;
    refused(
        Job {
            mapper,
            ..fake.job()
        },
        anew,
    );
    let matching = Matching::Sequential;
    refused(
        Job {
            matching,
            ..fake.job()
        },
        anew,
    );
    assert!(forecast(&fake.job(), None).unwrap().done);
    photo(&fake.at("my photos/2b.jpg"));
    assert!(!forecast(&fake.job(), None).unwrap().done);
    let error = find_poses(&keep(fake.job()), &mut Ear::default()).unwrap_err();
    assert!(error.to_string().contains("photos were added"), "{error}");
    assert_eq!(std::fs::read(&model).unwrap(), before);
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_lost() {
    let fake = Fake::old(&PHOTOS);
    find_poses(&fake.job(), &mut Ear::default()).unwrap();
    fake.calls();
    let refused = |job: &Job, wanted: &str| {
        let error = find_poses(job, &mut Ear::default()).unwrap_err();
        assert!(matches!(error, PosesError::Occupied { .. }), "{error}");
        assert!(error.to_string().contains(wanted), "{error}");
        assert!(job.dataset.join("sparse/0/images.bin").is_file());
        assert_eq!(fake.calls(), Vec::<String>::new());
    };
    let job = Job {
        camera_model: Some("OPENCV".into()),
        ..fake.job()
    };
    refused(
        &job,
        "was begun with camera model SIMPLE_RADIAL, not OPENCV",
    );
    refused(
        &Job {
            max_size: Some(99),
            ..fake.job()
        },
        "another largest size",
    );
    refused(
        &Job {
            cameras: Cameras::Each,
            ..fake.job()
        },
        "other cameras",
    );
    let every = |step| Job {
        every: Some(step),
        ..fake.job()
    };
    // It is there, and left out.
    refused(
        &every(2),
        "the photo 2.jpg was used, but every so many photos are taken",
    );
    let error = find_poses(&every(3), &mut Ear::default()).unwrap_err();
    assert_contains!(error, "of its 3 photos one is taken");
    std::fs::remove_file(fake.at("my photos/2.jpg")).unwrap();
    refused(&fake.job(), "the photo 2.jpg is gone since");
    photo(&fake.at("my photos/2.jpg"));
    let help = std::fs::read_to_string(fake.at("help")).unwrap();
    fake.put("help", &help.replace("3.8", "3.9.1"));
    let dataset = fake.at("süd ausgang");
    std::fs::remove_dir_all(dataset.join("sparse")).unwrap();
    let state = std::fs::read_to_string(dataset.join("poses.json")).unwrap();
    let error = find_poses(&fake.job(), &mut Ear::default())
        .unwrap_err()
        .to_string();
    // The photo's time of change is another one, or, if the clock is coarse, the program.
    assert!(
        error.contains("2.jpg was changed") || error.contains("COLMAP 3.8"),
        "{error}"
    );
    assert_eq!(
        std::fs::read_to_string(dataset.join("poses.json")).unwrap(),
        state
    );
}

#[test]
fn models_and_files_of_others_are_not_touched() {
    let fake = Fake::old(&PHOTOS);
    let dataset = fake.job().dataset;
    model::write(&dataset.join("sparse/0"), &["x.jpg"], 1, 0.1);
    assert_contains!(
        find_poses(&fake.job(), &mut Ear::default()).unwrap_err(),
        "already holds a model that this command did not make"
    );
    std::fs::remove_dir_all(dataset.join("sparse")).unwrap();
    std::fs::create_dir_all(dataset.join("images")).unwrap();
    std::fs::write(dataset.join("images/2.jpg"), "mine").unwrap();
    let error = find_poses(&fake.job(), &mut Ear::default()).unwrap_err();
    assert_contains!(error, "images/2.jpg: is another file than");
    assert_eq!(
        std::fs::read(dataset.join("images/2.jpg")).unwrap(),
        b"mine"
    );
    assert_eq!(fake.calls(), Vec::<String>::new());
}

#[test]
fn one_call_at_a_time() {
    let fake = Fake::old(&PHOTOS);
    fake.put("hang_mapper", "");
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let mut ear = Ear {
                stop_when: Some(fake.at("enough")),
                ..Ear::default()
            };
            find_poses(&fake.job(), &mut ear).map(|_| ())
        });
        while !fake.at("sleeper").exists() && !first.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let error = find_poses(&fake.job(), &mut Ear::default()).unwrap_err();
        assert_contains!(error, "another splatcore process works in this folder");
        fake.put("enough", "");
        assert!(matches!(
            first.join().unwrap(),
            Err(PosesError::Stopped { .. })
        ));
    });
}

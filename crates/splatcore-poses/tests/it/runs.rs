//! Whole runs against the pretender: arguments, files, falls back, failures.

use crate::fake::{Ear, Fake, photo};
use crate::model;
use splatcore_data::dataset::{Dataset, OpenOptions};
use splatcore_poses::{Cameras, Job, Mapper, Matching, PosesError, find_poses};

const PHOTOS: [&str; 4] = ["a b.jpg", "c/ü 1.jpg", "c/ü 2.jpg", "c/ü 10.jpg"];

#[test]
fn version_3_8_gets_its_own_options_and_a_dataset_comes_out() {
    let fake = Fake::old(&PHOTOS);
    let job = Job {
        max_size: Some(700),
        ..fake.job()
    };
    let mut ear = Ear::default();
    let outcome = find_poses(&job, &mut ear).unwrap();
    assert_eq!(
        (outcome.program.as_str(), outcome.mapper.as_str()),
        ("COLMAP 3.8", "incremental")
    );
    assert!(!outcome.already && outcome.report.usable);
    assert_eq!(
        (outcome.report.registered, outcome.report.mean_error),
        (4, 0.5)
    );
    assert_eq!(outcome.report.observations_per_photo, 50.0);
    let out = job.dataset.display();
    let calls = fake.calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    for part in [
        &format!("feature_extractor --database_path {out}/poses.db --image_path {out}/images"),
        "--ImageReader.camera_model SIMPLE_RADIAL",
        "--ImageReader.single_camera 1",
        "--SiftExtraction.use_gpu 0",
        "--SiftExtraction.max_image_size 700",
    ] {
        assert!(calls[0].contains(part), "{part}: {}", calls[0]);
    }
    assert!(!calls[0].contains("existing_camera_id"));
    assert_eq!(
        calls[1],
        format!(
            "exhaustive_matcher --database_path {out}/poses.db --SiftMatching.use_gpu 0 \
             --ExhaustiveMatching.block_size 5"
        )
    );
    assert!(calls[2].starts_with(&format!("mapper --database_path {out}/poses.db")));
    assert_eq!(
        std::fs::read_to_string(fake.at("list")).unwrap(),
        PHOTOS.join("\n") + "\n"
    );
    let heard = ear.heard.into_inner();
    for line in [
        "1/3 features 0/4",
        "1/3 features 1/4",
        "1/3 features 2/4",
        "2/3 matching 0/0",
        "2/3 matching 1/1",
        "3/3 registering photos 0/4",
        "3/3 registering photos 3/4",
    ] {
        assert!(heard.iter().any(|heard| heard == line), "{line}: {heard:?}");
    }
    assert!(heard[0].contains("COLMAP 3.8 without a graphics card (it was built without CUDA)"));
    // What training reads.
    let dataset = Dataset::open(&job.dataset, &OpenOptions::default()).unwrap();
    assert_eq!((dataset.entries.len(), dataset.missing.len()), (4, 0));
    let left: Vec<_> = std::fs::read_dir(&job.dataset)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(
        left.len(),
        5,
        "images, sparse, poses.db, .json, .log: {left:?}"
    );
    let log = std::fs::read_to_string(job.dataset.join("poses.log")).unwrap();
    assert!(
        log.contains("Matching block [1/1, 1/1] in 17.432s") && log.contains("exhaustive_matcher")
    );
}

#[test]
fn version_4_maps_globally_and_falls_back() {
    let fake = Fake::new_version(&PHOTOS);
    let outcome = find_poses(&fake.job(), &mut Ear::default()).unwrap();
    assert_eq!(
        (outcome.mapper.as_str(), outcome.report.mean_error),
        ("global", 0.25)
    );
    let calls = fake.calls();
    assert_contains!(calls[0], "--FeatureExtraction.use_gpu 0");
    assert_contains!(calls[1], "--FeatureMatching.use_gpu 0");
    assert!(calls[2].starts_with("view_graph_calibrator --database_path"));
    assert!(calls[3].starts_with("global_mapper ") && calls.len() == 4);

    // Another mapper is work that was not done; features and matches stay.
    let job = Job {
        mapper: Mapper::Incremental,
        ..fake.job()
    };
    let outcome = find_poses(&job, &mut Ear::default()).unwrap();
    assert_eq!(
        (outcome.mapper.as_str(), outcome.report.mean_error),
        ("incremental", 0.5)
    );
    assert_eq!(fake.commands(), ["mapper"]);

    // A failure, a failure that was asked for, and a model of too few photos.
    fake.put(
        "fail_global_mapper",
        "E20261124 12:37:28.464716 1397 a.cc:4] out of luck\n",
    );
    let job = |mapper| Job {
        mapper,
        overwrite: true,
        ..fake.job()
    };
    let mut ear = Ear::default();
    assert_eq!(
        find_poses(&job(Mapper::Auto), &mut ear).unwrap().mapper,
        "incremental"
    );
    assert!(
        ear.heard
            .borrow()
            .iter()
            .any(|line| line.contains("out of luck"))
    );
    let error = find_poses(&job(Mapper::Global), &mut Ear::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("the global mapper failed (exit status: 1): out of luck; "),
        "{error}"
    );
    std::fs::remove_file(fake.at("fail_global_mapper")).unwrap();
    model::write(&fake.at("models_global_mapper/0"), &PHOTOS[..3], 70, 0.25);
    let outcome = find_poses(&job(Mapper::Auto), &mut Ear::default()).unwrap();
    assert_eq!(
        (outcome.mapper.as_str(), outcome.report.registered),
        ("incremental", 4)
    );
    assert_eq!(
        find_poses(&job(Mapper::Global), &mut Ear::default())
            .unwrap()
            .report
            .registered,
        3
    );
}

#[test]
fn the_largest_of_several_models_is_taken() {
    let fake = Fake::old(&PHOTOS);
    model::write(&fake.at("models_mapper/0"), &PHOTOS[..1], 5, 9.0);
    model::write(&fake.at("models_mapper/1"), &PHOTOS[1..], 60, 0.5);
    let report = find_poses(&fake.job(), &mut Ear::default()).unwrap().report;
    assert_eq!(
        (report.models.as_slice(), report.registered),
        (&[3, 1][..], 3)
    );
    assert_eq!(report.unregistered, ["a b.jpg"]);
    assert!(
        report
            .advice
            .iter()
            .any(|line| line.starts_with("a b.jpg is not connected"))
    );
    assert!(report.usable);
    // The sizes are still known when nothing is left to do.
    let again = find_poses(&fake.job(), &mut Ear::default()).unwrap();
    assert!(again.already && again.report == report);
}

#[test]
fn cameras_and_matching_as_asked_for() {
    let fake = Fake::old(&PHOTOS);
    let job = Job {
        cameras: Cameras::Folder,
        camera_model: Some("PINHOLE".into()),
        matching: Matching::Sequential,
        vocabulary: Some(fake.at("help")),
        ..fake.job()
    };
    find_poses(&job, &mut Ear::default()).unwrap();
    let calls = fake.calls();
    assert_eq!(calls.len(), 4, "two folders are two cameras: {calls:?}");
    assert!(calls[0].contains("--ImageReader.camera_model PINHOLE"));
    let tree = format!(
        "--SequentialMatching.vocab_tree_path {}",
        fake.at("help").display()
    );
    assert!(
        calls[2].starts_with("sequential_matcher ") && calls[2].contains(&tree),
        "{}",
        calls[2]
    );
    assert!(calls[2].contains("--SequentialMatching.loop_detection 1"));
    let job = Job {
        cameras: Cameras::Each,
        overwrite: true,
        ..fake.job()
    };
    find_poses(&job, &mut Ear::default()).unwrap();
    assert!(fake.calls()[0].contains("--ImageReader.single_camera_per_image 1"));
    let job = Job {
        matching: Matching::Exhaustive,
        ..job
    };
    let job = Job {
        vocabulary: Some(fake.at("help")),
        ..job
    };
    assert!(matches!(
        find_poses(&job, &mut Ear::default()),
        Err(PosesError::Choices(_))
    ));
}

#[test]
fn photos_are_matched_with_similar_ones_where_the_program_can() {
    let fake = Fake::old(&PHOTOS);
    let job = Job {
        matching: Matching::Similar,
        ..fake.job()
    };
    let refused = |job: &Job| match find_poses(job, &mut Ear::default()) {
        Err(PosesError::Choices(problem)) => problem,
        other => panic!("{other:?}"),
    };
    assert!(refused(&job).starts_with("COLMAP 3.8 does not look for similar photos"));
    let help = std::fs::read_to_string(fake.at("help")).unwrap();
    fake.put(
        "help",
        &format!("{help}  vocab_tree_builder\n  vocab_tree_matcher\n"),
    );
    fake.put(
        "options",
        "--num_visual_words arg (=65536)\n--max_num_images arg (=-1)\n\
         --VocabTreeMatching.num_images arg (=100)\n--VocabTreeMatching.vocab_tree_path arg\n",
    );
    find_poses(&job, &mut Ear::default()).unwrap();
    let calls = fake.calls();
    let made = calls.iter().find(|call| call.starts_with("vocab_tree_b"));
    let matched = calls.iter().find(|call| call.starts_with("vocab_tree_m"));
    let (made, matched) = (made.unwrap(), matched.unwrap());
    let file = |call: &str, option: &str| {
        let (_, rest) = call.split_once(&format!("{option} ")).unwrap();
        rest.split_once("vocabulary.bin").unwrap().0.to_owned()
    };
    assert_eq!(
        file(made, "--vocab_tree_path"),
        file(matched, "--VocabTreeMatching.vocab_tree_path")
    );
    assert!(made.contains("--num_visual_words 1024") && made.contains("--max_num_images "));
    assert!(!made.contains("--branching"), "it does not take that");
    assert!(matched.contains("--VocabTreeMatching.num_images 12"));
    // What is matched so is not matched again.
    find_poses(&job, &mut Ear::default()).unwrap();
    assert_eq!(fake.calls(), Vec::<String>::new());
    let job = Job {
        vocabulary: Some(fake.at("help")),
        ..job
    };
    assert!(refused(&job).ends_with("for sequential matching, not for similar"));
}

#[test]
fn many_photos_that_count_up_are_matched_in_order() {
    let names: Vec<String> = (0..301).map(|i| format!("IMG_{i:04}.jpg")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let fake = Fake::old(&names);
    find_poses(&fake.job(), &mut Ear::default()).unwrap();
    let calls = fake.calls();
    assert_contains!(calls[0], "camera_model OPENCV");
    assert_contains!(calls[1], "sequential_matcher");
    assert!(calls[1].ends_with("--SequentialMatching.loop_detection 0"));
    // 300, in which one is missing: no frames of a video, whose steps are equal.
    std::fs::remove_file(fake.at("my photos/IMG_0150.jpg")).unwrap();
    let job = Job {
        overwrite: true,
        ..fake.job()
    };
    find_poses(&job, &mut Ear::default()).unwrap();
    assert_eq!(fake.commands()[1], "exhaustive_matcher");
    assert!(
        !job.dataset.join("images/IMG_0150.jpg").exists(),
        "what is gone is gone there too"
    );
}

#[test]
fn photos_that_lie_in_the_dataset_stay_there() {
    let fake = Fake::old(&PHOTOS);
    let root = fake.at("place");
    for name in PHOTOS {
        photo(&root.join("images").join(name));
    }
    for input in [root.join("images"), root.clone()] {
        let job = Job {
            input,
            dataset: root.clone(),
            overwrite: true,
            ..fake.job()
        };
        assert_eq!(
            find_poses(&job, &mut Ear::default())
                .unwrap()
                .report
                .registered,
            4
        );
        assert!(
            PHOTOS
                .iter()
                .all(|name| root.join("images").join(name).is_file())
        );
        assert!(!root.join("images/images").exists());
    }
    // Photos directly in the folder: the copies in `images` are no photos of their own.
    let flat = fake.at("my photos");
    let job = Job {
        dataset: flat.clone(),
        ..fake.job()
    };
    for _ in 0..2 {
        assert_eq!(
            find_poses(&job, &mut Ear::default()).unwrap().report.photos,
            4
        );
    }
}

#[test]
fn each_step_may_fail_and_says_so() {
    let said = "ERROR: Failed to parse options - unrecognised option '--x'.\n";
    for (command, step) in [
        ("feature_extractor", "feature extraction failed"),
        ("exhaustive_matcher", "matching failed"),
        ("mapper", "the incremental mapper failed"),
    ] {
        let fake = Fake::old(&PHOTOS);
        let error = || {
            let found = find_poses(&fake.job(), &mut Ear::default());
            let error = found.unwrap_err().to_string();
            assert!(error.starts_with(step), "{error}");
            error
        };
        fake.put(&format!("fail_{command}"), said);
        let failed = error();
        assert_contains!(failed, "unrecognised option", "poses.log");
        assert!(!failed.contains('\n'), "{failed}");
        assert!(!fake.job().dataset.join("sparse/0").exists());
        std::fs::remove_file(fake.at(&format!("fail_{command}"))).unwrap();
        fake.put(&format!("kill_{command}"), "");
        assert_contains!(error(), "signal: 9");
    }
}

#[test]
fn photos_without_anything_in_common_are_no_failure_of_the_program() {
    let fake = Fake::old(&PHOTOS);
    std::fs::remove_dir_all(fake.at("models_mapper")).unwrap();
    let error = find_poses(&fake.job(), &mut Ear::default()).unwrap_err();
    assert!(matches!(error, PosesError::NoModel { .. }), "{error}");
    fake.put("fail_mapper", "ERROR: failed to create sparse model\n");
    let error = find_poses(&fake.job(), &mut Ear::default()).unwrap_err();
    assert!(matches!(error, PosesError::NoModel { .. }), "{error}");
}

#[test]
fn programs_that_are_none_are_refused() {
    let fake = Fake::old(&PHOTOS);
    let with = |colmap: &str| Job {
        colmap: Some(colmap.into()),
        ..fake.job()
    };
    let error = find_poses(&with("/nowhere/colmap"), &mut Ear::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("/nowhere/colmap: cannot be started"),
        "{error}"
    );
    let error = find_poses(&with("/bin/echo"), &mut Ear::default()).unwrap_err();
    assert_contains!(error, "does not say which version of COLMAP");
    let job = Job {
        colmap: None,
        python: Some("/bin/echo".into()),
        ..fake.job()
    };
    let error = find_poses(&job, &mut Ear::default()).unwrap_err();
    assert_contains!(error, "has no pycolmap that works");
    let job = Job {
        mapper: Mapper::Global,
        ..fake.job()
    };
    let error = find_poses(&job, &mut Ear::default()).unwrap_err();
    assert_contains!(error, "has no global mapper");
}

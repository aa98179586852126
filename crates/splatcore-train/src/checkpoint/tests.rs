use super::*;
use crate::intrinsics::{IntrinsicsState, Numbers};
use crate::poses::Offset;
use safetensors::tensor::TensorView;
use splatcore_core::colour::{ColourModel, ColourState};
use splatcore_core::columns::Column;
use splatcore_core::lens::Polynomial;
use std::io::{Seek, SeekFrom};

fn random_gaussians(n: usize, degree: u8, rng: &mut Rng) -> Gaussians {
    let mut g = Gaussians::zeros(n, degree);
    let mut fill = |values: &mut [f32]| values.iter_mut().for_each(|v| *v = rng.normal());
    fill(g.means.as_flattened_mut());
    fill(g.log_scales.as_flattened_mut());
    fill(g.rotations.as_flattened_mut());
    fill(&mut g.opacity_logits);
    fill(g.sh.as_flattened_mut());
    g
}

fn intrinsics(rng: &mut Rng) -> IntrinsicsState {
    let mut rows = |count: usize| {
        let mut row = || std::array::from_fn(|_| rng.normal().into());
        (0..count).map(|_| row()).collect()
    };
    IntrinsicsState {
        values: rows(2),
        first: rows(2),
        second: rows(2),
        moves: vec![std::array::from_fn(|i| 3 * u32::from(i < 4)), [9; _]],
        limited: vec![0, 1],
        waiting_views: vec![4],
        waiting: rows(1),
    }
}

fn curve() -> Vec<CurvePoint> {
    vec![
        CurvePoint {
            step: 1,
            loss: 1.0 / 3.0,
            gaussians: u64::MAX,
            seconds: 0.1,
        },
        CurvePoint {
            step: 10,
            loss: 0.2,
            gaussians: 7,
            seconds: 1e9,
        },
    ]
}

fn motions() -> MotionState {
    MotionState {
        rounds: 5,
        motions: vec![[0.25, -1.5, 1e-300, 3.0, 1.0 / 3.0, 0.0]; 7],
    }
}

fn masks(n: usize, rng: &mut Rng) -> Vec<Vec<f32>> {
    let mut row = || (0..n).map(|_| rng.normal()).collect();
    vec![row(), row(), row()]
}

fn example(n: usize, degree: u8) -> Checkpoint {
    let mut rng = Rng::new(n as u64, degree as u64);
    let mut order = ViewOrder::new((0..7).collect(), 3);
    order.next_view();
    let mut checkpoint = Checkpoint {
        step: 1234,
        state: LearnerState {
            gaussians: random_gaussians(n, degree, &mut rng),
            first: random_gaussians(n, degree, &mut rng),
            second: random_gaussians(n, degree, &mut rng),
            gradient_sum: (0..n).map(|_| rng.uniform()).collect(),
            seen: (0..n).map(|_| rng.next_u32()).collect(),
            ..LearnerState::default()
        },
        order,
        smoothed_loss: Some(0.1 + 0.2),
        samples: 124,
        curve: curve(),
        seconds: 1234.5678,
        config: "# \"quoted\"\niterations = 7\n".into(),
        backend: "cpu".into(),
        photos: "7 photos".into(),
        cameras: None,
        pixels: (n > 2).then(|| "1f".into()),
        depths: (n > 2).then(|| "2e".into()),
        poses: None,
        intrinsics: None,
        motion: None,
        course: None,
        spending: Spending::default(),
    };
    if n > 2 {
        checkpoint.motion = Some(motions());
        checkpoint.course = Some(Course {
            first: 7000,
            iterations: 6543,
            step: 1200,
            done: 0.171,
            densify_until: 0.5,
            until_step: 3300,
            coarse_step: 2333,
        });
        checkpoint.spending = Spending {
            seconds: 1.5,
            reached: Some((1100, 31.25)),
        };
        checkpoint.state.first.means[1] = [-0.0, f32::MIN_POSITIVE / 4.0, f32::MAX];
        let mut six = |count: usize| {
            (0..count)
                .map(|_| [0; 6].map(|_| rng.normal().into()))
                .collect()
        };
        checkpoint.poses = Some(PoseState {
            values: vec![Offset::NONE.turned([0.1, -0.2, 0.3]); 7],
            first: six(7),
            second: six(7),
            moves: (0..7).map(|seen| [seen]).collect(),
            limited: vec![0, 1, 0, 0, 0, 0, 0],
            waiting_views: vec![3, 3],
            waiting: six(2),
        });
        checkpoint.intrinsics = Some(intrinsics(&mut rng));
        // The files with an odd number of Gaussians are of the affine model.
        let models = [ColourModel::Ppisp, ColourModel::Affine];
        checkpoint.state.colours = ColourState::fresh(models[n % 2], 7, 2);
        let colours = &mut checkpoint.state.colours;
        let sky = &mut checkpoint.state.sky;
        *sky = splatcore_core::sky::fresh();
        for table in [&mut colours.photos, &mut colours.cameras, sky] {
            for part in [&mut table.parameters, &mut table.first, &mut table.second] {
                part.iter_mut().for_each(|number| *number = rng.normal());
            }
            let seen = table.seen.iter_mut().enumerate();
            seen.for_each(|(row, seen)| *seen = row as u32);
        }
        let masks = masks(n, &mut rng);
        checkpoint.state.columns.set_arrays(Column::Mask, masks);
    }
    checkpoint
}

fn bits(state: &LearnerState) -> Vec<u32> {
    let sets = [&state.gaussians, &state.first, &state.second];
    let values = sets.into_iter().flat_map(|g| {
        let rows = [
            g.means.as_flattened(),
            g.log_scales.as_flattened(),
            g.rotations.as_flattened(),
        ];
        rows.concat()
            .into_iter()
            .chain(g.opacity_logits.clone())
            .chain(g.sh.as_flattened().to_vec())
    });
    let tables = [&state.colours.photos, &state.colours.cameras, &state.sky];
    let parts = tables.map(|table| [&table.parameters, &table.first, &table.second]);
    let numbers = parts.into_iter().flatten().flatten().copied();
    let values = values.chain(state.gradient_sum.clone()).chain(numbers);
    let values = values.chain(
        Column::ALL
            .into_iter()
            .flat_map(|c| state.columns.arrays(c).concat()),
    );
    let counts = state.seen.iter().chain(&tables[0].seen).copied();
    values.map(f32::to_bits).chain(counts).collect()
}

#[test]
fn a_checkpoint_survives_the_disk_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for (n, degree) in [(0, 0), (1, 3), (57, 1), (100, 2)] {
        let path = folder.path().join(format!("{n}.safetensors"));
        let mut checkpoint = example(n, degree);
        if n == 0 {
            checkpoint.smoothed_loss = None;
            checkpoint.curve.clear();
        }
        checkpoint.save(&path).unwrap();
        let read = Checkpoint::load(&path).unwrap();
        assert_eq!(read, checkpoint);
        let progress = Checkpoint::progress(&path).unwrap();
        assert_eq!(progress, (checkpoint.step, checkpoint.seconds));
        assert_eq!(bits(&read.state), bits(&checkpoint.state));
        assert_eq!(read.seconds.to_bits(), checkpoint.seconds.to_bits());
        let again = folder.path().join("again");
        read.save(&again).unwrap();
        assert_eq!(
            std::fs::read(&path).unwrap(),
            std::fs::read(&again).unwrap()
        );
    }
}

/// Moments as a card keeps them: of 16 bits, and of so many values.
fn compact(n: usize, values: usize) -> Checkpoint {
    let mut checkpoint = example(n, 3);
    let state = &mut checkpoint.state;
    for set in [&mut state.first, &mut state.second] {
        for rows in [
            set.means.as_flattened_mut(),
            set.log_scales.as_flattened_mut(),
            set.rotations.as_flattened_mut(),
            &mut set.opacity_logits,
            set.sh.as_flattened_mut(),
        ] {
            for number in rows {
                *number = f32::from_bits(number.to_bits() & 0xffff_0000);
            }
        }
    }
    for (i, number) in state.second.sh.as_flattened_mut().iter_mut().enumerate() {
        *number = 1.34f32.powi((i % values) as i32 - 128);
    }
    checkpoint
}

#[test]
fn moments_take_the_bytes_that_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    let n = 300;
    let written = |checkpoint: &Checkpoint| {
        checkpoint.save(&path).unwrap();
        let read = Checkpoint::load(&path).unwrap();
        assert_eq!(bits(&read.state), bits(&checkpoint.state));
        let header: Value =
            serde_json::from_slice(&file::header(&mut File::open(&path).unwrap()).unwrap())
                .unwrap();
        let of = |name: &str| header[name]["dtype"].as_str().unwrap().to_owned();
        let names = ["parameters.sh", "first.sh", "second.means", "second.sh"];
        (names.map(of), std::fs::metadata(&path).unwrap().len())
    };
    let mut checkpoint = compact(n, 256);
    let (types, bytes) = written(&checkpoint);
    assert_eq!(types, ["F32", "BF16", "BF16", "U8"]);
    let wide = example(n, 3);
    let (types, wide_bytes) = written(&wide);
    assert_eq!(types, ["F32"; 4]);
    // 59 numbers, of 48 harmonics.
    let saved = n * (2 * 59 + 2 * 11 + 3 * 48);
    let difference = wide_bytes as i64 - bytes as i64 - saved as i64;
    assert!(
        difference.abs() < 2048,
        "{bytes} of {wide_bytes}, {difference} more than {saved}"
    );
    // A value too many; and two that their high halves do not tell apart.
    for other in [1e9, 1.34f32.next_up()] {
        checkpoint.state.second.sh[0][1] = other;
        assert_eq!(
            written(&checkpoint).0,
            ["F32", "BF16", "BF16", "F32"],
            "{other}"
        );
    }
    let odd = [f32::NAN, -0.0, f32::INFINITY].map(|v| f32::from_bits(v.to_bits() & 0xffff_0000));
    checkpoint.state.first.means[0] = odd;
    assert_eq!(written(&checkpoint).0[1], "BF16");
}

#[test]
fn files_of_the_first_version_load() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    let checkpoint = example(300, 1);
    checkpoint.save(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    let first = edited(&good, "\"version\":\"2\"", "\"version\":\"1\"");
    std::fs::write(&path, first).unwrap();
    assert_eq!(Checkpoint::load(&path).unwrap(), checkpoint);
}

/// A file in whose rows of intrinsics are the first ten numbers of 29.
fn with_ten_numbers(bytes: &[u8]) -> Vec<u8> {
    let (_, metadata) = safetensors::SafeTensors::read_metadata(bytes).unwrap();
    let file = safetensors::SafeTensors::deserialize(bytes).unwrap();
    let narrowed = |(name, tensor): (String, TensorView<'_>)| {
        let (mut shape, mut data) = (tensor.shape().to_vec(), tensor.data().to_vec());
        if name.starts_with("intrinsics.") && shape.len() == 2 {
            let row = data.len() / shape[0];
            let rows = data.chunks(row).map(|row| &row[..row.len() / 29 * 10]);
            data = rows.collect::<Vec<_>>().concat();
            shape[1] = 10;
        }
        (name, tensor.dtype(), shape, data)
    };
    let tensors: Vec<_> = file.tensors().into_iter().map(narrowed).collect();
    let views = tensors.iter().map(|(name, dtype, shape, data)| {
        let view = TensorView::new(*dtype, shape.clone(), data);
        (name.clone(), view.unwrap())
    });
    safetensors::serialize(views, metadata.metadata().clone()).unwrap()
}

/// Such files have focal lengths, principal point, four radial and two tangential coefficients.
#[test]
fn files_with_ten_numbers_of_intrinsics_load() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    let checkpoint = example(9, 1);
    checkpoint.save(&path).unwrap();
    let earlier = with_ten_numbers(&std::fs::read(&path).unwrap());
    std::fs::write(&path, earlier).unwrap();
    let read = Checkpoint::load(&path).unwrap().intrinsics.unwrap();
    let written = checkpoint.intrinsics.unwrap();
    let lens = |row: &Numbers| {
        let polynomial = Polynomial {
            radial: [row[4], row[5], row[6], row[7], 0.0, 0.0],
            tangential: [row[8], row[9]],
            ..Polynomial::default()
        };
        [&row[..4], &polynomial.coefficients()].concat()
    };
    for (read, written) in [
        (&read.values, &written.values),
        (&read.first, &written.first),
        (&read.second, &written.second),
        (&read.waiting, &written.waiting),
    ] {
        assert_eq!(read.len(), written.len());
        let mut rows = read.iter().zip(written);
        assert!(rows.all(|(read, written)| read[..] == lens(written)));
    }
    assert_eq!(read.moves[0][..5], [3, 3, 3, 3, 0]);
    assert_eq!((read.moves[1][4], read.moves[1][19]), (9, 9));
    assert_eq!(read.moves[1].iter().sum::<u32>(), 90);
    assert_eq!(read.limited, written.limited);
}

#[test]
fn codes_without_a_value_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    compact(300, 255).save(&path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // The codes lie last.
    *bytes.last_mut().unwrap() = 255;
    std::fs::write(&path, &bytes).unwrap();
    let error = Checkpoint::load(&path).unwrap_err().to_string();
    let wanted = "second.sh.values: has fewer values than codes name";
    assert!(error.contains(wanted), "{error}");
    *bytes.last_mut().unwrap() = 254;
    std::fs::write(&path, &bytes).unwrap();
    Checkpoint::load(&path).unwrap();
}

#[test]
fn damaged_files_are_errors_not_panics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    example(9, 1).save(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    let try_bytes = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Checkpoint::load(&path)
    };
    std::fs::write(folder.path().join("other"), [0xff; 99]).unwrap();
    assert_eq!(Checkpoint::progress(&folder.path().join("other")), None);
    for length in [0, 5, 8, 100, good.len() / 2, good.len() - 1] {
        let error = try_bytes(&good[..length]).unwrap_err().to_string();
        assert!(
            error.contains("c.safetensors") && error.contains("start anew"),
            "{error}"
        );
    }
    let mut longer = good.clone();
    longer.push(0);
    assert!(try_bytes(&longer).is_err());
    // One changed byte anywhere in the header: an error or a readable file, never a panic.
    let header = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let mut refused = 0;
    std::fs::write(&path, &good).unwrap();
    let mut file = File::options().write(true).open(&path).unwrap();
    let mut set = |at: usize, byte: u8| {
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&[byte]).unwrap();
    };
    for at in 0..header {
        set(at, good[at] ^ (1 << (at % 7)));
        refused += usize::from(Checkpoint::load(&path).is_err());
        set(at, good[at]);
    }
    assert!(refused > header / 2, "{refused} of {header}");
}

/// Replaces text in the header, keeping its length.
fn edited(good: &[u8], from: &str, to: &str) -> Vec<u8> {
    let length = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    let header = String::from_utf8(good[8..8 + length].to_vec()).unwrap();
    assert!(header.contains(from), "{header}");
    let mut header = header.replacen(from, to, 1).trim_end().as_bytes().to_vec();
    header.resize(header.len().next_multiple_of(8), b' ');
    [
        &(header.len() as u64).to_le_bytes(),
        &header[..],
        &good[8 + length..],
    ]
    .concat()
}

#[test]
fn foreign_and_inconsistent_files_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.safetensors");
    example(9, 1).save(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    for (from, to, wanted) in [
        (FORMAT, "other", "is not a splatcore checkpoint"),
        (
            "\"version\":\"2\"",
            "\"version\":\"3\"",
            "of version 3; this program reads versions 1 and 2",
        ),
        (
            "\"step\":\"1234\"",
            "\"step\":\"x\"",
            "step: is not a number",
        ),
        ("\"backend\"", "\"bbckend\"", "backend: is missing"),
        (
            "\"second.means\"",
            "\"second.meanz\"",
            "second.means: is missing",
        ),
        (
            "\"exposure.seen\"",
            "\"exposure.sewn\"",
            "exposure.seen: is missing",
        ),
        ("\"mask.first\"", "\"mask.f1rst\"", "mask.first: is missing"),
        // As a later version may write, or one in which a feature was called otherwise.
        (
            "\"exposure.parameters\"",
            "\"exposure.paramet3rs\"",
            "exposure.first: is nothing that this program knows; resume with the program",
        ),
        (
            "\"pixels\":",
            "\"pixelz\":",
            "pixelz: is nothing that this program knows; resume with the program",
        ),
        (
            "\"shape\":[9,4]",
            "\"shape\":[4,9]",
            "rotations: is F32 [4, 9]",
        ),
        (
            "\"shape\":[9,4,3]",
            "\"shape\":[9,3,4]",
            "sh: is missing or does not hold",
        ),
        ("\"shape\":[9,4,3]", "\"shape\":[18,6]", "1, 4, 9 or 16"),
        (
            "\"views_used\":\"1\"",
            "\"views_used\":\"9\"",
            "is larger than the number of views",
        ),
        (
            "\"dtype\":\"U64\"",
            "\"dtype\":\"F64\"",
            "curve.gaussians: is F64",
        ),
    ] {
        std::fs::write(&path, edited(&good, from, to)).unwrap();
        let error = Checkpoint::load(&path).unwrap_err().to_string();
        assert!(
            error.contains(wanted) && !error.contains('\n'),
            "{to}: {error}"
        );
    }
    assert!(
        Checkpoint::load(&folder.path().join("none"))
            .unwrap_err()
            .to_string()
            .contains("cannot be read")
    );
}

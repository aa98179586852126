//! Mutated scene files: never a panic, never much memory, always a result or a one-line error.

use crate::scene_support::glb::Glb;
use crate::scene_support::ksplat::Ksplat;
use crate::scene_support::sog::{Sog, zip};
use crate::scene_support::{Spz, compressed_ply, gzip, names, plain_ply, random, shared};
use proptest::prelude::*;
use splatcore_data::scene;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::sync::LazyLock;

/// The system's allocator, which also keeps count for each thread: tests run side by side, and the
/// parsers take their large memory on the caller's thread.
struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(change: isize) {
    // A thread that ends has no counters left.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + change);
        PEAK.try_with(|peak| peak.set(peak.get().max(now.get())))
    });
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a function gives, and the most memory that this thread used meanwhile, bytes.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.get();
    PEAK.set(before);
    let result = work();
    (result, (PEAK.get() - before) as usize)
}

/// Parses and returns the result as a line, and the most memory in use meanwhile.
fn parse(bytes: &[u8]) -> (Result<usize, String>, usize) {
    parse_named(bytes, "hostile")
}

fn parse_named(bytes: &[u8], name: &str) -> (Result<usize, String>, usize) {
    let (result, peak) = peak_of(|| scene::parse(bytes, Path::new(name)));
    let result = result.map(|scene| {
        assert_eq!(
            scene.gaussians.sh.len(),
            scene.gaussians.len() * scene.gaussians.coefficients()
        );
        assert!((0..scene.gaussians.len()).all(|i| scene.gaussians.is_sound(i)));
        scene.gaussians.len()
    });
    (result.map_err(|e| e.to_string()), peak)
}

/// Real files where there are, and files of our own in every format.
static FILES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut files = vec![
        plain_ply(&random(300, 3, 1)),
        plain_ply(&random(300, 0, 1)),
        ascii(),
    ];
    files.extend((1..=4).map(|version| Spz::random(version, 300, version as u8 % 4, 5).file()));
    files.push(packed(300, 45));
    files.push(packed(300, 0));
    files.extend(
        [(1, 3), (2, 2), (2, 0)]
            .map(|(version, degree)| Sog::random(version, 300, degree, 5).bundle()),
    );
    files.push(zip(&Sog::random(2, 300, 1, 6).files(), true));
    files.extend(
        [(0, 2), (1, 1), (2, 2)]
            .map(|(level, degree)| Ksplat::random(level, 200, degree, 5).file()),
    );
    files.extend([0, 3].map(|degree| Glb::of(&random(300, degree, 1)).file()));
    files.push(Glb::of_spz(&Spz::random(2, 300, 1, 5).file()).file());
    for name in [
        "splat22k/model.sh0.compressed.ply",
        "splat22k/model.sh0.sog",
        "ply_variants/first500.binary.ply",
        "ply_variants/first500.big_endian.ply",
        "ply_variants/first500.double.ply",
        "ply_variants/first500.extra_props_comments.ply",
        "ply_variants/first500.sh1.ply",
        "splat22k/model.sh0.niantic-v3.spz",
        "splat22k/model.niantic-v2.spz",
        "splat22k/model.niantic-v4.spz",
    ] {
        files.extend(shared(&format!("formats/{name}")).map(|path| std::fs::read(path).unwrap()));
    }
    files
});

/// An ascii file with a list before its Gaussians.
fn ascii() -> Vec<u8> {
    let mut text =
        "ply\nformat ascii 1.0\nelement face 2\nproperty list uchar int vertex_indices\n"
            .to_string();
    text += "element vertex 50\n";
    for name in names(1) {
        text += &format!("property float {name}\n");
    }
    text += "property list uchar float extra\nend_header\n3 0 1 2\n3 1 2 3\n";
    for i in 0..50 {
        text += &format!("{}2 0.5 0.25\n", format!("{}.25e-1 ", i + 1).repeat(23));
    }
    text.into_bytes()
}

/// A compressed PLY of random words.
fn packed(count: usize, sh: usize) -> Vec<u8> {
    let mut rng = splatcore_core::random::Rng::new(9, 0);
    let words: Vec<[u32; 4]> = (0..count)
        .map(|_| std::array::from_fn(|_| rng.next_u32()))
        .collect();
    let sh: Vec<Vec<u8>> = (0..count).map(|i| vec![i as u8; sh]).collect();
    let chunks = count.div_ceil(256);
    let sh = if sh[0].is_empty() { &[] } else { &sh[..] };
    compressed_ply(
        &vec![1.0; 12 * chunks],
        Some(&vec![0.5; 6 * chunks]),
        &words,
        sh,
        false,
    )
}

/// What a parser may use for a file: its data as f32 where the file has bytes, while a vector
/// grows; 8 MiB for zstd's window, and a little.
fn allowed(file: &[u8]) -> usize {
    // Compressed files: the unpacked attributes and the floats made of them, at most 16 bytes a
    // packed byte.
    let per_byte = if file.starts_with(b"ply") { 8 } else { 32 };
    per_byte * file.len() + (9 << 20)
}

fn check(file: &[u8]) -> Result<(), TestCaseError> {
    check_named(file, "hostile")
}

fn check_named(file: &[u8], name: &str) -> Result<(), TestCaseError> {
    let (result, peak) = parse_named(file, name);
    prop_assert!(
        peak <= allowed(file),
        "{peak} bytes for a file of {}",
        file.len()
    );
    if let Err(message) = result {
        prop_assert!(
            !message.contains(char::is_control) && message.len() < 600,
            "{}",
            message
        );
    }
    Ok(())
}

#[test]
fn the_unmutated_files_are_read() {
    for file in FILES.iter() {
        let (result, peak) = parse(file);
        assert!(result.as_ref().is_ok_and(|&count| count > 0), "{result:?}");
        assert!(
            peak <= allowed(file),
            "{peak} bytes for a file of {}",
            file.len()
        );
    }
}

/// Up to `most - 1` bytes to change: where, to what, and whether early in the file.
fn changes(most: usize) -> impl Strategy<Value = Vec<(prop::sample::Index, u8, bool)>> {
    let change = (any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
    prop::collection::vec(change, 1..most)
}

/// Numbers that a writer would not write.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        (0u64..9).prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        Just("1e300".to_string()),
        Just("-0.5".to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn cut_short(which: prop::sample::Index, at: prop::sample::Index) {
        let file = which.get(&FILES[..]);
        let cut = &file[..at.index(file.len())];
        check(cut)?;
        // Every file here ends with its last row: less of it is never a whole scene.
        let whole_but_blank = file.starts_with(b"ply\nformat ascii") && cut.len() + 2 >= file.len();
        prop_assert!(whole_but_blank || parse(cut).0.is_err());
    }

    #[test]
    fn bytes_changed(which: prop::sample::Index, changes in changes(20)) {
        let mut file = which.get(&FILES[..]).clone();
        for (at, value, early) in changes {
            // Half of the changes in the header, where they do more.
            let range = if early { file.len().min(1500) } else { file.len() };
            file[at.index(range)] = value;
        }
        check(&file)?;
    }

    /// Changes inside the gzip stream, which pass its checksum.
    #[test]
    fn bytes_changed_under_gzip(
        version in 1u32..4,
        degree in 0u8..4,
        changes in prop::collection::vec((0usize..200, any::<u8>()), 1..8),
    ) {
        let file = Spz::random(version, 60, degree, 3);
        let mut inside = Vec::new();
        let packed = file.file();
        let mut decoder = flate2::read::GzDecoder::new(&packed[..]);
        std::io::Read::read_to_end(&mut decoder, &mut inside).unwrap();
        for (at, value) in changes {
            inside[at] = value;
        }
        check(&gzip(&inside))?;
    }

    #[test]
    fn parts_removed_or_repeated(
        which: prop::sample::Index,
        a: prop::sample::Index,
        b: prop::sample::Index,
        repeat: bool,
    ) {
        let file = which.get(&FILES[..]);
        let (a, b) = (a.index(file.len()), b.index(file.len()));
        let (a, b) = (a.min(b), a.max(b));
        let (head, tail) = if repeat { (b, a) } else { (a, b) };
        check(&[&file[..head], &file[tail..]].concat())?;
    }

    #[test]
    fn any_bytes(start in 0usize..7, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let starts: [&[u8]; 7] = [
            b"", b"ply\n", b"NGSP\x04\0\0\0", &[0x1f, 0x8b, 8, 0], b"PK\x03\x04",
            b"glTF\x02\0\0\0\x40\0\0\0\x10\0\0\0JSON", &[0, 1, 0, 0, 1, 0, 0, 0],
        ];
        check(&[starts[start], &bytes[..]].concat())?;
    }

    /// Changes to the files inside the archive, which pass its checksum.
    #[test]
    fn bytes_changed_inside_a_sog(
        version in 1u8..=2,
        degree in 0u8..4,
        which: prop::sample::Index,
        changes in changes(8),
    ) {
        let mut files = Sog::random(version, 60, degree, 3).files();
        let file = &mut files[which.index(8.min(6 + 2 * usize::from(degree > 0)))].1;
        for (at, value, early) in changes {
            // Half of the changes in the image's headers, where they do more.
            let range = if early { file.len().min(40) } else { file.len() };
            file[at.index(range)] = value;
        }
        check(&zip(&files, true))?;
    }

    #[test]
    fn a_part_of_a_sog_cut_short(which in 0usize..8, at: prop::sample::Index) {
        let mut files = Sog::random(2, 60, 1, 3).files();
        let file = &mut files[which].1;
        let at = at.index(file.len());
        file.truncate(at);
        let bundle = zip(&files, false);
        check(&bundle)?;
        // The decoder may not need the last byte or two of an image.
        let whole = Sog::random(2, 60, 1, 3).files()[which].1.len();
        prop_assert!(at + 8 >= whole || parse(&bundle).0.is_err());
    }

    #[test]
    fn wrong_counts_in_a_sog_take_no_memory(count in 325u64.., version in 1u8..=2) {
        let mut sog = Sog::random(version, 300, 3, 5);
        match version {
            1 => sog.meta["means"]["shape"][0] = count.into(),
            _ => sog.meta["count"] = count.into(),
        }
        let (result, peak) = parse(&sog.bundle());
        prop_assert!(result.is_err());
        prop_assert!(peak < 1 << 18, "{} bytes", peak);
    }

    #[test]
    fn splat_rows_changed(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        good in 0usize..50,
        end in 0usize..64,
    ) {
        let row = [&1.5f32.to_le_bytes()[..], &[0x3f; 28]].concat();
        let mut file = [&row.repeat(good)[..], &bytes[..]].concat();
        file.truncate(file.len().max(end) - end);
        check_named(&file, "hostile.splat")?;
        file.truncate(file.len() / 32 * 32);
        check_named(&file, "hostile.splat")?;
    }

    #[test]
    fn wrong_counts_in_a_ply_header_are_refused_before_memory_is_taken(
        count in 301u64..,
        ascii_file: bool,
    ) {
        let file = if ascii_file { ascii() } else { plain_ply(&random(300, 3, 1)) };
        let text = String::from_utf8_lossy(&file[..200]).into_owned();
        let (declared, _) = text.split_once("element vertex ").unwrap().1.split_once('\n').unwrap();
        let at = text.find("element vertex ").unwrap() + 15;
        let (head, tail) = (&file[..at], &file[at + declared.len()..]);
        let edited = [head, count.to_string().as_bytes(), tail].concat();
        let (result, peak) = parse(&edited);
        prop_assert!(result.unwrap_err().contains("declares"));
        prop_assert!(peak < 1 << 16, "{} bytes", peak);
    }

    #[test]
    fn wrong_counts_in_a_ksplat_take_no_memory(
        level in 0u16..3,
        word in prop::sample::select(vec![1usize, 3, 4, 1024, 1025, 1026, 1027, 1032, 1033]),
        value in 301u32..,
    ) {
        let mut file = Ksplat::random(level, 200, 0, 5).file();
        file[4 * word..4 * word + 4].copy_from_slice(&value.to_le_bytes());
        let (result, peak) = parse_named(&file, "hostile.ksplat");
        // A word may be unused (level 0 has no buckets), and buckets may be larger.
        let harmless = [3, 1026, 1032].contains(&word) || level == 0 && word == 1027;
        prop_assert!(result.is_err() || harmless, "{:?}", result);
        prop_assert!(peak < 1 << 18, "{} bytes", peak);
    }

    /// Changes to glTF's JSON that leave it JSON: a number becomes another one.
    #[test]
    fn numbers_changed_in_gltf(
        degree in 0u8..2,
        changes in prop::collection::vec((any::<prop::sample::Index>(), number()), 1..4),
    ) {
        let glb = Glb::of(&random(60, degree, 3));
        let mut text = glb.json.to_string();
        for (at, number) in changes {
            let digits: Vec<usize> = text
                .char_indices()
                .filter(|&(i, c)| c.is_ascii_digit() && text[..i].ends_with([':', '[', ',']))
                .map(|(i, _)| i)
                .collect();
            let start = digits[at.index(digits.len())];
            let length = text[start..].find(|c: char| !c.is_ascii_digit()).unwrap();
            text.replace_range(start..start + length, &number);
        }
        // A number of JSON need not be one of serde_json.
        if let Ok(json) = serde_json::from_str(&text) {
            let changed = Glb {
                json,
                buffer: glb.buffer,
            };
            check(&changed.file())?;
        }
    }

    #[test]
    fn wrong_counts_in_gltf_take_no_memory(count in 301u64.., which in 0usize..8) {
        let mut glb = Glb::of(&random(300, 0, 5));
        let which = which % glb.json["accessors"].as_array().unwrap().len();
        glb.json["accessors"][which]["count"] = count.into();
        let (result, peak) = parse(&glb.file());
        prop_assert!(result.is_err());
        prop_assert!(peak < 1 << 18, "{} bytes", peak);
    }

    #[test]
    fn wrong_counts_in_an_spz_header_take_no_memory(count in 301u32.., version in 1u32..=4) {
        let file = Spz { count, ..Spz::random(version, 300, 3, 5) }.file();
        let (result, peak) = parse(&file);
        prop_assert!(result.is_err());
        // What is there is unpacked, no more: it doubles while it grows.
        prop_assert!(peak < 1 << 18, "{} bytes", peak);
    }
}

/// A gzip bomb: the header declares as much as the zeros that follow, a thousand times the file.
#[test]
fn bombs_do_not_go_off() {
    for (count, version) in [(40_000_000u32, 3u32), (40_000_000, 4), (u32::MAX, 2)] {
        let mut start = b"NGSP".to_vec();
        start.extend(version.to_le_bytes());
        start.extend(count.to_le_bytes());
        start.extend([3, 12, 0, 6]);
        let file = match version {
            4 => [
                start,
                [32u32.to_le_bytes(), [0; 4], [0; 4], [0; 4]].concat(),
                vec![0; 200],
            ]
            .concat(),
            _ => gzip(&[start, vec![0; 1 << 22]].concat()),
        };
        let (result, peak) = parse(&file);
        assert_contains!(result.unwrap_err(), "declares");
        assert!(peak < 1 << 18, "{peak} bytes");
    }
}

/// Zeros that a zip archive packs a thousand times smaller: in an image, in meta.json, and as
/// pixels.
#[test]
fn zip_bombs_do_not_go_off() {
    let bomb = |count: u64, member: usize, bytes: usize| {
        let mut sog = Sog::random(2, 300, 0, 5);
        sog.meta["count"] = count.into();
        let mut files = sog.files();
        files[member].1.resize(bytes, 0);
        parse(&zip(&files, true))
    };
    let (result, peak) = bomb(300, 0, 64 << 20);
    assert_contains!(result.unwrap_err(), "unpacks to more than");
    assert!(peak < 4 << 20, "{peak} bytes");
    let (result, peak) = bomb(300, 5, 64 << 20);
    assert_contains!(result.unwrap_err(), "meta.json: unpacks to more than");
    assert!(peak < 4 << 20, "{peak} bytes");
    let (result, peak) = bomb(4_000_000, 0, 8 << 20);
    assert_contains!(result.unwrap_err(), "declares 4000000 Gaussians");
    assert!(peak < 1 << 18, "{peak} bytes");

    // Images of one colour: some hundred bytes for a hundred megabytes.
    let mut sog = Sog::random(2, 300, 0, 5);
    sog.meta["count"] = 10_000_000.into();
    for image in &mut sog.images {
        (image.width, image.pixels) = (4000, vec![[252; 4]; 4000 * 2500]);
    }
    let file = sog.bundle();
    assert!(file.len() < 1 << 20, "{} bytes", file.len());
    let (result, peak) = parse(&file);
    assert_contains!(result.unwrap_err(), "declares 10000000 Gaussians");
    assert!(peak < 1 << 20, "{peak} bytes");
}

//! The table of compressed models: how large they are, and how good.

use crate::compression::Compression;
use crate::metric::{Format, Metric};
use crate::run::Run;
use crate::scene::{CompressedModel, Outcome, Scene};
use crate::table::{Column, Group, Table, TableRow};

/// Columns of each scene.
const COLUMNS: [(&str, Format); 3] = [
    ("Gaussians", Format::Count),
    ("dB vs photos", Format::Decibels),
    ("dB over full", Format::Decibels),
];

/// How large the models are and how good; `None` where no scene has a compressed one.
pub fn table(scenes: &[Scene]) -> Option<Table> {
    let present = |compression: &Compression| {
        let mut models = scenes.iter().map(|scene| scene.model(*compression));
        models.any(|model| model.is_some())
    };
    let compressions: Vec<_> = Compression::ALL.into_iter().filter(present).collect();
    if compressions.is_empty() {
        return None;
    }
    let mut rows = vec![row("full model", scenes, &full)];
    for compression in compressions {
        let cells = |scene: &Scene| match scene.model(compression) {
            Some(model) => compressed(scene, model),
            None => [None; 3],
        };
        rows.push(row(compression.label(), scenes, &cells));
    }
    let names = scenes.iter().map(|scene| format!("here: {}", scene.name));
    let mean = format!("here: mean of {} scenes", scenes.len());
    let titles = names.chain((scenes.len() > 1).then_some(mean));
    let column = |(name, format): (&str, Format)| Column {
        name: name.into(),
        format,
        from_paper: false,
    };
    let groups: Vec<Group> = titles
        .map(|title| Group {
            title,
            columns: COLUMNS.map(column).into(),
        })
        .collect();
    Some(Table {
        name: "Models".into(),
        caption: "the compressed models of table 2".into(),
        remarks: vec![
            "PSNR of images by vanilla 3DGS against the photos of the timed views, and how much \
             more it is than the full model's. The paper gives neither number."
                .into(),
        ],
        plotted: (0..groups.len()).map(|i| i * COLUMNS.len()).collect(),
        groups,
        rows,
    })
}

fn full(scene: &Scene) -> [Option<f64>; 3] {
    [Some(scene.gaussians as f64), photos(&scene.outcomes), None]
}

fn compressed(scene: &Scene, model: &CompressedModel) -> [Option<f64>; 3] {
    let psnr = photos(&model.outcomes);
    let over = psnr.zip(photos(&scene.outcomes));
    [
        Some(model.gaussians as f64),
        psnr,
        over.map(|(ours, full)| ours - full),
    ]
}

/// PSNR of vanilla's images against the photos.
fn photos(outcomes: &[(Run, Outcome)]) -> Option<f64> {
    let vanilla = Run::vanilla(1);
    match outcomes.iter().find(|(run, _)| run.same(&vanilla))? {
        (_, Outcome::Row(row)) => Metric::PsnrPhotos.of(row, None, None),
        (_, Outcome::Missing { .. }) => None,
    }
}

/// The cells of each scene, and the mean of each column where all scenes have a number.
fn row(label: &str, scenes: &[Scene], of: &dyn Fn(&Scene) -> [Option<f64>; 3]) -> TableRow {
    let each: Vec<[Option<f64>; 3]> = scenes.iter().map(of).collect();
    let mut cells = each.concat();
    if scenes.len() > 1 {
        for (i, (_, format)) in COLUMNS.iter().enumerate() {
            let values: Option<Vec<f64>> = each.iter().map(|cells| cells[i]).collect();
            cells.push(values.and_then(|values| format.mean(&values)));
        }
    }
    TableRow {
        label: label.into(),
        pipelines: vec![Run::vanilla(1).pipeline],
        format: None,
        note: None,
        cells,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Paper;
    use crate::test_data::{compressed_scene, scene};

    #[test]
    fn models_stand_below_the_full_one() {
        let scenes = [
            compressed_scene(&Compression::ALL),
            compressed_scene(&[Compression::LightGaussian]),
        ];
        let table = table(&scenes).unwrap();
        let labels: Vec<&str> = table.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["full model", "c3dgs, masks only", "LightGaussian"]);
        let cells = |row: usize| table.rows[row].cells.clone();
        let full = [Some(50.0), Some(29.5), None];
        assert_eq!(cells(0), [full, full, full].concat());
        let small = [Some(20.0), Some(29.25), Some(-0.25)];
        assert_eq!(cells(1), [small, [None; 3], [None; 3]].concat());
        assert_eq!(cells(2), [small, small, small].concat());
        assert!(super::table(&[scene(Paper::Gemm, "")]).is_none());
    }
}

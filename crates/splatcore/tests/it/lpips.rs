//! LPIPS from the command line.

use crate::common::{ends, fails, json, photos, succeeds, text, write_scene};
use crate::paper::measured;
use std::path::Path;

/// AlexNet's tensors in half precision, with arbitrary values, as a safetensors file. The numbers
/// are right or wrong in the library's tests.
fn write_weights(path: &Path) {
    let convolutions = [
        (0, 3, 64, 11),
        (3, 64, 192, 5),
        (6, 192, 384, 3),
        (8, 384, 256, 3),
        (10, 256, 256, 3),
    ];
    let mut tensors = Vec::new();
    for (i, (index, input, output, side)) in convolutions.into_iter().enumerate() {
        let name = format!("features.{index}");
        tensors.push((format!("{name}.weight"), vec![output, input, side, side]));
        tensors.push((format!("{name}.bias"), vec![output]));
        tensors.push((format!("lin{i}.model.1.weight"), vec![1, output, 1, 1]));
    }
    let mut header = serde_json::json!({"__metadata__": {"network": "alex"}});
    let mut data = Vec::new();
    for (name, shape) in tensors {
        let start = data.len();
        for i in 0..shape.iter().product::<usize>() {
            // Positive for the linear weights and of both signs for the others, near 1/16.
            let sign = if name.starts_with("lin") {
                0
            } else {
                i * 7919 % 127 % 2
            };
            let bits = 0x2c00 | (i * 619 % 1024) | (sign << 15);
            data.extend((bits as u16).to_le_bytes());
        }
        header[name] = serde_json::json!({
            "dtype": "F16", "shape": shape, "data_offsets": [start, data.len()],
        });
    }
    let header = header.to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn eval_gives_lpips_with_weights_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let [weights, report] = ["alex.safetensors", "r.html"].map(|name| folder.path().join(name));
    let args = [
        "eval",
        text(&scene),
        "--dataset",
        photos(),
        "--lpips",
        text(&weights),
    ];
    assert!(fails(&args).contains("alex.safetensors: cannot be read"));
    write_weights(&weights);
    let more = ["--json", "--report", text(&report)];
    let found = json(&succeeds(&[&args[..], &more].concat()));
    assert_eq!(found["lpips_network"], "alex");
    let views = found["views"].as_array().unwrap();
    let distances = views.iter().map(|view| view["lpips"].as_f64().unwrap());
    let mean = distances.sum::<f64>() / views.len() as f64;
    assert!((found["lpips"].as_f64().unwrap() - mean).abs() < 1e-9 && mean > 0.0);
    let html = std::fs::read_to_string(report).unwrap();
    assert!(html.contains("LPIPS (alex)") && html.contains(&format!("{mean:.4}")));
    let table = succeeds(&args);
    assert_eq!(
        table.matches("  LPIPS ").count(),
        views.len() + 1,
        "{table}"
    );
    let plain = json(&succeeds(&[&args[..4], &["--json"]].concat()));
    assert!(plain.get("lpips").is_none() && plain["views"][0].get("lpips").is_none());
    let error = ends(&[&args[..], &["--max-size", "32"]].concat(), 1);
    let wanted = "LPIPS with alex needs images of at least 31x31 pixels; this one has 32x24";
    assert_contains!(error, "error: view '", wanted);
}

#[test]
fn bench_fills_the_papers_columns_with_weights_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let [weights, file] = ["alex.safetensors", "p.json"].map(|name| folder.path().join(name));
    write_weights(&weights);
    let photos = [
        "--dataset",
        photos(),
        "--max-size",
        "64",
        "--lpips",
        text(&weights),
    ];
    let bench = |paper| -> Vec<&str> {
        let args = [
            "bench",
            text(&scene),
            "--backend",
            "cpu",
            "--passes",
            "1",
            "--paper",
            paper,
        ];
        [&args[..], &photos, &["--json", text(&file)]].concat()
    };
    let error = ends(&bench("gemm-gs"), 2);
    assert_contains!(error, "--lpips goes with --paper tc-gs or tensor-gs");
    let said = succeeds(&bench("tensor-gs"));
    assert_contains!(said, "LPIPS vs photos", "weights of LPIPS: ");
    let found = json(&std::fs::read_to_string(&file).unwrap());
    assert_eq!(found["lpips_network"], "alex");
    let tables = found["tables"].as_array().unwrap();
    let table = tables
        .iter()
        .find(|table| table["name"] == "Table 3")
        .unwrap();
    let last = table["rows"].as_array().unwrap().last().unwrap();
    let cells = measured(table, last);
    let (_, lpips) = cells
        .iter()
        .find(|(name, _)| *name == "LPIPS vs photos")
        .unwrap();
    // As `eval` has it of the same views.
    let eval = ["eval", text(&scene), "--backend", "cpu", "--json"];
    let eval = json(&succeeds(&[&eval[..], &photos].concat()));
    let wanted = eval["lpips"].as_f64().unwrap();
    assert!((lpips.unwrap() - wanted).abs() < 1e-6, "{lpips:?} {wanted}");
}

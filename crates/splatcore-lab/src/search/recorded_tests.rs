use super::*;

/// As Kernel Tuner 1.5.0 writes it; the end is missing.
const OPEN: &str = r#"{
"device_name": "A card",
"kernel_name": "blend",
"problem_size": [1920, 1080],
"tune_params_keys": ["block_size_x", "kind", "half", "scale"],
"tune_params": {"block_size_x": [64, 32], "kind": ["plain", "ldg"], "half": [true, false],
 "scale": [0.5, 1]},
"objective": ["time"],
"cache": {
"64,plain,True,0.5": {"block_size_x": 64, "kind": "plain", "half": true, "scale": 0.5, "time": 1.25,
 "times": [1.0, 1.5], "compile_time": 100.5, "verification_time": 0, "benchmark_time": 3.25,
 "timestamp": "2026-11-24 08:00:00+00:00"},
"32,ldg,False,1": {"block_size_x": 32, "kind": "ldg", "half": false, "scale": 1,
 "__error__": "CompilationFailedConfig"},
"32,plain,False,1": {"block_size_x": 32, "kind": "plain", "half": false, "scale": 1.0,
 "time": "RuntimeFailedConfig"},"#;

#[test]
fn caches_are_read_also_without_their_end() {
    let closed = format!("{}}}\n}}", OPEN.trim_end_matches(','));
    let recorded = Recorded::read_cache(OPEN).unwrap();
    assert_eq!(Recorded::read_cache(&closed).unwrap(), recorded);
    assert_eq!(
        (recorded.device.as_str(), recorded.objective.as_str()),
        ("A card", "time")
    );
    assert_eq!(
        recorded.axes[0].values,
        [Value::Integer(64), Value::Integer(32)]
    );
    assert_eq!(
        recorded.axes[2].values,
        [Value::Bool(true), Value::Bool(false)]
    );
    let of = |config: [u16; 4]| &recorded.entries[&config.to_vec()];
    assert_eq!(of([0, 0, 0, 0]).result, Ok(1.25));
    assert_eq!(of([0, 0, 0, 0]).runs, [1.0, 1.5]);
    assert_eq!(of([0, 0, 0, 0]).compile, 100.5);
    assert_eq!(of([1, 1, 1, 1]).result, Err(Failure::Compile));
    assert_eq!(of([1, 0, 1, 1]).result, Err(Failure::Runtime));
    assert_eq!(recorded.optimum(), Some(1.25));
    assert_eq!(recorded.space().unwrap().points().unwrap().len(), 3);
}

#[test]
fn what_is_no_cache_is_said() {
    let error = |text: &str| Recorded::read_cache(text).unwrap_err().to_string();
    assert!(error("{}").contains("device_name"));
    assert!(error(&OPEN[..200]).contains("no cache file"));
    assert!(error(&OPEN.replace("\"scale\"]", "\"scala\"]")).contains("`scala`"));
    assert!(error(&OPEN.replace("x\": 64, ", "x\": 65, ")).contains("= 65 is not in"));
    let missing = error(&OPEN.replace("\"time\": 1.25", "\"power\": 2"));
    assert_eq!(missing, "entry `64,plain,True,0.5`: `time` is no number");
}

#[test]
fn caches_are_written_as_they_are_read() {
    let mut recorded = Recorded::read_cache(OPEN).unwrap();
    let all = [Failure::Timeout, Failure::Correctness, Failure::Constraints];
    for (at, failure) in all.into_iter().enumerate() {
        recorded
            .entries
            .insert(vec![0, 1, 1, at as u16 % 2], Entry::new(Err(failure)));
    }
    let text = recorded.to_cache().unwrap();
    assert_eq!(Recorded::read_cache(&text).unwrap(), recorded);
    // Kernel Tuner looks points up by these keys and compares the order of parameters.
    assert!(text.contains("\"64,plain,True,0.5\": {"), "{text}");
    let place = |what: &str| text.find(what).unwrap();
    let parameters = &text[place("\"tune_params\"")..place("\"objective\"")];
    assert!(parameters.find("block_size_x") < parameters.find("half"));
    assert!(parameters.find("half") < parameters.find("scale"));
    let mut broken = recorded;
    broken
        .entries
        .insert(vec![0, 0, 0, 0], Entry::new(Ok(f64::NAN)));
    let broken = broken.to_cache().unwrap();
    assert!(Recorded::read_cache(&broken).is_err());
}

#[test]
fn t4_says_what_failed() {
    let recorded = Recorded::read_cache(OPEN).unwrap();
    let t4: Json = serde_json::from_str(&recorded.to_t4().unwrap()).unwrap();
    let results = t4["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    let first = &results[0];
    assert_eq!(first["configuration"]["block_size_x"], 64);
    assert_eq!(first["invalidity"], "correct");
    assert_eq!(first["measurements"][0]["value"], 1.25);
    assert_eq!(first["times"]["compilation"], 100.5);
    let failed: Vec<&Json> = results[1..]
        .iter()
        .map(|result| &result["invalidity"])
        .collect();
    assert_eq!(failed, ["runtime", "compile"]);
    assert_eq!(results[1]["measurements"].as_array().unwrap().len(), 0);
}

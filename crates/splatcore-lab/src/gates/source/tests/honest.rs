//! What people and models do in good faith passes.

use super::*;

#[test]
fn every_kernel_file_passes_with_one_more_statement() {
    let baseline = kernels();
    let names: Vec<&str> = baseline.keys().map(String::as_str).collect();
    for (file, text) in &baseline {
        let same = Texts::from([(file.clone(), text.clone())]);
        let said = check(&baseline, &names, &same).unwrap_err();
        assert_eq!(said.gate, Gate::Files, "{file}: {said}");
        let helper = "\n__device__ __forceinline__ float new_helper(float x) {\n    return __expf(x) \
                      * 0.5f;\n}\n";
        let longer = Texts::from([(file.clone(), format!("{text}{helper}"))]);
        check(&baseline, &names, &longer).unwrap_or_else(|said| panic!("{file}: {said}"));
    }
    // All at once.
    let all: Texts = baseline.iter().map(|(f, t)| (f.clone(), format!("{t};"))).collect();
    assert!(check(&baseline, &names, &all).is_err());
}

//! What doctor says about CUDA.

use crate::output::verdict;
use serde::Serialize;
use splatcore_cuda::Probe;
use splatcore_train::memory::Bytes;
use std::path::{Path, PathBuf};

/// The driver, the cards and the compiler of this machine.
#[derive(Serialize)]
pub struct Cuda {
    /// Whether kernels can be compiled and run.
    available: bool,
    /// Version of the driver, `null` without one.
    driver: Option<String>,
    /// A line each, compute capability included.
    cards: Vec<String>,
    /// The kernels that this build carries compiled, `null` if none.
    built_in: Option<String>,
    compiler: Compiler,
    cache: Cache,
    /// `null` where there is nothing to test.
    pub self_test: Option<SelfTest>,
}

/// libnvrtc, which compiles the kernels at run time.
#[derive(Serialize)]
struct Compiler {
    version: Option<String>,
    path: Option<PathBuf>,
    /// Where `path` belongs to; see [`origin`].
    origin: Option<&'static str>,
    /// Without one: how to get it.
    remedy: Option<String>,
}

/// Compiled kernels.
#[derive(Serialize)]
struct Cache {
    folder: PathBuf,
    bytes: u64,
}

/// The result of a short check on the card.
#[derive(Serialize)]
pub struct SelfTest {
    /// Whether the results can be trusted.
    pub passed: bool,
    found: String,
}

impl From<Probe> for Cuda {
    fn from(probe: Probe) -> Self {
        let self_test = probe.self_test.map(|result| SelfTest {
            passed: result.is_ok(),
            found: result.unwrap_or_else(|problem| problem),
        });
        let compiler = match probe.compiler {
            Ok(found) => Compiler {
                version: Some(found.version),
                origin: Some(origin(&found.path, &folders_named_by_the_user())),
                path: Some(found.path),
                remedy: None,
            },
            Err(remedy) => Compiler {
                version: None,
                path: None,
                origin: None,
                remedy: Some(remedy),
            },
        };
        Self {
            available: probe.driver.is_some()
                && !probe.cards.is_empty()
                && (compiler.path.is_some() || probe.built_in.is_some()),
            driver: probe.driver,
            cards: probe.cards,
            built_in: probe.built_in,
            compiler,
            cache: Cache {
                folder: probe.cache,
                bytes: probe.cache_bytes,
            },
            self_test,
        }
    }
}

impl Cuda {
    /// For people, in doctor's columns.
    pub fn lines(&self) -> Vec<String> {
        let Some(driver) = &self.driver else {
            return vec!["CUDA         no NVIDIA driver found: the cpu backend is used".into()];
        };
        let mut lines = vec![format!("CUDA         driver {driver}")];
        if self.cards.is_empty() {
            lines.push("CUDA card    none found".into());
        }
        lines.extend(self.cards.iter().map(|card| format!("CUDA card    {card}")));
        if let Some(kernels) = &self.built_in {
            lines.push(format!("kernels      {kernels}"));
        }
        lines.push(match &self.compiler {
            Compiler {
                version: Some(version),
                path: Some(path),
                origin,
                ..
            } => format!(
                "libnvrtc     {version}, {} ({})",
                path.display(),
                origin.unwrap_or("elsewhere")
            ),
            Compiler { remedy, .. } => format!(
                "libnvrtc     {}",
                remedy
                    .as_deref()
                    .unwrap_or("not found; get it with: pip install nvidia-cuda-nvrtc")
            ),
        });
        lines.push(format!(
            "kernel cache {}, {}",
            self.cache.folder.display(),
            Bytes(self.cache.bytes)
        ));
        if let Some(test) = &self.self_test {
            lines.push(format!(
                "self-test    {} CUDA: {}",
                verdict(test.passed),
                test.found
            ));
        }
        lines
    }
}

/// What `CUDA_PATH` and `CUDA_HOME` say.
fn folders_named_by_the_user() -> Vec<PathBuf> {
    ["CUDA_PATH", "CUDA_HOME"]
        .into_iter()
        .filter_map(std::env::var_os)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .collect()
}

/// Whose libnvrtc it is: the folder that `CUDA_PATH` or `CUDA_HOME` names, a wheel in a Python
/// environment, or the system.
fn origin(path: &Path, named: &[PathBuf]) -> &'static str {
    if named.iter().any(|folder| path.starts_with(folder)) {
        return "CUDA_PATH";
    }
    let packages = |part: &std::ffi::OsStr| part == "site-packages" || part == "dist-packages";
    if path.iter().any(packages) {
        return "a Python environment's nvidia wheel";
    }
    "system"
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_cuda::CompilerInfo;

    fn probe() -> Probe {
        Probe {
            driver: Some("580.1".into()),
            cards: vec!["0: H200, compute capability 9.0".into()],
            compiler: Ok(CompilerInfo {
                version: "12.8".into(),
                path: "/venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
                    .into(),
            }),
            built_in: None,
            cache: "cache/splatcore".into(),
            cache_bytes: 2048,
            self_test: Some(Err("images differ".into())),
        }
    }

    #[test]
    fn a_card_is_described() {
        let cuda = Cuda::from(probe());
        let json = serde_json::to_value(&cuda).unwrap();
        assert_eq!(json["available"], true);
        assert_eq!(
            json["compiler"]["origin"],
            "a Python environment's nvidia wheel"
        );
        assert_eq!(json["cache"]["bytes"], 2048);
        assert_eq!(
            json["self_test"],
            serde_json::json!({"passed": false, "found": "images differ"})
        );
        let text = cuda.lines().join("\n");
        for wanted in [
            "driver 580.1",
            "capability 9.0",
            "12.8, /venv",
            "2.0 KiB",
            "FAILED CUDA: images",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let remedy = "not found; get it with: pip install nvidia-cuda-nvrtc";
        let cuda = Cuda::from(Probe {
            compiler: Err(remedy.into()),
            self_test: None,
            ..probe()
        });
        let json = serde_json::to_value(&cuda).unwrap();
        assert_eq!(
            (&json["available"], &json["compiler"]["remedy"]),
            (&false.into(), &remedy.into())
        );
        assert!(cuda.lines().contains(&format!("libnvrtc     {remedy}")));
        let carried = Cuda::from(Probe {
            compiler: Err(remedy.into()),
            built_in: Some("built in for 9.0".into()),
            ..probe()
        });
        assert_eq!(serde_json::to_value(&carried).unwrap()["available"], true);
        let lines = carried.lines();
        assert!(lines.contains(&"kernels      built in for 9.0".into()));
        let none = Cuda::from(Probe {
            driver: None,
            cards: vec![],
            ..probe()
        });
        assert_eq!(none.lines().len(), 1);
        assert_eq!(serde_json::to_value(&none).unwrap()["available"], false);
    }

    #[test]
    fn the_owner_of_a_library_is_known_by_its_folder() {
        let named = [PathBuf::from("/opt/cuda")];
        assert_eq!(
            origin("/opt/cuda/lib64/libnvrtc.so".as_ref(), &named),
            "CUDA_PATH"
        );
        assert_eq!(origin("/usr/lib/libnvrtc.so".as_ref(), &named), "system");
    }
}

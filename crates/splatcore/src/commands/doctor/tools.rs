//! What doctor says about other programs: which are there, what each is for, how to get it.

use serde::Serialize;
use splatcore_cuda::peers::nccl::nccl;
use splatcore_poses::Installed;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Another program, or something that the system has or lacks.
#[derive(Serialize)]
pub struct Tool {
    name: &'static str,
    found: bool,
    version: Option<String>,
    path: Option<PathBuf>,
    /// What it is for.
    purpose: &'static str,
    /// How to get it.
    remedy: &'static str,
}

/// All of them: those that find poses, then those that the kernel lab needs, if this build
/// has it. `nvrtc` is the version
/// of NVIDIA's compiler and its file, if it is there.
pub fn tools(nvrtc: Option<(String, PathBuf)>) -> Vec<Tool> {
    let installed = splatcore_poses::installed();
    let of = |name: &str| installed.iter().find(|tool| tool.name == name);
    let mut tools = vec![
        of_poses(
            "COLMAP",
            of("COLMAP"),
            "finds the cameras of photos (poses, make)",
            "Debian and Ubuntu: sudo apt install colmap; macOS: brew install colmap; Windows: \
             https://github.com/colmap/colmap/releases",
        ),
        of_poses(
            "pycolmap",
            of("pycolmap"),
            "does the same without COLMAP (poses, make)",
            "pip install pycolmap",
        ),
        of_poses(
            "ffmpeg",
            of("ffmpeg"),
            "reads and writes videos (poses, make, render)",
            "Debian and Ubuntu: sudo apt install ffmpeg; macOS: brew install ffmpeg",
        ),
        of_command(
            "python3",
            &["python3", "python"],
            "runs pycolmap, the Python module and its drop-ins",
            "https://www.python.org, or the system's packages",
        ),
        of_command(
            "C++ compiler",
            &["g++", "c++", "clang++"],
            "the lab's emulator, which checks kernels without a card",
            "Debian and Ubuntu: sudo apt install g++; or set CXX",
        ),
    ];
    let nvrtc = nvrtc.unzip();
    tools.push(Tool {
        name: "NVRTC",
        found: nvrtc.1.is_some(),
        version: nvrtc.0,
        path: nvrtc.1,
        purpose: "compiles kernels for cards (cuda backend, lab)",
        remedy: "pip install nvidia-cuda-nvrtc",
    });
    let nccl = nccl().ok();
    tools.push(Tool {
        name: "NCCL",
        found: nccl.is_some(),
        version: nccl.map(|found| found.version.clone()),
        path: nccl.map(|found| found.path.clone()),
        purpose: "moves data between cards (train --cards)",
        remedy: "pip install nvidia-nccl-cu13",
    });
    tools.extend(of_lab());
    tools
}

/// What the kernel lab needs besides; nothing of a build without it.
#[cfg(not(feature = "lab"))]
fn of_lab() -> Vec<Tool> {
    Vec::new()
}

/// What the kernel lab needs besides.
#[cfg(feature = "lab")]
fn of_lab() -> Vec<Tool> {
    use crate::commands::lab::sanitizer;
    let toolkit = "the CUDA toolkit, whose bin folder belongs into PATH, or set CUDA_HOME";
    let mut tools = vec![Tool {
        name: "landlock",
        found: splatcore_lab::worker::has_landlock(),
        version: None,
        path: None,
        purpose: "confines changed kernels on the emulator (lab)",
        remedy: "Linux 5.13 or later with landlock among its security modules",
    }];
    for (name, purpose) in [
        (
            "compute-sanitizer",
            "finds races and wrong accesses on a card (lab)",
        ),
        ("ncu", "measures what limits a kernel on a card (lab --ncu)"),
    ] {
        let path = sanitizer::find_program(name);
        tools.push(Tool {
            name,
            found: path.is_some(),
            version: path
                .as_ref()
                .and_then(|path| version_line(path.clone().into())),
            path,
            purpose,
            remedy: toolkit,
        });
    }
    tools
}

fn of_poses(
    name: &'static str,
    found: Option<&Installed>,
    purpose: &'static str,
    remedy: &'static str,
) -> Tool {
    let path = found.and_then(|found| found.path.clone());
    let version = found.and_then(|found| {
        let cuda = if found.cuda { " with CUDA" } else { "" };
        Some(format!("{}{cuda}", found.version.as_ref()?))
    });
    Tool {
        name,
        found: path.is_some(),
        version,
        path,
        purpose,
        remedy,
    }
}

/// The first of several commands that answers; `$CXX` comes first for compilers.
fn of_command(
    name: &'static str,
    commands: &[&str],
    purpose: &'static str,
    remedy: &'static str,
) -> Tool {
    let chosen = std::env::var_os("CXX").filter(|cxx| !cxx.is_empty() && commands.contains(&"g++"));
    let commands = commands.iter().map(OsString::from);
    let found = chosen
        .into_iter()
        .chain(commands)
        .find_map(|command| Some((version_line(command.clone())?, command)));
    Tool {
        name,
        found: found.is_some(),
        version: found.as_ref().map(|(version, _)| version.clone()),
        path: found.map(|(_, command)| command.into()),
        purpose,
        remedy,
    }
}

/// The line with the version that a program prints when asked for it.
fn version_line(program: OsString) -> Option<String> {
    let run = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .ok()
        .filter(|run| run.status.success())?;
    let text = String::from_utf8_lossy(&run.stdout);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines()
        .find(|line| line.to_lowercase().contains("version"))
        .or_else(|| lines().next())?;
    Some(line.to_owned())
}

/// For people, in doctor's columns.
pub fn lines(tools: &[Tool]) -> Vec<String> {
    let line = |tool: &Tool| {
        let state = match (&tool.version, tool.found) {
            (Some(version), true) => version.clone(),
            (None, true) => "there".to_owned(),
            (_, false) => "not found".to_owned(),
        };
        let remedy = match tool.found {
            true => String::new(),
            false => format!("; get it with: {}", tool.remedy),
        };
        let name = tool.name;
        format!("{name:<12} {state}: {}{remedy}", tool.purpose)
    };
    tools.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_has_a_version_and_what_is_not_a_remedy() {
        let tool = |found: bool| Tool {
            name: "ffmpeg",
            found,
            version: found.then(|| "6.1".into()),
            path: found.then(|| "/usr/bin/ffmpeg".into()),
            purpose: "reads videos",
            remedy: "apt install ffmpeg",
        };
        assert_eq!(
            lines(&[tool(true), tool(false)]),
            [
                "ffmpeg       6.1: reads videos",
                "ffmpeg       not found: reads videos; get it with: apt install ffmpeg"
            ]
        );
    }

    #[test]
    fn every_tool_says_what_it_is_for() {
        let tools = tools(None);
        let always = [
            "COLMAP",
            "pycolmap",
            "ffmpeg",
            "python3",
            "C++ compiler",
            "NVRTC",
        ];
        let of_lab: &[&str] = match cfg!(feature = "lab") {
            true => &["landlock", "compute-sanitizer", "ncu"],
            false => &[],
        };
        for name in always.iter().chain(of_lab).copied() {
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            assert!(!tool.purpose.is_empty() && !tool.remedy.is_empty());
        }
    }
}

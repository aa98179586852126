//! Which rank a process is, from the variables of what started it.

use anyhow::{Context, Result, bail};
use splatcore_core::backend::Ranks;
use std::env;

/// Most ranks that there may be.
const MAX_RANKS: usize = 4096;
/// Where ranks meet if nothing else says where: torchrun's default.
const PORT: u16 = 29_500;
/// Another port, whatever the launcher says.
const PORT_VARIABLE: &str = "SPLATCORE_PORT";

/// The rank of this process, and where rank 0 listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// Which one, and how many there are.
    pub ranks: Ranks,
    /// The card: its number among this machine's ranks.
    pub card: usize,
    /// Host or address of rank 0.
    pub host: String,
    /// Port there.
    pub port: u16,
    /// Who started the ranks.
    pub launcher: &'static str,
}

/// The variables of a launcher: rank, number of ranks, rank on its machine.
struct Family {
    launcher: &'static str,
    rank: &'static str,
    count: &'static str,
    local: &'static str,
}

/// In this order; the first that is there counts. Kubeflow's PyTorchJob sets those of torchrun
/// without LOCAL_RANK.
const FAMILIES: [Family; 4] = [
    Family {
        launcher: "torchrun",
        rank: "RANK",
        count: "WORLD_SIZE",
        local: "LOCAL_RANK",
    },
    Family {
        launcher: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        count: "OMPI_COMM_WORLD_SIZE",
        local: "OMPI_COMM_WORLD_LOCAL_RANK",
    },
    Family {
        launcher: "Slurm",
        rank: "SLURM_PROCID",
        count: "SLURM_NTASKS",
        local: "SLURM_LOCALID",
    },
    // An indexed Job, as JobSet makes them; how many pods there are must be said.
    Family {
        launcher: "Kubernetes",
        rank: "JOB_COMPLETION_INDEX",
        count: "WORLD_SIZE",
        local: "LOCAL_RANK",
    },
];

impl World {
    /// From the environment; `None` if no launcher has started this process.
    ///
    /// # Errors
    /// If variables are missing or make no sense.
    pub fn of_environment() -> Result<Option<Self>> {
        Self::of(&|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn of(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let started = |family: &&Family| variable(family.rank).is_some();
        let Some(family) = FAMILIES.iter().find(started) else {
            return Ok(None);
        };
        // A batch script runs its own commands with Slurm's variables too, outside of srun.
        if family.launcher == "Slurm" && variable("SLURM_STEP_ID").is_none() {
            return Ok(None);
        }
        let launcher = family.launcher;
        let number = |name: &str| -> Result<Option<usize>> {
            let Some(text) = variable(name) else {
                return Ok(None);
            };
            let parsed = text.parse().ok().filter(|&n| n <= MAX_RANKS);
            parsed
                .map(Some)
                .with_context(|| format!("{launcher}: {name}={text} is not a number of ranks"))
        };
        let needed = |name: &str| -> Result<usize> {
            number(name)?.with_context(|| {
                format!(
                    "{launcher}: {} is set, and {name} is not; set both",
                    family.rank
                )
            })
        };
        let ranks = Ranks::of(needed(family.rank)?, needed(family.count)?);
        if ranks.rank >= ranks.count {
            bail!(
                "{launcher}: {}={} and {}={}: ranks count from 0",
                family.rank,
                ranks.rank,
                family.count,
                ranks.count
            );
        }
        let host = match ranks.count {
            1 => String::new(),
            _ => host(launcher, variable)?,
        };
        Ok(Some(Self {
            ranks,
            card: number(family.local)?.unwrap_or(0),
            host,
            port: port(launcher, variable)?,
            launcher,
        }))
    }
}

fn host(launcher: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String> {
    if let Some(host) = variable("MASTER_ADDR") {
        return Ok(host);
    }
    match launcher {
        "Slurm" => {
            let nodes = variable("SLURM_STEP_NODELIST").or_else(|| variable("SLURM_NODELIST"));
            if let Some(node) = nodes.as_deref().and_then(first_node) {
                return Ok(node);
            }
        }
        "Open MPI" => {
            let size = |scope| variable(&format!("OMPI_COMM_WORLD_{scope}"));
            if size("LOCAL_SIZE").is_some() && size("LOCAL_SIZE") == size("SIZE") {
                return Ok("127.0.0.1".into());
            }
        }
        _ => {}
    }
    bail!("{launcher}: where rank 0 runs is not known; set MASTER_ADDR to its host")
}

/// The first node of Slurm's list: `gpu[07-09,12],login` is gpu07.
fn first_node(list: &str) -> Option<String> {
    let list = list.trim();
    let end = list.find([',', '[']).unwrap_or(list.len());
    let (name, rest) = list.split_at(end);
    if !rest.starts_with('[') {
        return Some(name.to_owned()).filter(|name| !name.is_empty());
    }
    let inside = &rest[1..rest.find(']')?];
    let first = inside.split([',', '-']).next()?;
    Some(format!("{name}{first}"))
}

fn port(launcher: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<u16> {
    let parsed = |name: &str| -> Result<Option<u16>> {
        let Some(text) = variable(name) else {
            return Ok(None);
        };
        let port = text.parse().ok().filter(|&port: &u16| port > 0);
        port.map(Some)
            .with_context(|| format!("{name}={text} is not a port: 1 to 65535"))
    };
    if let Some(port) = parsed(PORT_VARIABLE)? {
        return Ok(port);
    }
    if let Some(port) = parsed("MASTER_PORT")? {
        // torchrun itself listens at this port.
        let taken = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|store| store == "True");
        return Ok(if taken {
            port.wrapping_add(1).max(1024)
        } else {
            port
        });
    }
    if launcher == "Slurm"
        && let Some(job) = variable("SLURM_JOB_ID").and_then(|id| id.parse::<u64>().ok())
    {
        // Two jobs on one node meet at different ports.
        return Ok(20_000 + (job % 20_000) as u16);
    }
    Ok(PORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(variables: &str) -> Result<Option<World>, String> {
        let of = |name: &str| {
            let pairs = variables
                .split_whitespace()
                .filter_map(|v| v.split_once('='));
            let mut found = pairs.filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| value.to_owned())
        };
        World::of(&of).map_err(|error| format!("{error:#}"))
    }

    fn of(variables: &str) -> (usize, usize, usize, String, u16) {
        let world = world(variables).unwrap().unwrap();
        let Ranks { rank, count, .. } = world.ranks;
        (rank, count, world.card, world.host, world.port)
    }

    #[test]
    fn every_launcher_is_understood() {
        assert_eq!(world("HOME=x").unwrap(), None);
        let torchrun = "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 MASTER_ADDR=node1 MASTER_PORT=29400";
        assert_eq!(of(torchrun), (5, 8, 1, "node1".into(), 29_400));
        let agent = format!("{torchrun} TORCHELASTIC_USE_AGENT_STORE=True");
        assert_eq!(of(&agent).4, 29_401);
        assert_eq!(of(&format!("{agent} SPLATCORE_PORT=7000")).4, 7_000);
        let slurm = "SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_LOCALID=1 SLURM_JOB_ID=40123 \
                     SLURM_STEP_ID=0 SLURM_STEP_NODELIST=gpu[07-09,12],login";
        assert_eq!(of(slurm), (3, 4, 1, "gpu07".into(), 20_123));
        let mpi = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 \
                   OMPI_COMM_WORLD_LOCAL_SIZE=2";
        assert_eq!(of(mpi), (1, 2, 1, "127.0.0.1".into(), PORT));
        let kubeflow = "RANK=1 WORLD_SIZE=2 MASTER_ADDR=job-master-0 MASTER_PORT=23456";
        assert_eq!(of(kubeflow), (1, 2, 0, "job-master-0".into(), 23_456));
        let jobset = "JOB_COMPLETION_INDEX=1 WORLD_SIZE=3 MASTER_ADDR=set-workers-0-0.set";
        assert_eq!(of(jobset), (1, 3, 0, "set-workers-0-0.set".into(), PORT));
    }

    #[test]
    fn commands_of_a_batch_script_are_no_ranks() {
        assert_eq!(world("SLURM_PROCID=0 SLURM_NTASKS=4").unwrap(), None);
    }

    #[test]
    fn nodes_are_read() {
        for (list, first) in [
            ("n1", "n1"),
            ("a[3]", "a3"),
            ("a-b[001-9]", "a-b001"),
            ("x,y", "x"),
        ] {
            assert_eq!(first_node(list).as_deref(), Some(first));
        }
        assert_eq!(first_node("a[1"), None);
        assert_eq!(first_node(""), None);
    }

    #[test]
    fn half_a_world_is_refused() {
        for (variables, said) in [
            ("RANK=1", "RANK is set, and WORLD_SIZE is not"),
            ("RANK=x WORLD_SIZE=2", "RANK=x is not a number"),
            ("RANK=2 WORLD_SIZE=2 MASTER_ADDR=a", "ranks count from 0"),
            ("RANK=0 WORLD_SIZE=0", "ranks count from 0"),
            ("RANK=0 WORLD_SIZE=99999999", "WORLD_SIZE=99999999 is not"),
            ("RANK=0 WORLD_SIZE=2", "set MASTER_ADDR"),
            (
                "RANK=0 WORLD_SIZE=2 MASTER_ADDR=a MASTER_PORT=0",
                "MASTER_PORT=0",
            ),
            (
                "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2",
                "set MASTER_ADDR",
            ),
        ] {
            let error = world(variables).unwrap_err();
            assert!(error.contains(said), "{variables}: {error}");
        }
    }
}

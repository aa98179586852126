//! Where the set grows.

use super::*;
use crate::config::GrowthRegion;

/// Every round of every strategy is told where to grow; a box that cameras do not tell is an error.
#[test]
fn rounds_know_the_region() {
    let region: Region = "-1,0,-1,1,2,1".parse().unwrap();
    for strategy in [Strategy::Splatcore, Strategy::Adc, Strategy::Mcmc] {
        let config = Config {
            strategy: Some(strategy),
            region: Some(GrowthRegion::Box(region)),
            ..Config::UNSET
        };
        let schedule = scheduled(&config, 1.0).within([]).unwrap();
        assert_eq!(schedule.region(), Some(region));
        let rounds = (1..30_000).filter_map(|step| schedule.densification(step));
        let told: Vec<Option<Region>> = rounds
            .map(|round| match round {
                Refine::Adc { region, .. } | Refine::Mcmc { region, .. } => region,
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(told.len() > 100 && told.iter().all(|&told| told == Some(region)));
    }
    let auto = Config {
        region: Some(GrowthRegion::Auto),
        ..Config::UNSET
    };
    let error = scheduled(&auto, 1.0).within([]).unwrap_err().to_string();
    assert!(
        error.contains("region = auto: the photos' cameras"),
        "{error}"
    );
    let none = scheduled(&Config::UNSET, 1.0).within([]).unwrap();
    assert_eq!(none.region(), None);
}

//! Tests of binning: how much room there is, and in `binned` the kernels.

mod binned;

use super::*;

#[test]
fn pictures_of_too_many_groups_are_not_dealt() {
    let most = |count| MacroTiles::new(2, count).map(|macro_tiles| macro_tiles.most);
    assert_eq!(
        [1, 2304, 2305, 8192, 8193].map(most),
        [Some(2304), Some(2304), Some(8192), Some(8192), None]
    );
}

#[test]
fn lists_have_room_for_so_many() {
    assert_eq!(most_listed(1), MAX_LISTED);
    for count in [2040, 8192] {
        assert!(8 * count * most_listed(count) <= MAX_BYTES);
    }
}

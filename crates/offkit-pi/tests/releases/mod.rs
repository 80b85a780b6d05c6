//! What the releases have, as read from their plugins and runtimes: facts that do not come from the crate.
#![allow(dead_code, reason = "each test uses what it needs")]

/// A released version of the interface.
pub(crate) struct Release {
    pub(crate) version: &'static str,
    /// Where the plugin writes its own version.
    pub(crate) plugin_version_offset: usize,
    pub(crate) record_size: usize,
    table: &'static str,
}

/// A slot of a release's function table.
pub(crate) struct Slot {
    pub(crate) offset: usize,
    pub(crate) function: &'static str,
    /// Which list of parameters the function has.
    pub(crate) revision: &'static str,
}

pub(crate) const RELEASES: [Release; 4] = [
    Release {
        version: "2.3",
        plugin_version_offset: 4,
        record_size: 824,
        table: include_str!("../data/pi-2.3.txt"),
    },
    Release {
        version: "6.8",
        plugin_version_offset: 4,
        record_size: 856,
        table: include_str!("../data/pi-6.8.txt"),
    },
    Release {
        version: "12.27",
        plugin_version_offset: 20,
        record_size: 992,
        table: include_str!("../data/pi-12.27.txt"),
    },
    Release {
        version: "15.47",
        plugin_version_offset: 20,
        record_size: 1328,
        table: include_str!("../data/pi-15.47.txt"),
    },
];

impl Release {
    /// The slots, in order.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        let lines = self.table.lines().filter(|line| !line.starts_with('#'));
        let slot = |(index, line): (usize, &'static str)| {
            let columns: Vec<&str> = line.split(' ').collect();
            assert_eq!(columns[0].parse(), Ok(index));
            Slot {
                offset: columns[1].parse().unwrap(),
                function: columns[2],
                revision: columns[3],
            }
        };
        lines.enumerate().map(slot).collect()
    }

    /// Where a function is in the plugin record.
    pub(crate) fn offset(&self, function: &str) -> Option<usize> {
        let slot = self.slots().into_iter().find(|slot| slot.function == function)?;
        Some(slot.offset)
    }
}

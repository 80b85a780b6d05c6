//! What devices to come can run: code that a driver compiles when it loads it.

use offkit_image::ImageFormat;

use crate::inventory::Inventory;
use crate::words::count;

/// How many images of a library devices to come can run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Portable {
    /// All of its images.
    pub images: usize,
    /// Those that devices to come can run.
    pub portable: usize,
    /// Those with machine code for GPUs of NVIDIA.
    pub cubins: usize,
    /// Those with PTX, for one processor alone too.
    pub ptx: usize,
}

impl Portable {
    /// Whether it has machine code for GPUs of NVIDIA, and no PTX for those that come after them.
    #[must_use]
    pub fn lacks_ptx(self) -> bool {
        self.cubins > 0 && self.ptx == 0
    }

    /// It in words, as a cell of a table.
    #[must_use]
    pub fn words(self) -> String {
        match (self.images, self.portable) {
            (0, _) => "no device code".to_owned(),
            (_, 0) if self.lacks_ptx() => "no PTX: later GPUs cannot run it".to_owned(),
            (_, 0) => "none: later devices cannot run it".to_owned(),
            (all, portable) if all == portable => "all".to_owned(),
            (all, portable) if self.lacks_ptx() => format!("{portable} of {}, no PTX", count(all, "image")),
            (all, portable) => format!("{portable} of {}", count(all, "image")),
        }
    }
}

/// What devices to come can run of each library, by its number.
#[must_use]
pub fn portable(inventory: &Inventory) -> Vec<Portable> {
    let mut libraries = vec![Portable::default(); inventory.libraries.len()];
    for listed in &inventory.images {
        let Some(library) = libraries.get_mut(listed.library) else {
            continue;
        };
        library.images += 1;
        library.portable += usize::from(listed.image.is_for_devices_to_come());
        library.cubins += usize::from(listed.image.format == ImageFormat::Cubin);
        library.ptx += usize::from(listed.image.format == ImageFormat::Ptx);
    }
    libraries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_code_without_ptx_is_named() {
        let said = [
            [0, 0, 0, 0],
            [3, 0, 3, 0],
            [3, 0, 2, 1],
            [3, 1, 2, 1],
            [3, 1, 2, 0],
            [2, 2, 0, 0],
        ]
        .map(|[images, portable, cubins, ptx]| {
            Portable {
                images,
                portable,
                cubins,
                ptx,
            }
            .words()
        });
        assert_eq!(
            said,
            [
                "no device code",
                "no PTX: later GPUs cannot run it",
                "none: later devices cannot run it",
                "1 of 3 images",
                "1 of 3 images, no PTX",
                "all",
            ]
        );
    }
}

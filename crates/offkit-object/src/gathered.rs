//! Images that are looked into together, on all cores.

use offkit_image::{DeviceImage, range_within};

use crate::memory::Memory;
use crate::parallel;

/// Images of a file that are gathered on a walk, until there are enough to look into them on all cores.
///
/// What is gathered is bounded: so many images, and so many bytes that are not in the file. Each image comes with
/// something to know it by.
#[derive(Debug)]
pub struct Gathered<'file, K> {
    file: &'file [u8],
    images: Vec<(K, DeviceImage<'file>)>,
    /// The bytes that are held for them.
    held: usize,
    /// What they come to, unpacked.
    size: u64,
}

impl<'file, K: Send> Gathered<'file, K> {
    /// Enough for all cores to be busy, and for one to be busy with a large image.
    const IMAGES: usize = 256;
    const HELD: usize = 1 << 23;

    /// What takes longer to look into than threads take to start: so many bytes, or so many images.
    const WORTHWHILE: u64 = 1 << 20;
    const MANY: usize = 1 << 12;

    /// For images of that file: what lies in it is not copied.
    #[must_use]
    pub fn new(file: &'file [u8]) -> Self {
        Self {
            file,
            images: Vec::new(),
            held: 0,
            size: 0,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// Adds an image, and says whether it is time to [`look`](Self::look).
    pub fn add(&mut self, key: K, image: DeviceImage<'_>) -> bool {
        let image = image.rebase(self.file);
        let stored = image.stored_bytes();
        if range_within(self.file, stored).is_none() {
            self.held = self.held.saturating_add(stored.len());
        }
        self.size = self.size.saturating_add(image.size());
        self.images.push((key, image));
        // Many images that are small wait for more, as they cost nothing meanwhile; bytes that are
        // held do not wait.
        let are_enough = self.images.len() >= Self::IMAGES && self.are_worthwhile();
        are_enough || self.held >= Self::HELD
    }

    fn are_worthwhile(&self) -> bool {
        self.size >= Self::WORTHWHILE || self.images.len() >= Self::MANY
    }

    /// What `look` finds in each of them, in order; `memory` is told which bytes of the file were looked at. Few small
    /// images are looked into by this thread.
    pub fn look<R: Send>(
        &mut self,
        memory: &dyn Memory,
        look: impl Fn(K, DeviceImage<'file>) -> R + Sync + Send,
    ) -> Vec<R> {
        let on_all_cores = self.are_worthwhile();
        let images = std::mem::take(&mut self.images);
        (self.held, self.size) = (0, 0);
        let lent = images
            .iter()
            .filter_map(|(_, image)| range_within(self.file, image.stored_bytes()))
            // One range over all of them, as `Memory::passed` asks for few large ones.
            .reduce(|all, one| all.start.min(one.start)..all.end.max(one.end));
        let work = |(key, image)| look(key, image);
        let found = match on_all_cores {
            true => parallel::map(images, 1, work),
            false => images.into_iter().map(work).collect(),
        };
        // Not before the work: it reads these pages for the last time.
        if let Some(lent) = lent {
            memory.passed(lent);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Told(Mutex<Vec<Range<usize>>>);

    impl Memory for Told {
        fn passed(&self, range: Range<usize>) {
            self.0.lock().unwrap().push(range);
        }
    }

    #[test]
    fn images_come_back_in_order_and_their_bytes_are_passed() {
        let file = vec![7; 3 << 20];
        // Images that are large enough, few, and many small ones.
        for (size, count, times) in [(8 << 10, 300, 2), (8, 300, 1), (8, 5000, 2)] {
            let (told, mut gathered) = (Told::default(), Gathered::new(&file));
            let mut found = Vec::new();
            for (number, image) in file[100..].chunks(size).take(count).enumerate() {
                if gathered.add(number, DeviceImage::new(image)) {
                    found.extend(gathered.look(&told, |number, image| (number, image.size())));
                    assert!(gathered.is_empty());
                }
            }
            found.extend(gathered.look(&told, |number, image| (number, image.size())));
            let expected: Vec<_> = (0..count).map(|number| (number, size as u64)).collect();
            assert_eq!(found, expected);
            let told = told.0.into_inner().unwrap();
            assert_eq!(told.first().map(|range| range.start), Some(100));
            assert_eq!(told.last().map(|range| range.end), Some(100 + count * size));
            assert_eq!(told.len(), times, "{count} of {size}");
        }
    }

    #[test]
    fn bytes_that_are_not_in_the_file_are_bounded() {
        let file = vec![7; 1 << 20];
        let mut gathered = Gathered::new(&file);
        let other = vec![7; 1 << 20];
        assert!(!gathered.add((), DeviceImage::new(&file)));
        let most = (1..100).find(|_| gathered.add((), DeviceImage::new(&other)));
        assert_eq!(most, Some(8));
        let told = Told::default();
        gathered.look(&told, |(), _| ());
        assert_eq!(
            told.0.into_inner().unwrap().as_slice(),
            std::slice::from_ref(&(0..file.len()))
        );
    }
}

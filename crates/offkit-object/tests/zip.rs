//! Zip files as Python and others write them.

#![cfg(feature = "default")]

mod common;
#[path = "common/tools.rs"]
mod tools;

use std::io::Write;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex};

use common::{limits, locations, offload_v1, read};
use offkit_object::{ContainerKind, ErrorKind, Item, Kept, Limits, Memory, Outside, Storage, walk_sparing};
use tools::{Folder, need};

/// Makes `file.zip` in Python, which has `device` and the names `z` (the open file) and `zipfile`.
fn zip(folder: &Folder, body: &str) -> Vec<u8> {
    folder.write("device", offload_v1());
    folder.write(
        "make.py",
        format!(
            "import zipfile, warnings\nwarnings.simplefilter('ignore')\ndevice = open('device', 'rb').read()\n\
             z = zipfile.ZipFile('file.zip', 'w', zipfile.ZIP_DEFLATED)\n{body}\nz.close()\n"
        ),
    );
    folder.run("python3 make.py");
    folder.read("file.zip")
}

#[test]
fn device_code_is_found_among_other_files() {
    need!("python3");
    let folder = Folder::new();
    let bytes = zip(
        &folder,
        "z.writestr('pkg/', '')\n\
         z.writestr('pkg/__init__.py', 'import os\\n' * 1000)\n\
         z.writestr('pkg/empty', '')\n\
         z.writestr('pkg/lib/code.bin', device)\n\
         z.writestr('pkg/stored.bin', device, compress_type=zipfile.ZIP_STORED)\n\
         z.writestr('pkg/kernel.ptx', '//\\n// banner\\n//\\n.version 8.0\\n' + 'x' * 5000)\n\
         z.writestr('pkg/data.npz', b'\\0' * 100000)\n\
         z.writestr('pkg/lib/code.bin', device)\n\
         z.comment = b'a comment'",
    );
    let contents = read(&bytes);
    assert_eq!(contents.container, ContainerKind::Zip);
    assert_eq!(contents.problems, []);
    assert_eq!(
        locations(&contents),
        [
            "file!pkg/lib/code.bin/0",
            "file!pkg/stored.bin/0",
            "file!pkg/kernel.ptx",
            "file!pkg/lib/code.bin#1/0"
        ]
    );
    assert_eq!(
        contents.images[0].bytes().unwrap(),
        contents.images[1].bytes().unwrap()
    );
    assert_eq!(contents.images[2].bytes().unwrap().len(), 5_000 + 29);
}

#[test]
fn a_member_is_passed_once_it_is_inflated() {
    need!("python3");
    let folder = Folder::new();
    // An offload binary, and behind it what does not compress: more than the decompressor is asked for at once.
    let bytes = zip(
        &folder,
        "import os\nz.writestr('small.bin', device)\nz.writestr('large.bin', device + os.urandom(12 << 20))",
    );
    struct Passed(Mutex<usize>, usize);
    impl Memory for Passed {
        fn passed(&self, range: Range<usize>) {
            assert!(range.start <= range.end && range.end <= self.1);
            *self.0.lock().unwrap() += range.len();
        }
    }
    let passed = Passed(Mutex::new(0), bytes.len());
    let mut before_the_image = 0;
    let _ = walk_sparing(&passed, "file", &bytes, None, &limits(), &mut |item| {
        if let Item::Image(image) = item
            && image.location.to_string().contains("large")
        {
            before_the_image = *passed.0.lock().unwrap();
        }
        ControlFlow::Continue(())
    });
    assert!(
        before_the_image > 12 << 20,
        "{before_the_image} of {}",
        bytes.len()
    );
}

/// A place outside of memory, in memory all the same; one that is full takes nothing.
struct Place {
    full: bool,
    used: Arc<Mutex<usize>>,
    bytes: Vec<u8>,
}

impl Memory for Place {
    fn has_outside(&self) -> bool {
        true
    }

    fn outside(&self) -> Option<Box<dyn Outside>> {
        Some(Box::new(Self {
            full: self.full,
            used: Arc::clone(&self.used),
            bytes: Vec::new(),
        }))
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.full {
            true => Err(std::io::ErrorKind::StorageFull.into()),
            false => self.bytes.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Outside for Place {
    fn finish(self: Box<Self>) -> std::io::Result<Box<dyn Kept>> {
        *self.used.lock().unwrap() += self.bytes.len();
        Ok(self)
    }
}

impl Kept for Place {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[test]
fn large_members_are_kept_outside_of_memory() {
    need!("python3");
    let folder = Folder::new();
    let large = 9 << 20;
    let bytes = zip(
        &folder,
        &format!(
            "import os\nz.writestr('small.bin', device)\nz.writestr('large.bin', device + os.urandom(200_000) + bytes({large}))"
        ),
    );
    let images = |memory: &dyn Memory, bytes: &[u8]| {
        let mut found = Vec::new();
        let _ = walk_sparing(memory, "file", bytes, None, &limits(), &mut |item| {
            match item {
                Item::Image(image) => {
                    let content = image.bytes().unwrap().to_vec();
                    found.push((image.location.to_string(), content, image.storage()));
                }
                Item::Problem(problem) => found.push((problem.to_string(), Vec::new(), Storage::Plain)),
                _ => {}
            }
            ControlFlow::Continue(())
        });
        found
    };
    let in_memory = images(&(), &bytes);
    assert!(in_memory.len() >= 2, "{in_memory:?}");
    for full in [false, true] {
        let used = Arc::new(Mutex::new(0));
        let place = Place {
            full,
            used: Arc::clone(&used),
            bytes: Vec::new(),
        };
        assert!(images(&place, &bytes) == in_memory);
        assert_eq!(
            *used.lock().unwrap() > large,
            !full,
            "and nothing of the small one"
        );
        // Damage is the same, too.
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged[middle..][..64].fill(0xff);
        assert!(images(&place, &damaged) == images(&(), &damaged));
    }
}

#[test]
fn zips_with_wide_numbers_are_read() {
    need!("python3");
    let folder = Folder::new();
    let bytes = zip(
        &folder,
        "f = z.open('wide.bin', 'w', force_zip64=True)\nf.write(device)\nf.close()\n\
         zipfile.ZIP64_LIMIT = 10\nzipfile.ZIP_FILECOUNT_LIMIT = 1\nz.writestr('b.bin', device)",
    );
    assert!(
        bytes.windows(4).any(|window| window == b"PK\x06\x06"),
        "has the wide directory"
    );
    let contents = read(&bytes);
    assert_eq!(contents.problems, []);
    assert_eq!(locations(&contents), ["file!wide.bin/0", "file!b.bin/0"]);
}

#[test]
fn what_cannot_be_read_is_named_and_hides_nothing() {
    need!("python3");
    let folder = Folder::new();
    let bytes = zip(
        &folder,
        "z.writestr('a.bin', device, compress_type=zipfile.ZIP_BZIP2)\n\
         z.writestr('b.bin', device)\n\
         z.writestr('c.bin', device)",
    );
    let mut encrypted = bytes.clone();
    // The flags of the last entry of the directory.
    let entry = bytes
        .windows(4)
        .rposition(|window| window == b"PK\x01\x02")
        .unwrap();
    encrypted[entry + 8] |= 1;
    let contents = read(&encrypted);
    assert_eq!(locations(&contents), ["file!b.bin/0"]);
    let kinds: Vec<_> = contents
        .problems
        .iter()
        .map(|problem| problem.error.kind())
        .collect();
    assert_eq!(kinds, [ErrorKind::Unsupported, ErrorKind::Unsupported]);
    assert_eq!(contents.problems[0].error.context(), Some("a.bin"));
    assert_eq!(contents.problems[1].error.context(), Some("c.bin"));
}

#[test]
fn members_are_not_replaced() {
    need!("python3");
    let folder = Folder::new();
    let bytes = zip(&folder, "z.writestr('pkg/a.ptx', '.version 8.0\\n')");
    let contents = read(&bytes);
    let error = offkit_object::replace(&bytes, &contents.images[0].location, b"new", &limits()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("zip"), "{error}");
}

#[test]
fn a_zip_in_a_zip_is_read() {
    need!("python3");
    let folder = Folder::new();
    let inner = zip(&folder, "z.writestr('in.bin', device)");
    folder.write("inner.zip", inner);
    let bytes = zip(
        &folder,
        "z.write('inner.zip')\nz.write('inner.zip', 'stored.zip', zipfile.ZIP_STORED)",
    );
    assert_eq!(
        locations(&read(&bytes)),
        ["file!inner.zip/in.bin/0", "file!stored.zip/in.bin/0"]
    );
}

#[test]
fn members_that_share_their_content_do_not_multiply() {
    need!("python3");
    let folder = Folder::new();
    let bytes = zip(
        &folder,
        "info = None\n\
         z.writestr('0', device + b'\\0' * 20_000_000)\n\
         first = z.filelist[0]\n\
         import copy\n\
         for number in range(1, 3000):\n\
         \x20   other = copy.copy(first)\n\
         \x20   other.filename = str(number)\n\
         \x20   z.filelist.append(other)\n\
         z._didModify = True",
    );
    let limits = Limits {
        max_inflation: 10,
        ..limits()
    };
    let contents = offkit_object::read("file", &bytes, &limits);
    assert!(contents.images.len() < 10, "{}", contents.images.len());
    assert!(
        contents
            .problems
            .iter()
            .any(|problem| problem.error.kind() == ErrorKind::LimitExceeded)
    );
}

#[test]
fn damaged_zips_are_read_as_far_as_they_go() {
    need!("python3");
    let folder = Folder::new();
    let bytes = zip(
        &folder,
        "z.writestr('a.bin', device)\nz.writestr('b.bin', device, compress_type=zipfile.ZIP_STORED)",
    );
    assert_eq!(read(&bytes).images.len(), 2);
    for length in 4..bytes.len() {
        let contents = read(&bytes[..length]);
        assert!(
            contents.images.is_empty() && !contents.problems.is_empty(),
            "cut to {length}"
        );
    }
    let mut changed = bytes.clone();
    for position in 0..changed.len() {
        for bit in 0..8 {
            changed[position] ^= 1 << bit;
            let contents = read(&changed);
            assert!(contents.images.len() <= 2, "{position:#x}.{bit}");
            changed[position] ^= 1 << bit;
        }
    }
}

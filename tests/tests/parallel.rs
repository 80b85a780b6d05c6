//! Programs with their kernels as lambdas: `include/offkit/parallel.hpp`, compiled and linked by one command, on the CPU
//! device and on an OpenCL driver.

use std::path::PathBuf;
use std::process::Command;

use offkit_tests::documentation::{blocks, examples};
use offkit_tests::drivers::{intel, pocl, with_drivers};
use offkit_tests::{Folder, Outcome, library, need, programs, root};

/// A source of `examples/parallel`.
fn example(name: &str) -> String {
    root().join("examples/parallel").join(name).display().to_string()
}

/// Makes a program of a source as the page says, `offkit c++ -fsycl app.cpp -o app`.
#[track_caller]
fn build(folder: &Folder, source: &str, program: &str) {
    let line = format!("c++ -fsycl -std=c++17 -O2 -Wall -Wextra -Wpedantic -Werror {source} -o {program}");
    folder.offkit(&line).ok();
}

/// Builds a program of `tests/parallel`, which checks itself, and runs it on each device.
#[track_caller]
fn check(name: &str, options: &str) {
    let folder = Folder::new();
    let source = root().join("tests/parallel").join(format!("{name}.cpp"));
    build(&folder, &format!("{} {options}", source.display()), name);
    for place in places() {
        assert_eq!(run_on(&place, &folder, name, "").ok(), "ok\n");
    }
}

/// A device, by its selector, and where the OpenCL drivers are that are seen beside it.
type Place = (&'static str, PathBuf);

/// The CPU device.
fn cpu() -> Place {
    ("offkit:*", PathBuf::from("/nowhere/"))
}

/// The device that checks every access.
fn checked() -> Place {
    ("offkit:1", PathBuf::from("/nowhere/"))
}

/// The CPU device, and, where there is one, an OpenCL driver with shared memory.
fn places() -> Vec<Place> {
    let opencl = intel().map(|drivers| ("opencl:*", drivers));
    [cpu()].into_iter().chain(opencl).collect()
}

/// Runs a program that sees only that device.
fn run_on((device, drivers): &Place, folder: &Folder, program: &str, arguments: &str) -> Outcome {
    let plugin = library("offkit_plugin_opencl");
    let mut command = Command::new(folder.path(program));
    command
        .args(arguments.split_whitespace())
        .env("OFFKIT_PLUGINS", plugin)
        .env("ONEAPI_DEVICE_SELECTOR", device)
        .env("XDG_CACHE_HOME", programs().join("test-cache"));
    folder.run_command(with_drivers(&mut command, &[("OCL_ICD_VENDORS", drivers)]))
}

#[test]
fn a_kernel_is_a_lambda_in_the_program_that_one_command_makes() {
    need!("clang++-22", "llc");
    let folder = Folder::new();
    build(&folder, &example("saxpy.cpp"), "saxpy");
    for place in places() {
        let said = run_on(&place, &folder, "saxpy", "").ok();
        assert!(said.ends_with("2.5 * 1023 + 1 = 2558.5\n"), "{said}");
    }
    let listing = folder.offkit("ls --json saxpy").json();
    assert_eq!(listing[0]["kernels"], serde_json::json!(["_ZTSZ4mainE5Saxpy"]));
}

#[test]
fn the_page_shows_a_program_that_works() {
    need!("clang++-22", "llc");
    let folder = Folder::new();
    let mut commands = 0;
    for (language, content) in blocks("docs/parallel.md") {
        if language == "cpp" {
            let name = content.lines().next().and_then(|line| line.strip_prefix("// "));
            folder.write(name.expect("a source says its name"), &content);
            continue;
        }
        for example in examples(&content) {
            example.check(&folder);
            commands += 1;
        }
    }
    assert_eq!(commands, 1);
}

#[test]
fn files_share_the_kernels_of_a_header() {
    need!("clang++-22", "llc");
    let folder = Folder::new();
    folder.write(
        "twice.hpp",
        "#include <offkit/parallel.hpp>
         inline int twice(offkit::parallel::queue &queue, int number) {
           int *result = offkit::parallel::malloc_shared<int>(1, queue);
           queue.single_task<class Twice>([=] { *result = number * 2; });
           queue.single_task([=] { *result += 1; });
           queue.wait();
           number = *result;
           offkit::parallel::free(result, queue);
           return number;
         }\n",
    );
    folder.write(
        "other.cpp",
        "#include \"twice.hpp\"\nint other(offkit::parallel::queue &queue) { return twice(queue, 4); }\n",
    );
    folder.write(
        "app.cpp",
        "#include \"twice.hpp\"
         #include <cstdio>
         int other(offkit::parallel::queue &queue);
         int main() {
           offkit::parallel::queue queue;
           std::printf(\"%d\\n\", 100 * twice(queue, 3) + other(queue));
         }\n",
    );
    build(&folder, "app.cpp other.cpp", "app");
    for place in places() {
        assert_eq!(run_on(&place, &folder, "app", "").ok(), "709\n");
    }
}

#[test]
fn work_items_know_where_they_are() {
    need!("clang++-22", "llc");
    check("spaces", "");
}

#[test]
fn memory_is_shared_in_every_way() {
    need!("clang++-22", "llc");
    check("memory", "");
}

#[test]
fn groups_combine_vote_and_shuffle() {
    need!("clang++-22", "llc");
    check("groups", "");
}

#[test]
fn reductions_have_one_result() {
    need!("clang++-22", "llc");
    check("reductions", "");
}

#[test]
fn kernels_compute_and_count_like_the_host() {
    need!("clang++-22", "llc");
    check("functions", "");
}

#[test]
fn devices_of_two_drivers_share_buffers() {
    need!("clang++-22", "llc");
    let Some(drivers) = intel() else { return };
    let folder = Folder::new();
    let source = root().join("tests/parallel/devices.cpp");
    build(&folder, &source.display().to_string(), "devices");
    let said = run_on(&("*:*", drivers), &folder, "devices", "");
    assert_eq!(said.ok(), "ok\n");
}

#[test]
fn a_kernel_that_fails_is_an_exception_with_its_line() {
    need!("clang++-22", "llc");
    let folder = Folder::new();
    let source = root().join("tests/parallel/fault.cpp");
    build(&folder, &format!("-g {}", source.display()), "fault");
    assert_eq!(run_on(&checked(), &folder, "fault", "").ok(), "ok\n");
}

#[test]
fn a_device_without_shared_memory_is_refused_by_its_name() {
    need!("clang++-22", "llc");
    let Some(drivers) = pocl() else { return };
    let folder = Folder::new();
    build(&folder, &example("saxpy.cpp"), "saxpy");
    let said = run_on(&("opencl:*", drivers), &folder, "saxpy", "").fails(1);
    assert!(
        said.contains("no device has what kernels need\ndevice `"),
        "{said}"
    );
    assert!(said.contains("` has no shared USM"), "{said}");
}

#[test]
fn bodies_keep_their_energy_and_momentum() {
    need!("clang++-22", "llc");
    let folder = Folder::new();
    build(&folder, &example("nbody.cpp"), "nbody");
    for place in places() {
        let said = run_on(&place, &folder, "nbody", "200 30").ok();
        // After how many steps, energy, and momentum.
        let numbers = |line: &str| -> Vec<f64> {
            let words = line.split([' ', ',', ':']);
            words.filter_map(|word| word.parse().ok()).collect()
        };
        let lines: Vec<_> = said.lines().collect();
        let (before, after) = (numbers(lines[1]), numbers(lines[2]));
        assert!(lines[0].starts_with("256 bodies on"), "{said}");
        assert_eq!((before[0], after[0]), (0.0, 30.0), "{said}");
        assert!(
            before[1] < -0.5 && (after[1] / before[1] - 1.0).abs() < 1e-3,
            "{said}"
        );
        for axis in 2..5 {
            assert!((after[axis] - before[axis]).abs() < 1e-5, "{said}");
        }
        // It moves, and everywhere in the same way.
        let first = numbers(lines[3]);
        for (moved, expected) in first.iter().zip([-0.477_5, -0.841_5, -0.205_9]) {
            assert!((moved - expected).abs() < 2e-3, "{said}");
        }
    }
}

#[test]
fn the_mandelbrot_set_is_a_png() {
    need!("clang++-22", "llc");
    let folder = Folder::new();
    build(&folder, &example("mandelbrot.cpp"), "mandelbrot");
    let (width, height) = (90, 60);
    for place in places() {
        run_on(&place, &folder, "mandelbrot", "set.png 90").ok();
        let rows = picture(&folder.read("set.png"), width, height);
        let pixel = |x: usize, y: usize| &rows[y * (1 + 3 * width) + 1 + 3 * x..][..3];
        let mut others = 0;
        for y in 0..height {
            assert_eq!(rows[y * (1 + 3 * width)], 0, "rows are not filtered");
            for x in 0..width {
                let expected = colour(steps(x as f32, y as f32, width as f32, height as f32));
                let is_near = |(a, b): (&u8, &u8)| a.abs_diff(*b) < 8;
                others += usize::from(!pixel(x, y).iter().zip(&expected).all(is_near));
                // The real axis is its mirror.
                assert_eq!(pixel(x, y), pixel(x, height - 1 - y));
            }
        }
        // Where it is chaotic, rounding decides.
        assert!(others <= width * height / 50, "{others} pixels are others");
        assert_eq!(pixel(60, 30), [0; 3], "zero is in the set");
    }
}

/// The picture as the example is to paint it.
fn steps(column: f32, row: f32, width: f32, height: f32) -> f32 {
    let pixel = 3.0 / width;
    let (re, im) = (pixel * (column + 0.5) - 2.0, pixel * (row + 0.5 - 0.5 * height));
    let (mut x, mut y) = (0.0_f32, 0.0_f32);
    for step in 0..200 {
        let (xx, yy) = (x * x, y * y);
        if xx + yy > 256.0 {
            return step as f32 + 4.0 - (xx + yy).log2().log2();
        }
        y = 2.0 * x * y + im;
        x = xx - yy + re;
    }
    200.0
}

fn colour(steps: f32) -> [u8; 3] {
    let wave = |shift: f32| (127.5 + 127.5 * (0.15 * steps + shift).cos()) as u8;
    match steps {
        200.0 => [0; 3],
        _ => [wave(3.1), wave(2.5), wave(1.9)],
    }
}

/// The rows of a PNG file of stored blocks, each with its filter's byte; everything around them is checked.
fn picture(file: &[u8], width: usize, height: usize) -> Vec<u8> {
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes[..4].try_into().expect("four bytes"));
    let crc = |bytes: &[u8]| {
        let bits = bytes.iter().fold(!0_u32, |rest, byte| {
            (0..8).fold(rest ^ u32::from(*byte), |rest, _| {
                (rest >> 1) ^ ((rest & 1) * 0xedb8_8320)
            })
        });
        !bits
    };
    let mut rest = file.strip_prefix(b"\x89PNG\r\n\x1a\n").expect("a PNG file");
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let length = number(rest) as usize;
        let (chunk, next) = rest.split_at(12 + length);
        assert_eq!(number(&chunk[8 + length..]), crc(&chunk[4..8 + length]));
        chunks.push((&chunk[4..8], &chunk[8..8 + length]));
        rest = next;
    }
    let [(b"IHDR", header), (b"IDAT", data), (b"IEND", [])] = chunks[..] else {
        panic!("{chunks:?}");
    };
    assert_eq!(
        (number(header) as usize, number(&header[4..]) as usize),
        (width, height)
    );
    assert_eq!(header[8..], [8, 2, 0, 0, 0]);
    let (zlib, checksum) = data.split_at(data.len() - 4);
    let (mut blocks, mut rows) = (&zlib[2..], Vec::new());
    while let [is_last, a, b, c, d, more @ ..] = blocks {
        let length = u16::from_le_bytes([*a, *b]);
        assert_eq!(!length, u16::from_le_bytes([*c, *d]));
        let (block, next) = more.split_at(length.into());
        assert_eq!(*is_last, u8::from(next.is_empty()));
        rows.extend(block);
        blocks = next;
    }
    let adler = rows.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65521;
        (low, (high + low) % 65521)
    });
    assert_eq!(number(checksum), (adler.1 << 16) | adler.0);
    assert_eq!(rows.len(), height * (1 + 3 * width));
    rows
}

//! What it costs to open a kernel bundle: `bundle [IMAGES]`
//!
//! For the first device that is found: `OFFKIT_PLUGINS=target/release/liboffkit_plugin_cpu.so` names offkit's own. The file
//! has so many images, 5000 if nothing is said, each of 4 KiB with a kernel, and every second with a function that the
//! next one needs. One line of JSON for each state, with the median of many times in seconds.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use offkit_image::target::triples;
use offkit_object::{BundleState, DeviceImage, Limits, OutputFormat, SyclBinVersion, Target, pack};
use offkit_pi::host::{Context, Device};
use offkit_runtime::{Executable, Input, KernelBundle, Object, Runtime, State};

const TIMES: usize = 21;
const SIZE: usize = 4 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let images = std::env::args().nth(1).map_or(Ok(5000), |count| count.parse())?;
    let device = Runtime::discover(&[]).device(None)?;
    measure::<Input>(images, &device)?;
    measure::<Object>(images, &device)?;
    measure::<Executable>(images, &device)
}

/// An image that differs from others by its number.
fn image(number: usize) -> DeviceImage<'static> {
    let mut code = format!("\x03\x02\x23\x07 number {number}").into_bytes();
    code.resize(SIZE, 0);
    let mut image = DeviceImage::new(code);
    image.target = Target::new(triples::SPIRV64, "");
    image.kernels = vec![format!("_ZTS6kernelILi{number}EE")];
    let function = vec![format!("_Z8function{}i", number / 2)];
    match number % 2 {
        0 => image.exports = function,
        _ => image.imports = function,
    }
    image
}

fn measure<S: State>(images: usize, device: &Device) -> Result<(), Box<dyn Error>> {
    let format = OutputFormat::SyclBin(SyclBinVersion::V1Enveloped);
    let file = pack((0..images).map(image).collect::<Vec<_>>(), format, S::STATE)?;
    let file = Arc::new(file.content.into_bytes());
    let context = Context::new(&[device])?;
    let devices = std::slice::from_ref(device);
    let limits = Limits::default();
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let begin = Instant::now();
        let bundle = KernelBundle::<S>::from_bytes(&context, devices, "bundle", file.clone(), &limits)?;
        times.push(begin.elapsed().as_secs_f64());
        assert_eq!(bundle.images().count(), images);
    }
    times.sort_by(f64::total_cmp);
    let (state, seconds) = (BundleState::name(S::STATE), times[TIMES / 2]);
    println!(r#"{{"images": {images}, "state": "{state}", "seconds": {seconds}}}"#);
    Ok(())
}

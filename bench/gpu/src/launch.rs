//! What a launch costs: an empty kernel, by the driver alone and through offkit's runtime and plugin.

use std::path::Path;
use std::time::Instant;

use offkit_object::Limits;
use offkit_pi::NdRange;
use offkit_pi::host::{Context, Device, Queue, QueueProperties};
use offkit_runtime::{ImageRegistry, Kernel};

use crate::Result;
use crate::bundle::Code;
use crate::driver::{Gpu, Shape};
use crate::throughput::median;

/// How many launches a sample has, and how many samples there are.
const LAUNCHES: u32 = 200;
const SAMPLES: usize = 101;

/// What was measured of one way to launch.
pub(crate) struct Launch {
    pub(crate) title: &'static str,
    /// Seconds of one launch.
    pub(crate) raw: f64,
    /// The same through offkit.
    pub(crate) offkit: f64,
    /// How many times longer offkit takes: the median over pairs of samples.
    pub(crate) ratio: f64,
    /// The most that will do.
    pub(crate) goal: Option<f64>,
}

/// A kernel of a file, built for a device by the runtime.
pub(crate) fn kernel(
    registry: &ImageRegistry,
    name: &str,
    context: &Context,
    device: &Device,
) -> Result<Kernel> {
    let found = registry.find_kernel(name, |_| true)?;
    let kernel = registry.select(&found, device)?;
    let collection = registry.collect(&kernel)?;
    Ok(registry.build(&collection, context, device)?)
}

/// Measures launches of `empty`.
pub(crate) fn measure(gpu: &Gpu, code: &Code, device: &Device) -> Result<Vec<Launch>> {
    let path = code.ptx("kernels")?;
    let module = gpu.load(&std::fs::read(&path)?)?;
    let function = module.function("empty")?;
    let context = Context::new(&[device])?;
    let queue = context.queue(device, QueueProperties::default())?;
    let registry = ImageRegistry::new();
    open(&registry, &path)?;
    let mut kernel = kernel(&registry, "empty", &context, device)?;
    let shape = Shape {
        blocks: [1; 3],
        threads: [1; 3],
        shared: 0,
    };
    let launch = |kernel: &mut Kernel| -> Result<()> {
        kernel.launch(&queue, &NdRange::new([1]).with_local([1]), &[], &[])?;
        Ok(())
    };
    let mut raw = || gpu.launch(function, shape, &mut []);
    Ok(vec![
        compare(
            "an empty kernel, launched and finished",
            Some(1.1),
            || raw().and_then(|()| gpu.finish()),
            || launch(&mut kernel).and_then(|()| finish(&queue)),
            || Ok(()),
        )?,
        compare(
            "an empty kernel, one of 200 in a row",
            None,
            &mut raw,
            || launch(&mut kernel),
            || gpu.finish().and_then(|()| finish(&queue)),
        )?,
    ])
}

fn finish(queue: &Queue) -> Result<()> {
    Ok(queue.finish()?)
}

/// Has a registry know the images of a file.
pub(crate) fn open(registry: &ImageRegistry, path: &Path) -> Result<offkit_runtime::LibraryId> {
    let opened = registry.open(path, &Limits::default());
    let opened = opened.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(opened.library)
}

/// Takes samples of two ways in turn; `settle` waits for what a sample left.
fn compare(
    title: &'static str,
    goal: Option<f64>,
    mut raw: impl FnMut() -> Result<()>,
    mut offkit: impl FnMut() -> Result<()>,
    mut settle: impl FnMut() -> Result<()>,
) -> Result<Launch> {
    let mut sample = |call: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
        let began = Instant::now();
        for _ in 0..LAUNCHES {
            call()?;
        }
        let taken = began.elapsed().as_secs_f64() / f64::from(LAUNCHES);
        settle()?;
        Ok(taken)
    };
    sample(&mut raw)?;
    sample(&mut offkit)?;
    let mut pairs = Vec::new();
    for round in 0..SAMPLES {
        // Each is first every other time.
        let pair = match round % 2 {
            0 => {
                let own = sample(&mut offkit)?;
                (sample(&mut raw)?, own)
            }
            _ => (sample(&mut raw)?, sample(&mut offkit)?),
        };
        pairs.push(pair);
    }
    Ok(Launch {
        title,
        raw: median(pairs.iter().map(|(raw, _)| *raw).collect()),
        offkit: median(pairs.iter().map(|(_, own)| *own).collect()),
        ratio: median(pairs.iter().map(|(raw, own)| own / raw).collect()),
        goal,
    })
}

//! PTX and machine code that programs are made of.

use offkit_image::InspectedKernel;
use offkit_object::{Inspect, Limits, read};
use std::collections::HashMap;

/// The code of a program. The adapters for CUDA up to 2025.3 and those for HIP keep its address, and make no copy.
pub(crate) struct MachineCode {
    /// With a NUL behind it, as NVIDIA's driver wants PTX.
    bytes: Vec<u8>,
    /// The arguments of each kernel, as far as the code says.
    arguments: HashMap<String, Arguments>,
}

/// What code says of a kernel's arguments.
#[derive(Clone)]
pub(super) struct Arguments {
    pub(super) count: u32,
    /// How many bytes each has; none where only their number is known.
    pub(super) sizes: Vec<usize>,
}

impl Arguments {
    fn of(kernel: &InspectedKernel) -> Option<Arguments> {
        Some(Arguments {
            count: kernel.argument_count()?.try_into().ok()?,
            sizes: kernel.argument_sizes().unwrap_or_default(),
        })
    }
}

impl MachineCode {
    /// A copy. Adapters that take SPIR-V know what arguments kernels take, so that `tells` decides whether the code is read for
    /// that.
    pub(super) fn new(code: &[u8], tells: bool) -> MachineCode {
        let mut bytes = Vec::with_capacity(code.len() + 1);
        bytes.extend_from_slice(code);
        bytes.push(0);
        MachineCode {
            bytes,
            arguments: if tells { arguments(code) } else { HashMap::new() },
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // The NUL, which is always there, does not count: cubins and code objects have none.
        &self.bytes[..self.bytes.len() - 1]
    }

    pub(super) fn arguments(&self, kernel: &str) -> Option<&Arguments> {
        self.arguments.get(kernel)
    }
}

fn arguments(code: &[u8]) -> HashMap<String, Arguments> {
    // Code that cannot be read tells nothing here; it is for the driver to refuse.
    let limits = Limits::default();
    let images = read("", code, &limits).images;
    let inspected: Vec<_> = images.iter().map(|image| image.inspect(&limits)).collect();
    let kernels = inspected.iter().flat_map(|inspection| &inspection.kernels);
    let told = kernels.filter_map(|kernel| Some((kernel.name.clone(), Arguments::of(kernel)?)));
    told.collect()
}

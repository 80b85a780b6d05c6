//! SPIR-V for GPUs whose drivers take none: it is linked as SPIR-V, and each image is then compiled for the processor.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use offkit_llvm::{DeviceRequest, WorkerError};
use offkit_object::property_set::names;
use offkit_object::{DeviceImage, ImageFormat, Inspect, Limits, Target};

use super::error::LinkError;
use super::join::Part;
use super::target_link::native_properties;
use super::{DeviceLink, Llvm, generate, lld, write_kept};
use offkit_devlib::code::Module;

/// What is linked for a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// What is linked.
    pub(super) target: Target,
    /// What the result is then compiled for.
    pub(super) compiled_for: Option<Target>,
}

impl From<Target> for Route {
    fn from(target: Target) -> Self {
        Self {
            target,
            compiled_for: None,
        }
    }
}

impl Route {
    /// How modules become code for a target: by way of SPIR-V where they have nothing that is nearer to it. `None` if they
    /// don't.
    pub(super) fn to(target: &Target, modules: &[Module<'_>]) -> Option<Self> {
        if modules.iter().any(|module| target.fits(&module.image.target)) {
            return Some(target.clone().into());
        }
        let spirv = modules
            .iter()
            .find(|module| Self::may_lead(&module.image.target, target))?;
        Some(Self {
            target: spirv.image.target.clone(),
            compiled_for: Some(target.clone()),
        })
    }

    /// Whether code can become code for a target by way of SPIR-V.
    pub(super) fn may_lead(code: &Target, target: &Target) -> bool {
        // These GPUs have addresses of 64 bits, which the sizes of types in the code depend on.
        code.family() == offkit_image::Family::Spirv64 && target.family().is_compiled_from_spirv()
    }

    /// What the user asked for.
    pub(super) fn asked(&self) -> &Target {
        self.compiled_for.as_ref().unwrap_or(&self.target)
    }
}

/// Compiles images for a target. What is kept goes to a folder, by the number of the image: LLVM IR and code.
pub(super) fn compile(
    options: &DeviceLink<'_>,
    parts: Vec<Part>,
    target: &Target,
    keep: Option<PathBuf>,
    (llvm, notes): (&mut Llvm<'_>, &mut Vec<String>),
) -> Result<Vec<Part>, LinkError> {
    if target.family().needs_processor() && target.processor().is_empty() {
        return Err(LinkError::NoProcessor {
            triple: target.triple.to_string(),
            example: target.family().example(),
        });
    }
    let has_kernels = |part: &Part| !part.symbols.kernels.is_empty();
    if !parts.iter().any(has_kernels) {
        return Err(LinkError::NothingToLink {
            inputs: parts.into_iter().map(|part| part.label).collect(),
        });
    }
    // What is there for other images is part of those that are compiled.
    let parts = parts.into_iter().filter(has_kernels);
    let made = parts.enumerate().map(|(number, part)| {
        let keep = keep.as_ref().map(|folder| folder.join(number.to_string()));
        compile_part(options, part, target, keep.as_deref(), (llvm, notes))
    });
    made.collect()
}

fn compile_part(
    options: &DeviceLink<'_>,
    part: Part,
    target: &Target,
    keep: Option<&Path>,
    (llvm, notes): (&mut Llvm<'_>, &mut Vec<String>),
) -> Result<Part, LinkError> {
    if part.image.format != ImageFormat::Spirv {
        return Err(LinkError::Format {
            label: part.label,
            what: part.image.format.name(),
        });
    }
    // All kernels, with the default values of constants: what a program will want is not known yet.
    let request = DeviceRequest {
        kernels: Vec::new(),
        specialization: BTreeMap::new(),
        triple: target.triple.to_string(),
        processor: target.processor().to_owned(),
        features: target.llvm_features().collect::<Vec<_>>().join(","),
        optimization: options.optimization,
        with_text: keep.is_some(),
    };
    let compiled = llvm.worker()?.compile_for_device(part.bytes(), request, None);
    let compiled = compiled.map_err(|error| match error {
        WorkerError::Failed { message } => LinkError::NotCompiled {
            label: part.label.clone(),
            message,
        },
        error => error.into(),
    })?;
    let (code, format, extension) = match generate::linker_kind(options, target) {
        None => (compiled.code, ImageFormat::Ptx, "ptx"),
        Some(kind) => {
            let folder = tempfile::tempdir()?;
            let [object, output] = ["0.o", "0.out"].map(|name| folder.path().join(name));
            fs::write(&object, &compiled.code)?;
            lld::link(
                &[object],
                &output,
                kind,
                &options.linker_arguments,
                &target.triple,
            )?;
            (fs::read(output)?, ImageFormat::Amdgpu, "out")
        }
    };
    if let Some(path) = keep {
        write_kept(path.with_extension("ll"), &compiled.text)?;
        write_kept(path.with_extension(extension), &code)?;
    }
    let mut image = DeviceImage::of_format(code, format);
    image.target = target.clone();
    image.producer = part.image.producer;
    let mut made = Part::new(part.label, image);
    made.is_generated = true;
    made.symbols = made.image.symbols(&Limits::default());
    // Not their second entries, for launches whose ids begin elsewhere.
    made.symbols.kernels = compiled.kernels.into_iter().map(|kernel| kernel.name).collect();
    let mut properties = native_properties(&made.symbols);
    for (name, set) in part.image.properties.iter() {
        match name {
            names::SPECIALIZATION_CONSTANTS => notes.push(format!(
                "specialization constants of {} have their default values in its code for {target}: a runtime can't \
                 change them there",
                made.label,
            )),
            names::KERNEL_NAMES | names::EXPORTED_SYMBOLS | names::IMPORTED_SYMBOLS => {}
            _ => *properties.set_mut(name) = set.clone(),
        }
    }
    made.image.properties = properties;
    Ok(made)
}

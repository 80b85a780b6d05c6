//! What is linked as what a runtime takes: images of one language in one container or one object.

use std::path::{Path, PathBuf};

use offkit_image::target::{Family, amd, triples};
use offkit_link::wrap::{Wrap, WrapKind};
use offkit_object::host::intel_openmp_elf;
use offkit_object::{
    ContainerKind, DeviceImage, ImageFormat, ImageKind, Limits, OffloadBinary, OffloadBinaryVersion,
    OffloadEntry, OffloadKind, Target, header_target, read,
};

use super::commands::Commands;
use super::device_link::LinkedImage;
use super::options::Options;
use super::{file_name, say};
use crate::image_description::offload_kind;

/// Makes containers and objects.
pub(super) struct Bundler<'a> {
    pub(super) options: &'a Options,
    pub(super) commands: &'a Commands,
    pub(super) executable: &'a str,
    pub(super) host: &'a str,
}

/// An image of one language.
struct Image {
    target: Target,
    file: PathBuf,
    bytes: Vec<u8>,
}

impl Bundler<'_> {
    /// The objects that register the images, one for each language; none if containers are all that is wanted.
    pub(super) fn bundle(&self, linked: Vec<LinkedImage>) -> Result<Vec<PathBuf>, String> {
        let mut kinds: Vec<(OffloadKind, Vec<Image>)> = Vec::new();
        for (kind, image) in self.overrides()? {
            add(&mut kinds, kind, image);
        }
        for linked in linked {
            // Most code is for one language only.
            let Some((last, others)) = linked.kinds.split_last() else {
                continue;
            };
            for kind in others {
                let image = Image {
                    target: linked.target.clone(),
                    file: linked.file.clone(),
                    bytes: linked.bytes.clone(),
                };
                add(&mut kinds, *kind, image);
            }
            let image = Image {
                target: linked.target,
                file: linked.file,
                bytes: linked.bytes,
            };
            add(&mut kinds, *last, image);
        }
        let mut objects = Vec::new();
        for (kind, mut images) in kinds {
            images.sort_by(|a, b| b.target.cmp(&a.target));
            let bundled = self.container(kind, images)?;
            if self.options.fatbin_only {
                self.write_container(kind, &bundled)?;
            } else {
                objects.push(self.object(kind, bundled)?);
            }
        }
        Ok(objects)
    }

    /// The files that are used instead of what would be linked.
    fn overrides(&self) -> Result<Vec<(OffloadKind, Image)>, String> {
        let mut images = Vec::new();
        for (kind, file) in &self.options.overrides {
            let kind = offload_kind(kind)
                .filter(|kind| *kind != OffloadKind::None)
                .ok_or_else(|| format!("'{kind}': no such offload kind"))?;
            let bytes = std::fs::read(file).map_err(|error| format!("'{}': {error}", file.display()))?;
            if !bytes.starts_with(b"\x7fELF") {
                return Err(format!("'{}': not an ELF file", file.display()));
            }
            let image = Image {
                target: header_target(&bytes, ImageFormat::detect(&bytes)),
                file: file.clone(),
                bytes,
            };
            images.push((kind, image));
        }
        Ok(images)
    }

    /// The images as their runtime wants them: CUDA's and HIP's in one container.
    fn container(&self, kind: OffloadKind, images: Vec<Image>) -> Result<Vec<Image>, String> {
        let file = match kind {
            OffloadKind::Cuda => self.fatbinary(&images)?,
            OffloadKind::Hip => self.bundle_of_hip(&images)?,
            OffloadKind::OpenMp => return images.into_iter().map(|image| self.for_openmp(image)).collect(),
            _ => return Ok(images),
        };
        Ok(vec![Image {
            target: Target::default(),
            bytes: self.commands.read(&file)?,
            file,
        }])
    }

    /// Intel's runtime does not take SPIR-V as it is.
    fn for_openmp(&self, mut image: Image) -> Result<Image, String> {
        let target = &image.target;
        if target.family().is_spirv() && target.parts().vendor() == "intel" && !self.commands.is_dry() {
            image.bytes = intel_openmp_elf(&image.bytes).map_err(|error| error.to_string())?;
        }
        Ok(image)
    }

    fn fatbinary(&self, images: &[Image]) -> Result<PathBuf, String> {
        let folders: Vec<_> = self
            .options
            .cuda_path
            .iter()
            .map(|path| path.join("bin"))
            .collect();
        let program = self.commands.find("fatbinary", &folders)?;
        let output = self.commands.file(&file_name(self.executable), "fatbin")?;
        let is_64 = match Family::of(self.host) {
            Family::Host(cpu) => cpu.is_64(),
            _ => true,
        };
        let mut arguments = vec![
            if is_64 { "-64".into() } else { "-32".into() },
            "--create".into(),
            output.clone().into_os_string(),
        ];
        for image in images {
            let number = image.target.processor_number();
            arguments.push(format!("--image3=kind=elf,sm={number},file={}", image.file.display()).into());
        }
        self.commands.run(&program, &arguments)?;
        Ok(output)
    }

    fn bundle_of_hip(&self, images: &[Image]) -> Result<PathBuf, String> {
        let program = self.commands.find("clang-offload-bundler", &[]);
        // Without the program, this one stands for it.
        let (program, mut arguments) = match program {
            Ok(program) => (program, Vec::new()),
            Err(error) => {
                let own = std::env::current_exe().map_err(|_| error)?;
                (
                    own.into_os_string(),
                    vec!["as".into(), "clang-offload-bundler".into()],
                )
            }
        };
        let output = self.commands.file(&file_name(self.executable), "hipfb")?;
        arguments.extend(["-type=o".into(), "-bundle-align=4096".into()]);
        if self.options.compress {
            arguments.push("-compress".into());
        }
        if let Some(level) = &self.options.compression_level {
            arguments.push(format!("-compression-level={level}").into());
        }
        let mut targets = String::from("-targets=host-x86_64-unknown-linux-gnu");
        for image in images {
            let triple = match image.target.arch.as_str() {
                amd::SPIRV_PROCESSOR => triples::SPIRV64_AMD,
                _ => triples::AMDHSA,
            };
            targets.push_str(&format!(",hip-{triple}--{}", image.target.arch_with_features()));
        }
        arguments.push(targets.into());
        arguments.push(
            if cfg!(windows) {
                "-input=NUL"
            } else {
                "-input=/dev/null"
            }
            .into(),
        );
        for image in images {
            arguments.push(format!("-input={}", image.file.display()).into());
        }
        arguments.push(format!("-output={}", output.display()).into());
        self.commands.run(&program, &arguments)?;
        Ok(output)
    }

    /// Writes the only container in the place of the program.
    fn write_container(&self, kind: OffloadKind, images: &[Image]) -> Result<(), String> {
        let [image] = images else {
            return Err("Expected a single bundled image for direct fat binary output".into());
        };
        if self.commands.is_dry() {
            return Ok(());
        }
        let written = match kind {
            OffloadKind::OpenMp => {
                let mut entry = OffloadEntry::new(self.image_kind(), kind, &image.bytes);
                entry.strings.set("triple", image.target.triple.as_str());
                entry.strings.set("arch", image.target.arch_with_features());
                &OffloadBinary::from(entry)
                    .write(OffloadBinaryVersion::V1)
                    .map_err(|error| error.to_string())?
            }
            _ => &image.bytes,
        };
        crate::write(Path::new(self.executable), &[written]).map_err(|error| offkit_host::chain(&error))
    }

    fn image_kind(&self) -> ImageKind {
        if self.options.embed_bitcode {
            ImageKind::Bitcode
        } else {
            ImageKind::Object
        }
    }

    /// An object that registers the images.
    fn object(&self, kind: OffloadKind, images: Vec<Image>) -> Result<PathBuf, String> {
        let kind_name = kind.producer(ImageKind::None).name();
        let name = format!("{}.{kind_name}.image.wrapper", file_name(self.executable));
        let path = self.commands.file(&name, "o")?;
        if self.commands.is_dry() {
            return Ok(path);
        }
        let wrap_kind = match kind {
            OffloadKind::OpenMp => WrapKind::OpenMp,
            OffloadKind::Cuda => WrapKind::Cuda,
            OffloadKind::Hip => WrapKind::Hip,
            OffloadKind::Sycl => self.sycl_kind()?,
            other => return Err(format!("{other:?} wrapping is not supported")),
        };
        let mut wrap = Wrap::new(wrap_kind);
        self.host.clone_into(&mut wrap.host_triple);
        wrap.relocatable = self.options.relocatable;
        let mut described = Vec::new();
        for image in &images {
            described.extend(describe(kind, image)?);
        }
        let object = wrap.run(described).map_err(|error| error.to_string())?;
        self.commands.write(&path, &object)?;
        Ok(path)
    }

    fn sycl_kind(&self) -> Result<WrapKind, String> {
        match &self.options.sycl_images {
            None => Ok(WrapKind::SyclLlvm),
            Some(name) => name
                .parse()
                .map_err(|error| format!("--sycl-images={name}: {error}")),
        }
    }
}

fn add(kinds: &mut Vec<(OffloadKind, Vec<Image>)>, kind: OffloadKind, image: Image) {
    match kinds.iter_mut().find(|(other, _)| *other == kind) {
        Some((_, images)) => images.push(image),
        None => kinds.push((kind, vec![image])),
    }
}

/// The images of a file. SYCL's linker packs what it makes into offload binaries; else the file is the image.
fn describe(kind: OffloadKind, image: &Image) -> Result<Vec<DeviceImage<'_>>, String> {
    if kind == OffloadKind::Sycl {
        let contents = read(&image.file.to_string_lossy(), &image.bytes, &Limits::default());
        if let Some(problem) = contents.problems.first() {
            return Err(problem.to_string());
        }
        if contents.container == ContainerKind::OffloadBinary {
            return Ok(contents.images);
        }
        say("warning: SYCL's device linker wrote no offload binary");
    }
    let mut described = DeviceImage::new(image.bytes.as_slice());
    described.target = image.target.clone();
    Ok(vec![described])
}

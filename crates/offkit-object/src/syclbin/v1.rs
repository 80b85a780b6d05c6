//! Version 1: headers, a table of property-set texts, a table of images.

use offkit_image::property_set::PropertySets;
use offkit_image::{BundleState, Bytes, Error, ErrorKind};
use zerocopy::IntoBytes;

use super::raw::{AbstractModuleHeader, FileHeader, ImageHeader, Indices, Range};
use super::{AbstractModule, IrModule, NativeImage, SyclBin, metadata};
use crate::chunks::Chunks;
use crate::layout::align_to_8;
use crate::offload_binary::SYCLBIN_MAGIC;
use crate::reading::Reading;
use crate::source::Source;

/// What the reference reader says whenever something lies outside of the file.
const OUT_OF_BOUNDS: &str = "Unexpected file contents size";

/// The parts of a file, found but not looked into.
pub(crate) struct File<'data> {
    /// Where the headers of the abstract modules begin, from the start of the file.
    abstract_modules_at: u64,
    pub(crate) abstract_modules: &'data [AbstractModuleHeader],
    pub(crate) ir_modules: &'data [ImageHeader],
    pub(crate) native_images: &'data [ImageHeader],
    pub(crate) metadata: Source<'data>,
    pub(crate) images: Source<'data>,
}

/// The metadata of an IR module, and what it says: nearly always the next module's says the same.
struct IrText<'data> {
    text: &'data [u8],
    module: IrModule<'static>,
}

/// The header of a file, checked.
pub(crate) fn read_header(source: Source<'_>) -> Result<&FileHeader, Error> {
    let header: &FileHeader = source.record(0).ok_or_else(|| {
        Error::new(ErrorKind::OutOfBounds, OUT_OF_BOUNDS)
            .at(source.at(0))
            .field("file header")
            .expecting(format!("at least {:#x} bytes", size_of::<FileHeader>()))
            .finding(format_args!("{:#x}", source.len()))
    })?;
    if header.magic.get() != SYCLBIN_MAGIC {
        return Err(
            Error::new(ErrorKind::NotRecognized, "Incorrect SYCLBIN magic number")
                .at(source.at(0))
                .expecting(format!("{SYCLBIN_MAGIC:#x}"))
                .finding(format_args!("{:#x}", header.magic.get())),
        );
    }
    if header.version.get() != 1 {
        return Err(Error::unsupported(format!(
            "Unsupported legacy SYCLBIN version {}",
            header.version.get()
        ))
        .at(source.at(4))
        .expecting("1"));
    }
    Ok(header)
}

pub(super) fn read<'data>(source: Source<'data>, reading: &mut Reading) -> Result<SyclBin<'data>, Error> {
    let header = read_header(source)?;
    let file = find_parts(source, header, reading)?;
    let (state, properties) = file.read_global(header, reading)?;
    let mut program = SyclBin {
        state,
        properties,
        modules: Vec::new(),
    };
    let mut last = None;
    for (index, module_header) in file.abstract_modules.iter().enumerate() {
        // An abstract module without images costs memory too.
        let counted = reading.count_image();
        if reading.accept(counted)?.is_none() {
            break;
        }
        let module = file.read_module(index, module_header, &mut last, reading)?;
        program.modules.push(module);
    }
    Ok(program)
}

pub(crate) fn find_parts<'data>(
    source: Source<'data>,
    header: &FileHeader,
    reading: &mut Reading,
) -> Result<File<'data>, Error> {
    let [modules, irs, natives] = [
        &header.abstract_module_count,
        &header.ir_module_count,
        &header.native_image_count,
    ]
    .map(|count| u64::from(count.get()));
    // Each list must be there as a whole, even for a tolerant reading: where the tables begin
    // follows from the sizes of all of them.
    let mut offset = size_of::<FileHeader>() as u64;
    let mut list = |count: u64, size: usize, field: &'static str| {
        let bytes = count.saturating_mul(size as u64);
        let start = offset;
        offset = offset.saturating_add(bytes);
        source.need(start, bytes, OUT_OF_BOUNDS, field).map(|_| start)
    };
    let modules_at = list(
        modules,
        size_of::<AbstractModuleHeader>(),
        "abstract module headers",
    )?;
    let irs_at = list(irs, size_of::<ImageHeader>(), "IR module headers")?;
    let natives_at = list(natives, size_of::<ImageHeader>(), "native image headers")?;

    // A table that was cut off still has its beginning.
    let mut table = |offset: u64, size: u64, field| {
        let table = source.need(offset, size, OUT_OF_BOUNDS, field);
        Ok(reading.accept(table)?.unwrap_or_else(|| source.from(offset)))
    };
    let metadata_size = header.metadata_table_size.get();
    // The file states sizes and no places: the table of images follows at the next multiple of 8.
    let images_at = offset.saturating_add(align_to_8(metadata_size));
    Ok(File {
        abstract_modules: source.records(modules_at, modules).unwrap_or_default(),
        abstract_modules_at: source.at(modules_at),
        ir_modules: source.records(irs_at, irs).unwrap_or_default(),
        native_images: source.records(natives_at, natives).unwrap_or_default(),
        metadata: table(offset, metadata_size, "metadata byte table")?,
        images: table(images_at, header.binary_table_size.get(), "binary byte table")?,
    })
}

impl<'data> File<'data> {
    /// The state and the global properties.
    pub(super) fn read_global(
        &self,
        header: &FileHeader,
        reading: &mut Reading,
    ) -> Result<(BundleState, PropertySets), Error> {
        let global = self
            .metadata(&header.global_metadata)
            .and_then(|text| metadata::read_global(text, reading));
        let global = reading.accept(global.map_err(|error| error.within("global metadata")))?;
        Ok(global.unwrap_or((BundleState::Input, PropertySets::new())))
    }

    fn metadata(&self, range: &Range) -> Result<Source<'data>, Error> {
        self.metadata
            .need(range.offset.get(), range.size.get(), OUT_OF_BOUNDS, "metadata")
    }

    pub(super) fn image(&self, range: &Range) -> Result<Source<'data>, Error> {
        self.images
            .need(range.offset.get(), range.size.get(), OUT_OF_BOUNDS, "bytes")
    }

    fn read_module(
        &self,
        index: usize,
        header: &AbstractModuleHeader,
        last: &mut Option<IrText<'data>>,
        reading: &mut Reading,
    ) -> Result<AbstractModule<'data>, Error> {
        let within = |error: Error| error.within(format!("abstract module {index}"));
        let properties = self
            .metadata(&header.metadata)
            .and_then(|text| metadata::read_module(text, reading));
        let mut module = AbstractModule {
            properties: reading.accept(properties.map_err(within))?.unwrap_or_default(),
            ..AbstractModule::default()
        };
        let header_at = (index as u64)
            .saturating_mul(size_of::<AbstractModuleHeader>() as u64)
            .saturating_add(self.abstract_modules_at);
        let irs = select(self.ir_modules, &header.ir_modules)
            .map_err(|error| within(error.within("IR modules").or_at(header_at)));
        for (number, image) in reading.accept(irs)?.unwrap_or_default().iter().enumerate() {
            let ir = self
                .read_ir(image, last, reading)
                .map_err(|error| within(error.within(format!("IR module {number}"))));
            match reading.accept(ir)? {
                Some(ir) => module.ir_modules.push(ir),
                None if reading.is_exhausted() => break,
                None => {}
            }
        }
        let natives = select(self.native_images, &header.native_images)
            .map_err(|error| within(error.within("native images").or_at(header_at)));
        for (number, image) in reading.accept(natives)?.unwrap_or_default().iter().enumerate() {
            let native = self
                .read_native(image, reading)
                .map_err(|error| within(error.within(format!("native image {number}"))));
            match reading.accept(native)? {
                Some(native) => module.native_images.push(native),
                None if reading.is_exhausted() => break,
                None => {}
            }
        }
        Ok(module)
    }

    fn read_ir(
        &self,
        header: &ImageHeader,
        last: &mut Option<IrText<'data>>,
        reading: &mut Reading,
    ) -> Result<IrModule<'data>, Error> {
        reading.count_image()?;
        let text = self.metadata(&header.metadata)?;
        let module = match last {
            Some(last) if last.text == text.bytes() => {
                // The properties are shared, the target is not.
                let counted = reading.count_metadata(text.len());
                counted.map_err(|error| error.at(text.at(0)))?;
                last.module.clone()
            }
            _ => {
                let module = metadata::read_ir(text, reading)?;
                // What is wrong with a text is said of every module that has it.
                *last = (!reading.has_problems()).then(|| IrText {
                    text: text.bytes(),
                    module: module.clone(),
                });
                module
            }
        };
        Ok(IrModule {
            bytes: self.image(&header.bytes)?.bytes().into(),
            ..module
        })
    }

    fn read_native(&self, header: &ImageHeader, reading: &mut Reading) -> Result<NativeImage<'data>, Error> {
        reading.count_image()?;
        let image = metadata::read_native(self.metadata(&header.metadata)?, reading)?;
        Ok(NativeImage {
            bytes: self.image(&header.bytes)?.bytes().into(),
            ..image
        })
    }
}

/// Where the file header has the size of the table of images.
pub(super) const BINARY_TABLE_SIZE_AT: u64 = 32;
/// Where an image header has the offset and the size of the image.
pub(super) const OFFSET_AT: u64 = 16;
pub(super) const SIZE_AT: u64 = 24;

/// Where, from the start of the file, the header of an image is, all IR modules before all native images.
pub(super) fn image_header_at(file: &File<'_>, source: Source<'_>, number: usize) -> u64 {
    let modules = file
        .abstract_modules
        .len()
        .saturating_mul(size_of::<AbstractModuleHeader>());
    let images = number.saturating_mul(size_of::<ImageHeader>());
    file.abstract_modules_at
        .saturating_sub(source.at(0))
        .saturating_add(modules.saturating_add(images) as u64)
}

/// The number of the header of image `id`, which counts over the abstract modules.
pub(super) fn image_header(file: &File<'_>, id: usize) -> Result<Option<usize>, Error> {
    // Images are numbered as modules name them, which need not be the order of their headers.
    let mut left = id;
    for module in file.abstract_modules {
        let lists = [
            (file.ir_modules, &module.ir_modules, 0),
            (file.native_images, &module.native_images, file.ir_modules.len()),
        ];
        for (headers, indices, before) in lists {
            let count = select(headers, indices)?.len();
            if left < count {
                let first = usize::try_from(indices.first.get()).unwrap_or_default();
                return Ok(Some(before.saturating_add(first).saturating_add(left)));
            }
            left = left.saturating_sub(count);
        }
    }
    Ok(None)
}

/// The image headers that belong to an abstract module.
fn select<'data>(headers: &'data [ImageHeader], indices: &Indices) -> Result<&'data [ImageHeader], Error> {
    let first = indices.first.get();
    let count = indices.count.get();
    let range = || {
        let start = usize::try_from(first).ok()?;
        headers.get(start..start.checked_add(usize::try_from(count).ok()?)?)
    };
    range().ok_or_else(|| {
        Error::new(ErrorKind::OutOfBounds, OUT_OF_BOUNDS)
            .expecting(format!("indices below {}", headers.len()))
            .finding(format_args!("{count} from {first}"))
    })
}

/// Collects the table of texts and hands out the ranges in it.
#[derive(Default)]
struct Table {
    bytes: Vec<u8>,
}

impl Table {
    fn add(&mut self, bytes: &[u8]) -> Range {
        let range = Range {
            offset: (self.bytes.len() as u64).into(),
            size: (bytes.len() as u64).into(),
        };
        self.bytes.extend_from_slice(bytes);
        range
    }
}

/// Adds an image to the table.
fn add<'data>(table: &mut Chunks<'data>, image: Bytes<'data>) -> Range {
    let range = Range {
        offset: table.len().into(),
        size: (image.len() as u64).into(),
    };
    table.push(image);
    range
}

pub(super) fn write<'data>(program: &SyclBin<'data>) -> Result<Chunks<'data>, Error> {
    let irs = || program.modules.iter().flat_map(|module| &module.ir_modules);
    let natives = || program.modules.iter().flat_map(|module| &module.native_images);

    // The order of the tables is the reference writer's: global, abstract modules, IR modules, native images.
    let mut metadata_table = Table::default();
    let global_metadata = metadata_table.add(metadata::write_global(program)?.as_bytes());
    let mut headers = Vec::new();
    let mut first_ir = 0;
    let mut first_native = 0;
    for (index, module) in program.modules.iter().enumerate() {
        let text = metadata::write_module(module)
            .map_err(|error| error.within(format!("abstract module {index}")))?;
        let module_header = AbstractModuleHeader {
            metadata: metadata_table.add(text.as_bytes()),
            ir_modules: indices(&mut first_ir, module.ir_modules.len())?,
            native_images: indices(&mut first_native, module.native_images.len())?,
        };
        headers.extend_from_slice(module_header.as_bytes());
    }
    let mut image_table = Chunks::new();
    for (index, module) in irs().enumerate() {
        let text = metadata::write_ir(module).map_err(|error| error.within(format!("IR module {index}")))?;
        let header = ImageHeader {
            metadata: metadata_table.add(text.as_bytes()),
            bytes: add(&mut image_table, module.bytes.clone()),
        };
        headers.extend_from_slice(header.as_bytes());
    }
    for (index, image) in natives().enumerate() {
        let text =
            metadata::write_native(image).map_err(|error| error.within(format!("native image {index}")))?;
        let header = ImageHeader {
            metadata: metadata_table.add(text.as_bytes()),
            bytes: add(&mut image_table, image.bytes.clone()),
        };
        headers.extend_from_slice(header.as_bytes());
    }

    let header = FileHeader {
        magic: SYCLBIN_MAGIC.into(),
        version: 1.into(),
        abstract_module_count: count(program.modules.len())?.into(),
        ir_module_count: first_ir.into(),
        native_image_count: first_native.into(),
        padding: [0; 4],
        metadata_table_size: (metadata_table.bytes.len() as u64).into(),
        binary_table_size: image_table.len().into(),
        global_metadata,
    };
    let mut out = Chunks::new();
    out.copy(header.as_bytes());
    out.copy(&headers);
    out.push(metadata_table.bytes);
    out.pad_to_8();
    out.append(image_table);
    out.pad_to_8();
    Ok(out)
}

/// The next `length` indices of a list.
fn indices(next: &mut u32, length: usize) -> Result<Indices, Error> {
    let first = *next;
    let length = count(length)?;
    *next = first.checked_add(length).ok_or_else(too_many)?;
    Ok(Indices {
        count: length.into(),
        first: first.into(),
    })
}

fn count(length: usize) -> Result<u32, Error> {
    u32::try_from(length).map_err(|_| too_many())
}

fn too_many() -> Error {
    Error::unrepresentable("too many modules for SYCLBIN version 1")
        .expecting(format!("at most {}", u32::MAX))
}

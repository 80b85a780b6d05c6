//! The property sets that carry SYCLBIN's own facts, to and from the fields of the model.

use offkit_image::{BundleState, Error};

use super::{AbstractModule, IrModule, IrType, NativeImage, SyclBin};
use crate::property_set::{PropertySet, PropertySets, PropertyValue, names, parse_text, write_text};
use crate::reading::Reading;
use crate::source::Source;

/// SYCLBIN's own sets, which an abstract module must not have.
pub(super) const OWN_SETS: [&str; 4] = [
    names::SYCLBIN_GLOBAL_METADATA,
    names::SYCLBIN_IR_MODULE_METADATA,
    names::SYCLBIN_NATIVE_IMAGE_METADATA,
    names::SYCLBIN_NATIVE_IMAGE_MODULE_METADATA,
];

/// The state and the other global properties.
pub(super) fn read_global(
    text: Source<'_>,
    reading: &mut Reading,
) -> Result<(BundleState, PropertySets), Error> {
    let mut sets = parse_text(text, reading)?;
    let state = take(&mut sets, names::SYCLBIN_GLOBAL_METADATA, names::STATE);
    let error = Error::malformed("SYCLBIN has no valid state")
        .at(text.at(0))
        .field(names::SYCLBIN_GLOBAL_METADATA)
        .expecting("a property 'state' of 0, 1 or 2");
    let state = match state {
        Some(PropertyValue::U32(raw)) => BundleState::from_raw(raw).ok_or_else(|| error.finding(raw)),
        Some(PropertyValue::Bytes(_)) => Err(error.finding("bytes")),
        None => Err(error.finding("none")),
    };
    Ok((reading.accept(state)?.unwrap_or(BundleState::Input), sets))
}

pub(super) fn write_global(program: &SyclBin<'_>) -> Result<String, Error> {
    let mut own = PropertySet::new();
    own.insert(names::STATE, program.state.raw());
    write(names::SYCLBIN_GLOBAL_METADATA, own, &program.properties)
        .map_err(|error| error.within("global metadata"))
}

/// The property sets of an abstract module.
pub(super) fn read_module(text: Source<'_>, reading: &mut Reading) -> Result<PropertySets, Error> {
    let mut sets = parse_text(text, reading)?;
    for name in OWN_SETS {
        // Comparing a few names is cheaper than looking each up.
        if sets.iter().any(|(own, _)| own == name) {
            sets.remove(name);
            reading.fault(misplaced(name).at(text.at(0)))?;
        }
    }
    Ok(sets)
}

pub(super) fn write_module(module: &AbstractModule<'_>) -> Result<String, Error> {
    match OWN_SETS
        .into_iter()
        .find(|name| module.properties.set(name).is_some())
    {
        Some(name) => Err(misplaced(name)),
        None => write_text(&module.properties),
    }
}

fn misplaced(name: &'static str) -> Error {
    Error::malformed("abstract module has a property set of the SYCLBIN format itself").field(name)
}

/// An IR module without its bytes.
pub(super) fn read_ir(text: Source<'_>, reading: &mut Reading) -> Result<IrModule<'static>, Error> {
    let mut sets = parse_text(text, reading)?;
    let ir_type = match take(&mut sets, names::SYCLBIN_IR_MODULE_METADATA, names::TYPE) {
        Some(PropertyValue::U32(raw)) => Ok(IrType(raw)),
        other => Err(Error::malformed("SYCLBIN IR module has no valid type")
            .at(text.at(0))
            .field(names::SYCLBIN_IR_MODULE_METADATA)
            .expecting("a property 'type' that is a number")
            .finding(if other.is_some() { "bytes" } else { "none" })),
    };
    let ir_type = reading.accept(ir_type)?.unwrap_or(IrType::SPIRV);
    let target = take_text(
        &mut sets,
        names::SYCLBIN_IR_MODULE_METADATA,
        names::TARGET,
        text,
        reading,
    )?;
    Ok(IrModule {
        properties: sets,
        ..IrModule::new(ir_type, target, &[])
    })
}

pub(super) fn write_ir(module: &IrModule<'_>) -> Result<String, Error> {
    let mut own = PropertySet::new();
    own.insert(names::TYPE, module.ir_type.0);
    insert_text(&mut own, names::TARGET, &module.target);
    write(names::SYCLBIN_IR_MODULE_METADATA, own, &module.properties)
}

/// A native image without its bytes.
pub(super) fn read_native(text: Source<'_>, reading: &mut Reading) -> Result<NativeImage<'static>, Error> {
    let mut sets = parse_text(text, reading)?;
    // The format's description has the second name, and all known writers the first.
    let name = [
        names::SYCLBIN_NATIVE_IMAGE_METADATA,
        names::SYCLBIN_NATIVE_IMAGE_MODULE_METADATA,
    ]
    .into_iter()
    .find(|name| sets.set(name).is_some())
    .unwrap_or(names::SYCLBIN_NATIVE_IMAGE_METADATA);
    let arch = take_text(&mut sets, name, names::ARCH, text, reading)?;
    let target = take_text(&mut sets, name, names::TARGET, text, reading)?;
    Ok(NativeImage {
        properties: sets,
        ..NativeImage::new(arch, target, &[])
    })
}

pub(super) fn write_native(image: &NativeImage<'_>) -> Result<String, Error> {
    let mut own = PropertySet::new();
    insert_text(&mut own, names::ARCH, &image.arch);
    insert_text(&mut own, names::TARGET, &image.target);
    write(names::SYCLBIN_NATIVE_IMAGE_METADATA, own, &image.properties)
}

/// Removes a property, and its set when that was all of it.
fn take(sets: &mut PropertySets, set: &str, key: &str) -> Option<PropertyValue> {
    // Looked for first, as `set_mut` makes a set that is not there.
    sets.set(set)?;
    let properties = sets.set_mut(set);
    let value = properties.remove(key);
    if properties.is_empty() {
        sets.remove(set);
    }
    value
}

/// Removes a property that is text; empty when there is none.
fn take_text(
    sets: &mut PropertySets,
    set: &'static str,
    key: &'static str,
    text: Source<'_>,
    reading: &mut Reading,
) -> Result<String, Error> {
    let Some(value) = take(sets, set, key) else {
        return Ok(String::new());
    };
    let text = value.as_str().map(str::to_owned).ok_or_else(|| {
        Error::malformed(format!("SYCLBIN property '{key}' is not text"))
            .at(text.at(0))
            .field(set)
    });
    Ok(reading.accept(text)?.unwrap_or_default())
}

fn insert_text(set: &mut PropertySet, key: &str, text: &str) {
    if !text.is_empty() {
        set.insert(key, text);
    }
}

/// The text of SYCLBIN's own properties and the others: in the place of the others' set of that name, else
/// first.
fn write(name: &str, own: PropertySet, others: &PropertySets) -> Result<String, Error> {
    let mut sets = PropertySets::new();
    if others.set(name).is_none() {
        *sets.set_mut(name) = own.clone();
    }
    for (other_name, other) in others.iter() {
        let set = sets.set_mut(other_name);
        if other_name == name {
            *set = own.clone();
        }
        for (key, value) in other.iter() {
            if set.insert(key, value.clone()).is_some() {
                return Err(Error::unrepresentable("property is also a field of the model")
                    .field(format!("{other_name}, {key}"))
                    .expecting("only the field to be set"));
            }
        }
    }
    write_text(&sets)
}

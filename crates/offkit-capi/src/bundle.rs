//! Kernel bundles.

use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::Arc;

use offkit_object::{BundleState, Limits, SyclBinVersion};
use offkit_pi::host;
use offkit_runtime::{Executable, ExporterRule, Input, KernelBundle, LinkProperties, Object};
use offkit_sync::{PoisonError, RwLock, RwLockReadGuard};

use crate::c::{
    Array, In, New, Objects, Out, Owned, Result, Room, Status, Text, Texts, answer, attempt, free, given,
    make, objects, tell,
};
use crate::context::{Context, Queue};
use crate::device::Device;
use crate::error::{Code, Failure};
use crate::kernel::Kernel;
use crate::registry::Registry;

/// `offkit_bundle`.
pub(crate) struct Bundle {
    bundle: RwLock<Any>,
    texts: Texts,
}

/// A bundle in any state.
enum Any {
    Input(KernelBundle<Input>),
    Object(KernelBundle<Object>),
    Executable(KernelBundle<Executable>),
}

/// `offkit_bytes`.
pub(crate) struct Bytes(Vec<u8>);

/// `OFFKIT_LINK_FAST`.
const LINK_FAST: u32 = 1;
/// `OFFKIT_LINK_FIRST` and `OFFKIT_LINK_OWN_FIRST`: the numbers of the rules, above the flag.
const LINK_RULE: u32 = 1;

/// Does something with a bundle in whatever state it is.
macro_rules! whichever {
    ($bundle:expr, $inner:ident => $work:expr) => {
        match $bundle {
            Any::Input($inner) => $work,
            Any::Object($inner) => $work,
            Any::Executable($inner) => $work,
        }
    };
}

/// Makes a bundle in the state of a number.
macro_rules! in_state {
    ($state:expr, $call:ident, ($($argument:expr),*)) => {
        match state($state)? {
            BundleState::Input => Any::Input(<KernelBundle<Input>>::$call($($argument),*)?),
            BundleState::Object => Any::Object(<KernelBundle<Object>>::$call($($argument),*)?),
            BundleState::Executable => Any::Executable(<KernelBundle<Executable>>::$call($($argument),*)?),
        }
    };
}

impl From<Any> for Bundle {
    fn from(bundle: Any) -> Self {
        Self {
            bundle: RwLock::new(bundle),
            texts: Texts::default(),
        }
    }
}

impl Any {
    fn state(&self) -> BundleState {
        match self {
            Self::Input(_) => BundleState::Input,
            Self::Object(_) => BundleState::Object,
            Self::Executable(_) => BundleState::Executable,
        }
    }

    /// It should be in another state.
    fn not(&self, wanted: BundleState) -> Failure {
        let message = format!(
            "the kernel bundle is in the {} state, not {}",
            self.state().name(),
            wanted.name()
        );
        Failure::new(Code::State, message)
    }

    fn input(&self) -> Result<&KernelBundle<Input>> {
        match self {
            Self::Input(bundle) => Ok(bundle),
            other => Err(other.not(BundleState::Input)),
        }
    }
}

impl Bundle {
    fn read(&self) -> RwLockReadGuard<'_, Any> {
        self.bundle.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn state(number: c_int) -> Result<BundleState> {
    let state = u32::try_from(number).ok().and_then(BundleState::from_raw);
    state.ok_or_else(|| {
        let message = format!("{number} is no state of a kernel bundle: expected one of OFFKIT_STATE_...");
        Failure::invalid(message)
    })
}

/// Devices, copied.
///
/// # Safety
///
/// If the array is not null, there must be so many.
unsafe fn devices(array: Objects<'_, Device>, count: usize) -> Result<Vec<host::Device>> {
    // SAFETY: by the caller's promise.
    let devices = unsafe { objects(array, count, "the devices") }?;
    Ok(devices.into_iter().map(|device| device.device.clone()).collect())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_open(
    context: In<'_, Context>,
    device_list: Objects<'_, Device>,
    device_count: usize,
    path: Text<'_>,
    state: c_int,
    bundle: New<'_, Bundle>,
) -> Status {
    make(bundle, || {
        let context = &given(context, "the context")?.0;
        // SAFETY: the caller says how many there are.
        let devices = unsafe { devices(device_list, device_count) }?;
        let path = path.get("the path")?;
        Ok(in_state!(state, open, (context, &devices, path, &Limits::default())).into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_from_bytes(
    context: In<'_, Context>,
    device_list: Objects<'_, Device>,
    device_count: usize,
    name: Text<'_>,
    bytes: Array<'_, u8>,
    size: usize,
    state: c_int,
    bundle: New<'_, Bundle>,
) -> Status {
    make(bundle, || {
        let context = &given(context, "the context")?.0;
        let name = name.get("the name")?;
        // SAFETY: the caller says how many devices and bytes there are.
        let (devices, bytes) =
            unsafe { (devices(device_list, device_count)?, bytes.get(size, "the bytes")?) };
        let bytes = Arc::new(bytes.to_vec());
        let limits = Limits::default();
        Ok(in_state!(state, from_bytes, (context, &devices, name, bytes, &limits)).into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_from_spirv(
    context: In<'_, Context>,
    device_list: Objects<'_, Device>,
    device_count: usize,
    name: Text<'_>,
    bytes: Array<'_, u8>,
    size: usize,
    bundle: New<'_, Bundle>,
) -> Status {
    make(bundle, || {
        let context = &given(context, "the context")?.0;
        let name = name.get("the name")?;
        // SAFETY: the caller says how many devices and bytes there are.
        let (devices, bytes) =
            unsafe { (devices(device_list, device_count)?, bytes.get(size, "the bytes")?) };
        Ok(Any::Input(KernelBundle::from_spirv(context, &devices, name, bytes)?).into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_of_registry(
    context: In<'_, Context>,
    device_list: Objects<'_, Device>,
    device_count: usize,
    registry: In<'_, Registry>,
    state: c_int,
    bundle: New<'_, Bundle>,
) -> Status {
    make(bundle, || {
        let context = &given(context, "the context")?.0;
        // SAFETY: the caller says how many there are.
        let devices = unsafe { devices(device_list, device_count) }?;
        let registry = given(registry, "the registry")?.images();
        Ok(in_state!(state, registered, (context, &devices, registry)).into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_compile(input: In<'_, Bundle>, object: New<'_, Bundle>) -> Status {
    make(object, || {
        let input = given(input, "the bundle")?.read();
        Ok(Any::Object(input.input()?.compile()?).into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_build(input: In<'_, Bundle>, flags: u32, executable: New<'_, Bundle>) -> Status {
    make(executable, || {
        let input = given(input, "the bundle")?.read();
        Ok(Any::Executable(input.input()?.build_with(link_properties(flags)?)?).into())
    })
}

/// What the flags of a link mean.
fn link_properties(flags: u32) -> Result<LinkProperties> {
    // All that is left of the flags is the number of a rule, so that a flag which means nothing,
    // or two rules at once, are a number that no rule has.
    let exporter = ExporterRule::ALL.get((flags >> LINK_RULE) as usize).copied();
    Ok(LinkProperties {
        fast_link: flags & LINK_FAST != 0,
        exporter: exporter.ok_or_else(|| {
            Failure::invalid(format!(
                "{flags:#x} are no flags of a link: expected those of OFFKIT_LINK_*, or 0"
            ))
        })?,
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_link(
    object_list: Objects<'_, Bundle>,
    count: usize,
    device_list: Objects<'_, Device>,
    device_count: usize,
    flags: u32,
    executable: New<'_, Bundle>,
) -> Status {
    make(executable, || {
        let properties = link_properties(flags)?;
        // SAFETY: the caller says how many there are.
        let (bundles, devices) = unsafe {
            let bundles = objects(object_list, count, "the bundles")?;
            (bundles, devices(device_list, device_count)?)
        };
        // Clones, which cost little: no bundle is locked while a driver links.
        let objects = bundles.iter().map(|bundle| match &*bundle.read() {
            Any::Object(bundle) => Ok(bundle.clone()),
            other => Err(other.not(BundleState::Object)),
        });
        let objects = objects.collect::<Result<Vec<_>>>()?;
        let objects: Vec<_> = objects.iter().collect();
        let devices = (!devices.is_empty()).then_some(devices.as_slice());
        Ok(Any::Executable(KernelBundle::link_with(&objects, devices, properties)?).into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_join(
    bundle_list: Objects<'_, Bundle>,
    count: usize,
    joined: New<'_, Bundle>,
) -> Status {
    make(joined, || {
        // SAFETY: the caller says how many there are.
        let bundles = unsafe { objects(bundle_list, count, "the bundles") }?;
        let wanted = bundles.first().map(|bundle| bundle.read().state());
        // Without bundles any state will do: the join itself says that there is none.
        let wanted = wanted.unwrap_or(BundleState::Input);
        macro_rules! join {
            ($state:ident) => {{
                let copies = bundles.iter().map(|bundle| match &*bundle.read() {
                    Any::$state(bundle) => Ok(bundle.clone()),
                    other => Err(other.not(wanted)),
                });
                let copies = copies.collect::<Result<Vec<_>>>()?;
                Any::$state(KernelBundle::join(&copies.iter().collect::<Vec<_>>())?)
            }};
        }
        Ok(match wanted {
            BundleState::Input => join!(Input),
            BundleState::Object => join!(Object),
            BundleState::Executable => join!(Executable),
        }
        .into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_get_state(bundle: In<'_, Bundle>) -> c_int {
    tell(bundle, 0, |bundle| bundle.read().state().raw() as c_int)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_has_kernel(
    bundle: In<'_, Bundle>,
    name: Text<'_>,
    device: In<'_, Device>,
    has: Out<'_, bool>,
) -> Status {
    answer(has, || {
        let bundle = given(bundle, "the bundle")?.read();
        let name = name.get("the kernel's name")?;
        Ok(whichever!(&*bundle, bundle => match device {
            Some(device) => bundle.has_kernel_for(name, &device.device),
            None => bundle.has_kernel(name),
        }))
    })
}

/// The name with a number among those of a bundle.
fn name(bundle: In<'_, Bundle>, number: usize, names: impl Fn(&Any) -> Vec<&str>) -> *const c_char {
    tell(bundle, ptr::null(), |bundle| {
        let inner = bundle.read();
        // C keeps the pointer, and the bundle's lock goes with this: the bundle has a copy.
        let names = names(&inner);
        names
            .get(number)
            .map_or(ptr::null(), |name| bundle.texts.keep(name))
    })
}

fn kernels(bundle: &Any) -> Vec<&str> {
    whichever!(bundle, bundle => bundle.kernel_names().into_iter().collect())
}

fn constants(bundle: &Any) -> Vec<&str> {
    whichever!(bundle, bundle => bundle.specialization_constants())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_kernel_count(bundle: In<'_, Bundle>) -> usize {
    tell(bundle, 0, |bundle| kernels(&bundle.read()).len())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_kernel_name(bundle: In<'_, Bundle>, number: usize) -> *const c_char {
    name(bundle, number, kernels)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_kernel(
    bundle: In<'_, Bundle>,
    name: Text<'_>,
    device: In<'_, Device>,
    kernel: New<'_, Kernel>,
) -> Status {
    make(kernel, || {
        let bundle = given(bundle, "the bundle")?.read();
        let device = &given(device, "the device")?.device;
        match &*bundle {
            Any::Executable(bundle) => Ok(bundle.kernel(name.get("the kernel's name")?, device)?.into()),
            other => Err(other.not(BundleState::Executable)),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_constant_count(bundle: In<'_, Bundle>) -> usize {
    tell(bundle, 0, |bundle| constants(&bundle.read()).len())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_constant_name(bundle: In<'_, Bundle>, number: usize) -> *const c_char {
    name(bundle, number, constants)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_constant(
    bundle: In<'_, Bundle>,
    name: Text<'_>,
    value: New<'_, Bytes>,
) -> Status {
    make(value, || {
        let bundle = given(bundle, "the bundle")?.read();
        let name = name.get("the constant's name")?;
        let value = whichever!(&*bundle, bundle => bundle.specialization_constant(name));
        value.map(Bytes).ok_or_else(|| {
            let message = format!("no specialization constant `{name}` in the kernel bundle has a value");
            Failure::new(Code::NotFound, message)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_set_constant(
    bundle: In<'_, Bundle>,
    name: Text<'_>,
    value: Array<'_, u8>,
    size: usize,
) -> Status {
    attempt(|| {
        let bundle = &given(bundle, "the bundle")?.bundle;
        let name = name.get("the constant's name")?;
        // SAFETY: the caller says how many bytes there are.
        let value = unsafe { value.get(size, "the value") }?;
        match &mut *bundle.write().unwrap_or_else(PoisonError::into_inner) {
            Any::Input(bundle) => Ok(bundle.set_specialization_constant(name, value)?),
            other => Err(other.not(BundleState::Input)),
        }
    })
}

fn globals(bundle: &Any) -> Vec<&str> {
    let globals = whichever!(bundle, bundle => bundle.device_globals());
    globals.iter().map(|global| global.name).collect()
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_global_count(bundle: In<'_, Bundle>) -> usize {
    tell(bundle, 0, |bundle| globals(&bundle.read()).len())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_global_name(bundle: In<'_, Bundle>, number: usize) -> *const c_char {
    name(bundle, number, globals)
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_global_size(
    bundle: In<'_, Bundle>,
    name: Text<'_>,
    size: Out<'_, usize>,
) -> Status {
    answer(size, || {
        let bundle = given(bundle, "the bundle")?.read();
        let name = name.get("the global's name")?;
        let global = whichever!(&*bundle, bundle => bundle.device_global(name));
        global.map(|global| global.size).ok_or_else(|| {
            let message = format!("no device global `{name}` in the kernel bundle");
            Failure::new(Code::NotFound, message)
        })
    })
}

/// Does something with an executable.
fn executable<R>(
    bundle: In<'_, Bundle>,
    work: impl FnOnce(&KernelBundle<Executable>) -> Result<R>,
) -> Result<R> {
    match &*given(bundle, "the bundle")?.read() {
        Any::Executable(bundle) => work(bundle),
        other => Err(other.not(BundleState::Executable)),
    }
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_read_global(
    bundle: In<'_, Bundle>,
    name: Text<'_>,
    queue: In<'_, Queue>,
    offset: usize,
    data: Room<'_>,
    size: usize,
) -> Status {
    attempt(|| {
        executable(bundle, |bundle| {
            let (name, queue) = (name.get("the global's name")?, given(queue, "the queue")?);
            // SAFETY: the caller says how many bytes there is room for.
            let out = unsafe { data.get(size, "the data") }?;
            Ok(bundle.read_device_global(name, &queue.0, offset, out)?)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_write_global(
    bundle: In<'_, Bundle>,
    name: Text<'_>,
    queue: In<'_, Queue>,
    offset: usize,
    data: Array<'_, u8>,
    size: usize,
) -> Status {
    attempt(|| {
        executable(bundle, |bundle| {
            let (name, queue) = (name.get("the global's name")?, given(queue, "the queue")?);
            // SAFETY: the caller says how many bytes there are.
            let data = unsafe { data.get(size, "the data") }?;
            Ok(bundle.write_device_global(name, &queue.0, offset, data)?)
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_content(
    bundle: In<'_, Bundle>,
    version: c_int,
    content: New<'_, Bytes>,
) -> Status {
    make(content, || {
        let bundle = given(bundle, "the bundle")?.read();
        let version = match version {
            1 => SyclBinVersion::V1Enveloped,
            2 => SyclBinVersion::V2,
            other => {
                let message = format!("{other} is no version of SYCLBIN: expected 1 or 2");
                return Err(Failure::invalid(message));
            }
        };
        Ok(Bytes(
            whichever!(&*bundle, bundle => bundle.content_of_version(version)?),
        ))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bundle_free(bundle: Owned<Bundle>) {
    free(bundle);
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bytes_data(bytes: In<'_, Bytes>) -> *const u8 {
    tell(bytes, ptr::null(), |bytes| bytes.0.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bytes_size(bytes: In<'_, Bytes>) -> usize {
    tell(bytes, 0, |bytes| bytes.0.len())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_bytes_free(bytes: Owned<Bytes>) {
    free(bytes);
}

//! Devices, and everything they can be asked, which is written down once.

use crate::answer::{Answers, Place, bytes_of};
use crate::c::{In, Out};
use crate::failure::{Failure, Result, require};
use crate::handle::{Handle, Handled, Object};
use crate::pi::pi;
use crate::platform::{Platform, name_versions};
use cl::*;
use core::ffi::c_void;
use offkit_pi::host::{self, Partition};
use sha2::{Digest, Sha256};

const V1: cl_version = make_version(1, 0, 0);

/// Extensions, in the order of their names.
pub(crate) const EXTENSIONS: [(&str, cl_version); 30] = [
    ("cl_ext_float_atomics", V1),
    ("cl_intel_required_subgroup_size", V1),
    ("cl_intel_unified_shared_memory", V1),
    ("cl_khr_byte_addressable_store", V1),
    ("cl_khr_create_command_queue", V1),
    ("cl_khr_device_uuid", V1),
    ("cl_khr_expect_assume", V1),
    ("cl_khr_extended_bit_ops", V1),
    ("cl_khr_extended_versioning", V1),
    ("cl_khr_fp16", V1),
    ("cl_khr_fp64", V1),
    ("cl_khr_global_int32_base_atomics", V1),
    ("cl_khr_global_int32_extended_atomics", V1),
    ("cl_khr_il_program", V1),
    ("cl_khr_int64_base_atomics", V1),
    ("cl_khr_int64_extended_atomics", V1),
    ("cl_khr_integer_dot_product", make_version(2, 0, 0)),
    ("cl_khr_local_int32_base_atomics", V1),
    ("cl_khr_local_int32_extended_atomics", V1),
    ("cl_khr_spirv_linkonce_odr", V1),
    ("cl_khr_spirv_no_integer_wrap_decoration", V1),
    ("cl_khr_subgroup_ballot", V1),
    ("cl_khr_subgroup_clustered_reduce", V1),
    ("cl_khr_subgroup_extended_types", V1),
    ("cl_khr_subgroup_non_uniform_arithmetic", V1),
    ("cl_khr_subgroup_non_uniform_vote", V1),
    ("cl_khr_subgroup_rotate", V1),
    ("cl_khr_subgroup_shuffle", V1),
    ("cl_khr_subgroup_shuffle_relative", V1),
    ("cl_khr_suggested_local_work_size", V1),
];

/// Optional features of OpenCL C 3.0.
pub(crate) const FEATURES: [&str; 12] = [
    "__opencl_c_atomic_order_acq_rel",
    "__opencl_c_atomic_order_seq_cst",
    "__opencl_c_atomic_scope_all_devices",
    "__opencl_c_atomic_scope_device",
    "__opencl_c_fp64",
    "__opencl_c_generic_address_space",
    "__opencl_c_int64",
    "__opencl_c_integer_dot_product_input_4x8bit",
    "__opencl_c_integer_dot_product_input_4x8bit_packed",
    "__opencl_c_program_scope_global_variables",
    "__opencl_c_subgroups",
    "__opencl_c_work_group_collective_functions",
];

/// Queries that plugins answer as OpenCL does, under the same numbers.
const FROM_PLUGIN: [cl_device_info; 60] = [
    CL_DEVICE_TYPE,
    CL_DEVICE_VENDOR_ID,
    CL_DEVICE_MAX_COMPUTE_UNITS,
    CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS,
    CL_DEVICE_MAX_WORK_GROUP_SIZE,
    CL_DEVICE_MAX_WORK_ITEM_SIZES,
    CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR,
    CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT,
    CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT,
    CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG,
    CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT,
    CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE,
    CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_INT,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF,
    CL_DEVICE_MAX_CLOCK_FREQUENCY,
    CL_DEVICE_ADDRESS_BITS,
    CL_DEVICE_MAX_PARAMETER_SIZE,
    CL_DEVICE_MEM_BASE_ADDR_ALIGN,
    CL_DEVICE_SINGLE_FP_CONFIG,
    CL_DEVICE_DOUBLE_FP_CONFIG,
    CL_DEVICE_HALF_FP_CONFIG,
    CL_DEVICE_GLOBAL_MEM_CACHE_TYPE,
    CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE,
    CL_DEVICE_GLOBAL_MEM_CACHE_SIZE,
    CL_DEVICE_GLOBAL_MEM_SIZE,
    CL_DEVICE_MAX_CONSTANT_ARGS,
    CL_DEVICE_LOCAL_MEM_TYPE,
    CL_DEVICE_LOCAL_MEM_SIZE,
    CL_DEVICE_ERROR_CORRECTION_SUPPORT,
    CL_DEVICE_PROFILING_TIMER_RESOLUTION,
    CL_DEVICE_ENDIAN_LITTLE,
    CL_DEVICE_AVAILABLE,
    CL_DEVICE_EXECUTION_CAPABILITIES,
    CL_DEVICE_QUEUE_ON_HOST_PROPERTIES,
    CL_DEVICE_NAME,
    CL_DEVICE_VENDOR,
    CL_DRIVER_VERSION,
    CL_DEVICE_HOST_UNIFIED_MEMORY,
    CL_DEVICE_BUILT_IN_KERNELS,
    CL_DEVICE_PREFERRED_INTEROP_USER_SYNC,
    CL_DEVICE_PRINTF_BUFFER_SIZE,
    CL_DEVICE_IL_VERSION,
    CL_DEVICE_MAX_NUM_SUB_GROUPS,
    CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS,
    CL_DEVICE_SUB_GROUP_SIZES_INTEL,
    CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL,
    CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL,
    CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
    CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
    CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL,
    CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE,
    CL_DEVICE_PROFILE,
    CL_DEVICE_PARTITION_MAX_SUB_DEVICES,
    CL_DEVICE_PARTITION_PROPERTIES,
];

/// A device, and its answers.
pub(crate) struct Device {
    pub(crate) pi: host::Device,
    answers: Answers,
    device_type: cl_device_type,
    /// What it is a part of.
    parent: Option<Object<Device>>,
}

impl Device {
    pub(crate) fn new(pi: host::Device, platform: &Object<Platform>) -> Device {
        let mut answers = Answers::default();
        // The plugin's answers first: of two the last one counts, and what is fixed below replaces
        // some.
        for name in FROM_PLUGIN {
            if let Ok(answer) = pi.info(name) {
                answers.bytes(name, answer);
            }
        }
        fixed(&mut answers);
        // As much as programs may take at once without bringing the machine down.
        // 128 MiB is the least that OpenCL 1.2 allows.
        let memory = pi.global_memory_size().unwrap_or_default();
        answers.number(CL_DEVICE_MAX_MEM_ALLOC_SIZE, (memory / 4).max(1 << 27));
        versions(&mut answers, &pi.il_version().unwrap_or_default());
        identity(&mut answers, &pi);
        answers.number(CL_DEVICE_PLATFORM, platform.c());
        Device {
            device_type: pi.info_integer(CL_DEVICE_TYPE).unwrap_or(CL_DEVICE_TYPE_CPU),
            pi,
            answers,
            parent: None,
        }
    }

    /// Whether it is a platform's, or a part of one that is.
    pub(crate) fn is_of(&self, platform: &Object<Platform>) -> bool {
        let own = self.answers.get(CL_DEVICE_PLATFORM);
        own.is_some_and(|own| own == bytes_of(&[platform.c()]))
    }

    /// A part of a device, made by such properties.
    fn part(
        pi: host::Device,
        parent: &Object<Device>,
        properties: &[cl_device_partition_property],
    ) -> Device {
        let mut answers = parent.object().answers.clone();
        for name in [
            CL_DEVICE_MAX_COMPUTE_UNITS,
            CL_DEVICE_PARTITION_MAX_SUB_DEVICES,
            CL_DEVICE_PARTITION_PROPERTIES,
        ] {
            if let Ok(answer) = pi.info(name) {
                answers.bytes(name, answer);
            }
        }
        answers.bytes(CL_DEVICE_PARTITION_TYPE, bytes_of(properties));
        answers.number(CL_DEVICE_PARENT_DEVICE, parent.c());
        Device {
            device_type: parent.object().device_type,
            pi,
            answers,
            parent: Some(parent.clone()),
        }
    }

    /// Whether a device is among those that something is built for, or a part of one.
    pub(crate) fn is_among(device: &Object<Device>, targets: &[usize]) -> bool {
        let mut devices = core::iter::successors(Some(device), |device| device.object().parent.as_ref());
        devices.any(|device| targets.contains(&device.handle()))
    }

    pub(crate) fn device_type(&self) -> cl_device_type {
        self.device_type
    }

    /// The answer to a query.
    pub(crate) fn answer(&self, name: cl_device_info) -> Option<&[u8]> {
        self.answers.get(name)
    }

    /// The answer to a query for so many sizes; 0 for those that it does not have.
    pub(crate) fn sizes<const N: usize>(&self, name: cl_device_info) -> [usize; N] {
        let (words, _) = self.answer(name).unwrap_or_default().as_chunks();
        core::array::from_fn(|index| words.get(index).map_or(0, |word| usize::from_ne_bytes(*word)))
    }
}

/// What is so with every device.
fn fixed(answers: &mut Answers) {
    let queue = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
    let atomics = CL_DEVICE_ATOMIC_ORDER_RELAXED
        | CL_DEVICE_ATOMIC_ORDER_ACQ_REL
        | CL_DEVICE_ATOMIC_ORDER_SEQ_CST
        | CL_DEVICE_ATOMIC_SCOPE_WORK_ITEM
        | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP
        | CL_DEVICE_ATOMIC_SCOPE_DEVICE
        | CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES;
    let float_atomics = CL_DEVICE_GLOBAL_FP_ATOMIC_LOAD_STORE_EXT
        | CL_DEVICE_GLOBAL_FP_ATOMIC_ADD_EXT
        | CL_DEVICE_GLOBAL_FP_ATOMIC_MIN_MAX_EXT
        | CL_DEVICE_LOCAL_FP_ATOMIC_LOAD_STORE_EXT
        | CL_DEVICE_LOCAL_FP_ATOMIC_ADD_EXT
        | CL_DEVICE_LOCAL_FP_ATOMIC_MIN_MAX_EXT;
    // Not of memory that the host has from elsewhere: devices that check accesses do not know it.
    let svm = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_BUFFER | CL_DEVICE_SVM_ATOMICS;
    let dot = CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT | CL_DEVICE_INTEGER_DOT_PRODUCT_INPUT_4x8BIT_PACKED;

    answers.number(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, queue);
    answers.number(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, atomics);
    answers.number(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES, atomics);
    answers.number(CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT, float_atomics);
    answers.number(CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT, float_atomics);
    answers.number(CL_DEVICE_HALF_FP_ATOMIC_CAPABILITIES_EXT, float_atomics);
    answers.number(CL_DEVICE_SVM_CAPABILITIES, svm);
    answers.number(CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES, dot);
    for name in [
        CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_8BIT,
        CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED,
    ] {
        answers.bytes(name, bytes_of(&[false; 6]));
    }
    for yes in [
        CL_DEVICE_COMPILER_AVAILABLE,
        CL_DEVICE_LINKER_AVAILABLE,
        CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT,
        CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT,
        CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT,
    ] {
        answers.number(yes, true);
    }
    for no in [
        CL_DEVICE_IMAGE_SUPPORT,
        CL_DEVICE_PIPE_SUPPORT,
        CL_DEVICE_LUID_VALID_KHR,
    ] {
        answers.number(no, false);
    }
    // Two lists, for answers of four bytes and of eight: callers have places of exactly that size,
    // and an answer that is longer is refused.
    for zero in [
        CL_DEVICE_MAX_READ_IMAGE_ARGS,
        CL_DEVICE_MAX_WRITE_IMAGE_ARGS,
        CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS,
        CL_DEVICE_MAX_SAMPLERS,
        CL_DEVICE_IMAGE_PITCH_ALIGNMENT,
        CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT,
        CL_DEVICE_MAX_PIPE_ARGS,
        CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS,
        CL_DEVICE_PIPE_MAX_PACKET_SIZE,
        CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE,
        CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE,
        CL_DEVICE_MAX_ON_DEVICE_QUEUES,
        CL_DEVICE_MAX_ON_DEVICE_EVENTS,
        CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT,
        CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT,
        CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT,
        CL_DEVICE_NODE_MASK_KHR,
    ] {
        answers.number(zero, 0_u32);
    }
    for zero in [
        CL_DEVICE_IMAGE2D_MAX_WIDTH,
        CL_DEVICE_IMAGE2D_MAX_HEIGHT,
        CL_DEVICE_IMAGE3D_MAX_WIDTH,
        CL_DEVICE_IMAGE3D_MAX_HEIGHT,
        CL_DEVICE_IMAGE3D_MAX_DEPTH,
        CL_DEVICE_IMAGE_MAX_BUFFER_SIZE,
        CL_DEVICE_IMAGE_MAX_ARRAY_SIZE,
        CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES,
        CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES,
        CL_DEVICE_PARTITION_AFFINITY_DOMAIN,
        CL_DEVICE_PARENT_DEVICE,
    ] {
        answers.number(zero, 0_usize);
    }
    answers.bytes(CL_DEVICE_PARTITION_TYPE, []);
    answers.bytes(CL_DEVICE_LUID_KHR, [0; 8]);
    answers.bytes(CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION, []);
    answers.number(CL_DEVICE_REFERENCE_COUNT, 1_u32);
    // A `long16`, the largest type of the full profile.
    answers.number(CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, 128_u32);
    answers.number(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, 1_usize);
    answers.number(CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, 1_usize << 20);
    answers.number(CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE, 1_usize << 20);
    answers.number(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, 128_u64 << 10);
}

/// Versions of everything, and names.
fn versions(answers: &mut Answers, il: &str) {
    // No 2.0: there pipes and device enqueue are not optional, and the devices have neither.
    let versions = [
        make_version(1, 0, 0),
        make_version(1, 1, 0),
        make_version(1, 2, 0),
    ];
    let c = versions.into_iter().chain([make_version(3, 0, 0)]);
    let extensions: Vec<&str> = EXTENSIONS.iter().map(|(name, _)| *name).collect();
    let il = il.split_ascii_whitespace().filter_map(|version| {
        let (name, version) = version.split_once('_')?;
        let (major, minor) = version.split_once('.')?;
        Some((name, make_version(major.parse().ok()?, minor.parse().ok()?, 0)))
    });
    answers.text(
        CL_DEVICE_VERSION,
        concat!("OpenCL 3.0 offkit ", env!("CARGO_PKG_VERSION")),
    );
    answers.number(CL_DEVICE_NUMERIC_VERSION, make_version(3, 0, 0));
    // The newest version of which nothing is missing; 3.0, which has options, is among all versions.
    answers.text(CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 1.2 offkit");
    answers.number(CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR, make_version(1, 2, 0));
    answers.bytes(
        CL_DEVICE_OPENCL_C_ALL_VERSIONS,
        name_versions(c.map(|version| ("OpenCL C", version))),
    );
    let feature = |name| (name, make_version(3, 0, 0));
    answers.bytes(CL_DEVICE_OPENCL_C_FEATURES, name_versions(FEATURES.map(feature)));
    answers.text(CL_DEVICE_EXTENSIONS, &extensions.join(" "));
    answers.bytes(CL_DEVICE_EXTENSIONS_WITH_VERSION, name_versions(EXTENSIONS));
    answers.bytes(CL_DEVICE_ILS_WITH_VERSION, name_versions(il));
    // A date that is none: nothing has been submitted to Khronos.
    answers.text(CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED, "v0000-01-01-00");
}

/// Numbers that stay the same as long as the machine and the driver do.
fn identity(answers: &mut Answers, pi: &host::Device) {
    let driver = concat!("offkit ", env!("CARGO_PKG_VERSION"));
    let name = pi.name().unwrap_or_default();
    // Hashed, so that text of any length gives the 16 bytes of a UUID, the same ones in every
    // process.
    let uuid = |text: &str| Sha256::digest(text)[..16].to_vec();
    answers.bytes(CL_DRIVER_UUID_KHR, uuid(driver));
    answers.bytes(CL_DEVICE_UUID_KHR, uuid(&format!("{driver} {name}")));
}

/// `CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR` of `cl_khr_extended_versioning`, which OpenCL 3.0 did not take over.
const CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR: cl_device_info = 0x105f;

pub(crate) fn clGetDeviceInfo(
    device: Out<_cl_device_id>,
    param_name: cl_device_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let device = Device::of(device)?;
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    if param_name == CL_DEVICE_REFERENCE_COUNT && device.object().parent.is_some() {
        return place.number(device.references());
    }
    let answer = device.object().answer(param_name);
    place.bytes(answer.ok_or(Failure(CL_INVALID_VALUE))?)
}

/// Devices that are no parts of others are not counted.
pub(crate) fn clRetainDevice(device: Out<_cl_device_id>) -> Result<()> {
    match Device::of(device)?.object().parent {
        Some(_) => Device::retain(device),
        None => Ok(()),
    }
}

pub(crate) fn clReleaseDevice(device: Out<_cl_device_id>) -> Result<()> {
    match Device::of(device)?.object().parent {
        Some(_) => Device::release(device),
        None => Ok(()),
    }
}

/// How properties, up to their first zero, have a device divided.
fn partition(properties: &[cl_device_partition_property]) -> Result<Partition> {
    let number = |value: &cl_device_partition_property| value.cast_unsigned();
    match properties {
        [CL_DEVICE_PARTITION_EQUALLY, units] => Ok(Partition::Equally(number(units))),
        [CL_DEVICE_PARTITION_BY_COUNTS, counts @ ..] => {
            Ok(Partition::ByCounts(counts.iter().map(number).collect()))
        }
        // The devices have no affinity domains.
        _ => Err(Failure(CL_INVALID_VALUE)),
    }
}

pub(crate) fn clCreateSubDevices(
    in_device: Out<_cl_device_id>,
    properties: In<cl_device_partition_property>,
    num_devices: cl_uint,
    out_devices: Out<cl_device_id>,
    num_devices_ret: Out<cl_uint>,
) -> Result<()> {
    let parent = Device::of(in_device)?;
    let how = partition(&properties.before_zero())?;
    // One compute unit is no part of the device, which has no properties then; a part that has one cannot be divided further.
    let [first] = parent.object().sizes(CL_DEVICE_PARTITION_PROPERTIES);
    require(first != 0 || parent.object().parent.is_some(), CL_INVALID_VALUE)?;
    let parts = parent.object().pi.partition(&how)?;
    if !out_devices.is_null() {
        require(num_devices as usize >= parts.len(), CL_INVALID_VALUE)?;
        let properties = how.properties();
        let part = |pi| Device::part(pi, &parent, &properties).insert();
        // The caller gets all of them or none.
        let objects = parts.into_iter().map(part).collect::<Result<Vec<_>>>()?;
        num_devices_ret.write(objects.len() as cl_uint);
        let count = objects.len();
        out_devices.fill_with(objects.into_iter().map(Handle::give), count);
        return Ok(());
    }
    num_devices_ret.write(parts.len() as cl_uint);
    Ok(())
}

pub(crate) fn clGetDeviceAndHostTimer(
    device: Out<_cl_device_id>,
    device_timestamp: Out<cl_ulong>,
    host_timestamp: Out<cl_ulong>,
) -> Result<()> {
    let device = Device::of(device)?;
    require(
        !(device_timestamp.is_null() || host_timestamp.is_null()),
        CL_INVALID_VALUE,
    )?;
    let (device_time, host_time) = timers(device.object())?;
    device_timestamp.write(device_time);
    host_timestamp.write(host_time);
    Ok(())
}

pub(crate) fn clGetHostTimer(device: Out<_cl_device_id>, host_timestamp: Out<cl_ulong>) -> Result<()> {
    let device = Device::of(device)?;
    require(!host_timestamp.is_null(), CL_INVALID_VALUE)?;
    host_timestamp.write(timers(device.object())?.1);
    Ok(())
}

fn timers(device: &Device) -> Result<(u64, u64)> {
    let (mut device_time, mut host_time) = (0, 0);
    let (device_to, host_to) = (&raw mut device_time, &raw mut host_time);
    pi!(
        device.pi.plugin(),
        piGetDeviceAndHostTimer(device.pi.raw(), device_to, host_to)
    )?;
    Ok((device_time, host_time))
}

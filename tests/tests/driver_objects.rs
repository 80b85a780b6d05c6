//! Images, samplers, parts of devices and objects of a driver's own, through the plugins over OpenCL drivers and over
//! adapters of Unified Runtime, as a host in C uses them.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use offkit_opencl::{CL_SUCCESS, cl_command_queue, cl_context};
use offkit_pi::ffi::*;
use offkit_pi::host::Plugin;
use offkit_tests::drivers::{intel, is_on, pocl};
use offkit_tests::ur_adapters::{RELEASES, Release};
use offkit_tests::{library, need, spirv};

/// What a function of a plugin's table returns.
macro_rules! result {
    ($plugin:expr, $function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the arguments are as the interface says.
        unsafe { $plugin.api().$function.unwrap()($($argument),*) }
    };
}

/// Calls a function of a plugin's table, which must succeed.
macro_rules! done {
    ($plugin:expr, $function:ident($($argument:tt)*)) => {
        let result = result!($plugin, $function($($argument)*));
        assert_eq!(result, PI_SUCCESS, "{}: {}", stringify!($function), words(&$plugin));
    };
}

/// What a function of a plugin's table makes.
macro_rules! made {
    ($plugin:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let mut made = null_mut();
        done!($plugin, $function($($argument,)* &raw mut made));
        made
    }};
}

/// The answer to a query, as a number.
macro_rules! number {
    ($plugin:expr, $type:ty, $function:ident($object:expr, $name:expr)) => {{
        let mut number: $type = 0;
        done!(
            $plugin,
            $function(
                $object,
                $name,
                size_of::<$type>(),
                (&raw mut number).cast(),
                null_mut()
            )
        );
        number
    }};
}

/// What the plugin says about the last failure, for messages.
fn words(plugin: &Plugin) -> String {
    let mut text = null_mut();
    // SAFETY: the function writes a pointer to a text that ends with a NUL.
    unsafe {
        let result = plugin.api().piPluginGetLastError.unwrap()(&raw mut text);
        format!("{result}: {}", std::ffi::CStr::from_ptr(text).to_string_lossy())
    }
}

fn device(plugin: &Plugin) -> pi_device {
    let (mut platform, mut device) = (null_mut(), null_mut());
    done!(plugin, piPlatformsGet(1, &raw mut platform, null_mut()));
    done!(
        plugin,
        piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
    );
    device
}

fn context(plugin: &Plugin, device: pi_device) -> pi_context {
    made!(
        plugin,
        piContextCreate(null(), 1, &raw const device, None, null_mut())
    )
}

/// A kernel of OpenCL C.
fn kernel(plugin: &Plugin, context: pi_context, source: &str) -> (pi_program, pi_kernel) {
    let il = spirv(source);
    let program = made!(plugin, piProgramCreate(context, il.as_ptr().cast(), il.len()));
    done!(
        plugin,
        piProgramBuild(program, 0, null(), null(), None, null_mut())
    );
    let kernel = made!(plugin, piKernelCreate(program, c"k".as_ptr()));
    (program, kernel)
}

const WIDTH: usize = 4;
const HEIGHT: usize = 3;

/// An image of four bytes an element.
const FORMAT: pi_image_format = pi_image_format {
    image_channel_order: 0x10b5,
    image_channel_data_type: 0x10da,
};

const SHAPE: pi_image_desc = pi_image_desc {
    image_type: PI_MEM_TYPE_IMAGE2D,
    image_width: WIDTH,
    image_height: HEIGHT,
    image_depth: 1,
    image_array_size: 0,
    image_row_pitch: 0,
    image_slice_pitch: 0,
    num_mip_levels: 0,
    num_samples: 0,
    buffer: null_mut(),
};

fn image(plugin: &Plugin, context: pi_context, content: Option<&[u8]>) -> pi_mem {
    let pointer = content.map_or(null_mut(), |content| content.as_ptr().cast_mut().cast());
    let flags = match content {
        Some(_) => PI_MEM_FLAGS_ACCESS_RW | PI_MEM_FLAGS_HOST_PTR_COPY,
        None => PI_MEM_FLAGS_ACCESS_RW,
    };
    made!(plugin, piMemImageCreate(context, flags, &FORMAT, &SHAPE, pointer))
}

fn at(x: usize, y: usize) -> pi_image_offset_struct {
    pi_image_offset_struct { x, y, z: 0 }
}

fn area(width: usize, height: usize) -> pi_image_region_struct {
    pi_image_region_struct {
        width,
        height,
        depth: 1,
    }
}

/// Reads all of an image.
fn read(plugin: &Plugin, queue: pi_queue, image: pi_mem) -> Vec<[u8; 4]> {
    let mut bytes = vec![0_u8; 4 * WIDTH * HEIGHT];
    let (mut origin, mut region) = (at(0, 0), area(WIDTH, HEIGHT));
    done!(
        plugin,
        piEnqueueMemImageRead(
            queue,
            image,
            PI_TRUE,
            &raw mut origin,
            &raw mut region,
            0,
            0,
            bytes.as_mut_ptr().cast(),
            0,
            null(),
            null_mut()
        )
    );
    bytes.as_chunks().0.to_vec()
}

/// Element `n` of the image that is written.
fn element(n: usize) -> [u8; 4] {
    let n = n as u8;
    [n, 2 * n, 3 * n, 255]
}

fn images_are_moved(plugin: &Plugin, context: pi_context, queue: pi_queue) {
    let elements: Vec<[u8; 4]> = (0..WIDTH * HEIGHT).map(element).collect();
    let from = image(plugin, context, Some(elements.as_flattened()));
    assert_eq!(read(plugin, queue, from), elements);
    let kind = number!(plugin, pi_mem_type, piMemGetInfo(from, PI_MEM_INFO_TYPE));
    assert_eq!(kind, PI_MEM_TYPE_IMAGE2D);
    for (name, expected) in [
        (PI_IMAGE_INFO_WIDTH, WIDTH),
        (PI_IMAGE_INFO_HEIGHT, HEIGHT),
        (PI_IMAGE_INFO_ELEMENT_SIZE, 4),
    ] {
        assert_eq!(number!(plugin, usize, piMemImageGetInfo(from, name)), expected);
    }

    // Two columns go to another image, which has one colour before, and are written over in part.
    let c = [9, 8, 7, 6];
    let to = image(plugin, context, Some([c; WIDTH * HEIGHT].as_flattened()));
    let (mut first, mut third, mut columns) = (at(0, 0), at(2, 0), area(2, HEIGHT));
    done!(
        plugin,
        piEnqueueMemImageCopy(
            queue,
            from,
            to,
            &raw mut first,
            &raw mut third,
            &raw mut columns,
            0,
            null(),
            null_mut()
        )
    );
    // Rows of the host's memory are eight bytes apart, of which four are the image's.
    let rows = [1_u8, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2];
    let (mut last, mut column) = (at(3, 1), area(1, 2));
    done!(
        plugin,
        piEnqueueMemImageWrite(
            queue,
            to,
            PI_TRUE,
            &raw mut last,
            &raw mut column,
            8,
            0,
            rows.as_ptr().cast(),
            0,
            null(),
            null_mut()
        )
    );
    let e = element;
    let expected = [[c, c, e(0), e(1)], [c, c, e(4), [1; 4]], [c, c, e(8), [2; 4]]];
    assert_eq!(read(plugin, queue, to), expected.as_flattened());

    // And all of it becomes another colour, where there is a function for that.
    let (origin, region, color) = ([0_usize; 3], [WIDTH, HEIGHT, 1], [1_u32, 2, 3, 4]);
    let filled = result!(
        plugin,
        piEnqueueMemImageFill(
            queue,
            to,
            color.as_ptr().cast(),
            origin.as_ptr(),
            region.as_ptr(),
            0,
            null(),
            null_mut()
        )
    );
    match plugin.name().contains("_ur") {
        true => assert_eq!(filled, PI_INVALID_OPERATION),
        false => assert_eq!(read(plugin, queue, to), [[1, 2, 3, 4]; WIDTH * HEIGHT]),
    }

    // Outside of the image, and as a buffer, it is refused.
    let mut byte = [0_u8; 4];
    let target: *mut c_void = byte.as_mut_ptr().cast();
    let outside = result!(
        plugin,
        piEnqueueMemImageRead(
            queue,
            to,
            PI_TRUE,
            &raw mut last,
            &raw mut columns,
            0,
            0,
            target,
            0,
            null(),
            null_mut()
        )
    );
    assert_eq!(outside, PI_INVALID_VALUE);
    let as_buffer = result!(
        plugin,
        piEnqueueMemBufferRead(queue, to, PI_TRUE, 0, 4, target, 0, null(), null_mut())
    );
    assert_eq!(as_buffer, PI_INVALID_MEM_OBJECT);
    done!(plugin, piMemRelease(to));
    done!(plugin, piMemRelease(from));
}

fn kernels_read_images_through_samplers(plugin: &Plugin, context: pi_context, queue: pi_queue) {
    // Each element becomes the one to the right of it; what is outside is 0, or the last one again.
    let source = "kernel void k(read_only image2d_t from, sampler_t sampler, write_only image2d_t to) {
                    int2 here = (int2)(get_global_id(0), get_global_id(1));
                    write_imageui(to, here, read_imageui(from, sampler, here + (int2)(1, 0)));
                  }";
    let (program, kernel) = kernel(plugin, context, source);
    let elements: Vec<[u8; 4]> = (0..WIDTH * HEIGHT).map(element).collect();
    let (from, to) = (
        image(plugin, context, Some(elements.as_flattened())),
        image(plugin, context, None),
    );
    for (addressing, outside) in [(0x1132, None), (0x1131, Some(WIDTH - 1))] {
        let properties = [
            u64::from(PI_SAMPLER_INFO_NORMALIZED_COORDS),
            0,
            u64::from(PI_SAMPLER_INFO_ADDRESSING_MODE),
            addressing,
            u64::from(PI_SAMPLER_INFO_FILTER_MODE),
            0x1140,
            0,
        ];
        let sampler = made!(plugin, piSamplerCreate(context, properties.as_ptr()));
        let asked = number!(
            plugin,
            u32,
            piSamplerGetInfo(sampler, PI_SAMPLER_INFO_ADDRESSING_MODE)
        );
        assert_eq!(u64::from(asked), addressing);
        for (index, memory) in [(0, from), (2, to)] {
            done!(plugin, piextKernelSetArgMemObj(kernel, index, &raw const memory));
        }
        done!(plugin, piextKernelSetArgSampler(kernel, 1, &raw const sampler));
        done!(plugin, piSamplerRetain(sampler));
        done!(plugin, piSamplerRelease(sampler));
        let (offset, size) = ([0_usize; 2], [WIDTH, HEIGHT]);
        done!(
            plugin,
            piEnqueueKernelLaunch(
                queue,
                kernel,
                2,
                offset.as_ptr(),
                size.as_ptr(),
                null(),
                0,
                null(),
                null_mut()
            )
        );
        let expected: Vec<[u8; 4]> = (0..WIDTH * HEIGHT)
            .map(|n| match ((n + 1) % WIDTH, outside) {
                (1.., _) => element(n + 1),
                (0, Some(column)) => element(n - n % WIDTH + column),
                (0, None) => [0; 4],
            })
            .collect();
        assert_eq!(read(plugin, queue, to), expected, "{addressing:#x}");
        done!(plugin, piSamplerRelease(sampler));
        let unused = made!(plugin, piSamplerCreate(context, properties.as_ptr()));
        done!(plugin, piSamplerRelease(unused));
        let gone = result!(plugin, piextKernelSetArgSampler(kernel, 1, &raw const unused));
        assert_eq!(gone, PI_INVALID_SAMPLER);
    }
    done!(plugin, piMemRelease(from));
    done!(plugin, piMemRelease(to));
    done!(plugin, piKernelRelease(kernel));
    done!(plugin, piProgramRelease(program));
}

fn parts_are_devices(plugin: &Plugin, whole: pi_device) {
    let units = number!(
        plugin,
        u32,
        piDeviceGetInfo(whole, PI_DEVICE_INFO_MAX_COMPUTE_UNITS)
    );
    if units < 2 {
        offkit_tests::skip("a device of one unit has no parts");
        return;
    }
    let equally = [PI_DEVICE_PARTITION_EQUALLY, 1, 0];
    let mut count = 0;
    done!(
        plugin,
        piDevicePartition(whole, equally.as_ptr(), 0, null_mut(), &raw mut count)
    );
    assert_eq!(count, units);
    let mut parts = vec![null_mut(); count as usize];
    done!(
        plugin,
        piDevicePartition(whole, equally.as_ptr(), count, parts.as_mut_ptr(), null_mut())
    );
    for part in parts {
        let of = number!(
            plugin,
            u32,
            piDeviceGetInfo(part, PI_DEVICE_INFO_MAX_COMPUTE_UNITS)
        );
        assert_eq!(of, 1);
        let parent = number!(plugin, usize, piDeviceGetInfo(part, PI_DEVICE_INFO_PARENT_DEVICE));
        assert_eq!(parent, whole.addr());
        done!(plugin, piDeviceRelease(part));
    }

    let counts = [
        PI_DEVICE_PARTITION_BY_COUNTS,
        1,
        PI_DEVICE_PARTITION_BY_COUNTS_LIST_END,
        0,
    ];
    let mut part = null_mut();
    done!(
        plugin,
        piDevicePartition(whole, counts.as_ptr(), 1, &raw mut part, null_mut())
    );
    let references = || number!(plugin, u32, piDeviceGetInfo(part, PI_DEVICE_INFO_REFERENCE_COUNT));
    assert_eq!(references(), 1);
    done!(plugin, piDeviceRetain(part));
    assert_eq!(references(), 2);
    done!(plugin, piDeviceRelease(part));

    // A kernel runs on a part.
    let context = context(plugin, part);
    let queue = made!(plugin, piQueueCreate(context, part, 0));
    let (program, kernel) = kernel(
        plugin,
        context,
        "kernel void k(global int *p) { p[get_global_id(0)] += 5; }",
    );
    let mut numbers = [1_i32, 2, 3];
    let mut buffer = null_mut();
    done!(
        plugin,
        piMemBufferCreate(
            context,
            PI_MEM_FLAGS_ACCESS_RW | PI_MEM_FLAGS_HOST_PTR_COPY,
            12,
            numbers.as_mut_ptr().cast(),
            &raw mut buffer,
            null()
        )
    );
    done!(plugin, piextKernelSetArgMemObj(kernel, 0, &raw const buffer));
    let (offset, size) = (0_usize, 3_usize);
    done!(
        plugin,
        piEnqueueKernelLaunch(
            queue,
            kernel,
            1,
            &raw const offset,
            &raw const size,
            null(),
            0,
            null(),
            null_mut()
        )
    );
    done!(
        plugin,
        piEnqueueMemBufferRead(
            queue,
            buffer,
            PI_TRUE,
            0,
            12,
            numbers.as_mut_ptr().cast(),
            0,
            null(),
            null_mut()
        )
    );
    assert_eq!(numbers, [6, 7, 8]);
    done!(plugin, piMemRelease(buffer));
    done!(plugin, piKernelRelease(kernel));
    done!(plugin, piProgramRelease(program));
    done!(plugin, piQueueRelease(queue));
    done!(plugin, piContextRelease(context));
    done!(plugin, piDeviceRelease(part));
    assert_eq!(result!(plugin, piDeviceRetain(part)), PI_INVALID_DEVICE);

    // One that is divided cannot be lost.
    done!(plugin, piDeviceRelease(whole));
    done!(plugin, piDeviceRetain(whole));
    let nonsense = [77, 1, 0];
    let refused = result!(
        plugin,
        piDevicePartition(whole, nonsense.as_ptr(), 0, null_mut(), &raw mut count)
    );
    assert_eq!(refused, PI_INVALID_VALUE);
    let many = [PI_DEVICE_PARTITION_EQUALLY, 1 << 20, 0];
    let refused = result!(
        plugin,
        piDevicePartition(whole, many.as_ptr(), 0, null_mut(), &raw mut count)
    );
    assert_ne!(refused, PI_SUCCESS);
}

/// What a host does that talks to the driver as well: it makes a program of the driver's own, and has the plugin build
/// it.
fn native_objects_go_both_ways(plugin: &Plugin, device: pi_device) {
    let (context, mut native) = (context(plugin, device), 0);
    done!(plugin, piextContextGetNativeHandle(context, &raw mut native));
    let native_context: cl_context = std::ptr::with_exposed_provenance_mut(native);
    let il = spirv("kernel void k(global int *p) { p[get_global_id(0)] = 3; }");
    let mut code = CL_SUCCESS;
    // SAFETY: every handle begins with a pointer to the table of its driver.
    let native_program = unsafe {
        let create = (*(*native_context).dispatch).clCreateProgramWithIL.unwrap();
        create(native_context, il.as_ptr().cast(), il.len(), &raw mut code)
    };
    assert_eq!(code, CL_SUCCESS);
    let (mut program, mut kernel) = (null_mut(), null_mut());
    let address = native_program.expose_provenance();
    done!(
        plugin,
        piextProgramCreateWithNativeHandle(address, context, &raw mut program)
    );
    done!(
        plugin,
        piProgramBuild(program, 0, null(), null(), None, null_mut())
    );
    done!(plugin, piKernelCreate(program, c"k".as_ptr(), &raw mut kernel));

    // A queue that has come back from the driver runs what the host has mapped.
    let (mut queue, mut same) = (null_mut(), null_mut());
    done!(
        plugin,
        piQueueCreate(context, device, PI_QUEUE_PROFILING_ENABLE, &raw mut queue)
    );
    done!(plugin, piextQueueGetNativeHandle(queue, &raw mut native));
    let native_queue: cl_command_queue = std::ptr::with_exposed_provenance_mut(native);
    // SAFETY: as above. The plugin takes over the reference.
    let retained = unsafe { (*(*native_queue).dispatch).clRetainCommandQueue.unwrap()(native_queue) };
    assert_eq!(retained, CL_SUCCESS);
    done!(
        plugin,
        piextQueueCreateWithNativeHandle(native, context, &raw mut same)
    );
    done!(plugin, piQueueRelease(queue));
    let (mut properties, size) = (0_u64, size_of::<u64>());
    let answer = (&raw mut properties).cast();
    done!(
        plugin,
        piQueueGetInfo(same, PI_QUEUE_INFO_PROPERTIES, size, answer, null_mut())
    );
    assert_eq!(properties, PI_QUEUE_PROFILING_ENABLE);
    let (mut buffer, mut mapped, mut event) = (null_mut(), null_mut(), null_mut());
    let (flags, written) = (PI_MEM_FLAGS_ACCESS_RW, PI_MAP_READ | PI_MAP_WRITE);
    done!(
        plugin,
        piMemBufferCreate(context, flags, 16, null_mut(), &raw mut buffer, null())
    );
    done!(plugin, piextKernelSetArgMemObj(kernel, 0, &raw const buffer));
    let (global, none) = ([3_usize], null());
    done!(
        plugin,
        piEnqueueKernelLaunch(
            same,
            kernel,
            1,
            null(),
            global.as_ptr(),
            null(),
            0,
            none,
            &raw mut event
        )
    );
    done!(
        plugin,
        piEnqueueMemBufferMap(
            same,
            buffer,
            PI_TRUE,
            written,
            4,
            8,
            1,
            &raw const event,
            null_mut(),
            &raw mut mapped
        )
    );
    // SAFETY: mapped, as many bytes.
    assert_eq!(unsafe { mapped.cast::<[i32; 2]>().read_unaligned() }, [3, 3]);
    done!(
        plugin,
        piEnqueueMemUnmap(same, buffer, mapped, 0, null(), null_mut())
    );
    done!(plugin, piQueueFinish(same));
    // Devices of the driver are found again.
    let mut found = null_mut();
    done!(plugin, piextDeviceGetNativeHandle(device, &raw mut native));
    done!(
        plugin,
        piextDeviceCreateWithNativeHandle(native, null_mut(), &raw mut found)
    );
    assert_eq!(found, device);
    done!(plugin, piEventRelease(event));
    done!(plugin, piMemRelease(buffer));
    done!(plugin, piQueueRelease(same));
    done!(plugin, piKernelRelease(kernel));
    done!(plugin, piProgramRelease(program));
    done!(plugin, piContextRelease(context));
}

/// The first device has it all.
fn objects_are_the_drivers(plugin: &Plugin) {
    let device = device(plugin);
    let has_images = number!(plugin, u32, piDeviceGetInfo(device, PI_DEVICE_INFO_IMAGE_SUPPORT));
    assert_eq!(has_images, PI_TRUE);
    let context = context(plugin, device);
    let queue = made!(plugin, piQueueCreate(context, device, 0));
    images_are_moved(plugin, context, queue);
    kernels_read_images_through_samplers(plugin, context, queue);
    done!(plugin, piQueueRelease(queue));
    done!(plugin, piContextRelease(context));
    parts_are_devices(plugin, device);
    native_objects_go_both_ways(plugin, device);
}

#[test]
fn objects_are_those_of_an_opencl_driver() {
    need!("clang-22");
    let test = "objects_are_those_of_an_opencl_driver";
    if is_on(intel(), test) {
        objects_are_the_drivers(&Plugin::load(library("offkit_plugin_opencl")).unwrap());
    }
}

#[test]
fn objects_are_those_of_the_adapter_of_2025_1() {
    objects_are_the_adapters("objects_are_those_of_the_adapter_of_2025_1", &RELEASES[0]);
}

#[test]
fn objects_are_those_of_the_adapter_of_2025_3() {
    objects_are_the_adapters("objects_are_those_of_the_adapter_of_2025_3", &RELEASES[1]);
}

#[track_caller]
fn objects_are_the_adapters(test: &str, release: &Release) {
    need!("clang-22");
    if release.is_inside(test) {
        objects_are_the_drivers(&Plugin::load(library("offkit_plugin_ur")).unwrap());
    }
}

#[test]
fn a_driver_has_images_or_says_that_it_has_none() {
    let test = "a_driver_has_images_or_says_that_it_has_none";
    if !is_on(pocl(), test) {
        return;
    }
    let plugin = Plugin::load(library("offkit_plugin_opencl")).unwrap();
    let device = device(&plugin);
    let context = context(&plugin, device);
    match number!(plugin, u32, piDeviceGetInfo(device, PI_DEVICE_INFO_IMAGE_SUPPORT)) {
        PI_FALSE => {
            let mut image = null_mut();
            let refused = result!(
                plugin,
                piMemImageCreate(context, 1, &FORMAT, &SHAPE, null_mut(), &raw mut image)
            );
            assert_eq!(refused, PI_INVALID_OPERATION);
            assert!(
                words(&plugin).contains("the driver has no images"),
                "{}",
                words(&plugin)
            );
        }
        _ => {
            let queue = made!(plugin, piQueueCreate(context, device, 0));
            images_are_moved(&plugin, context, queue);
            done!(plugin, piQueueRelease(queue));
        }
    }
    done!(plugin, piContextRelease(context));
}

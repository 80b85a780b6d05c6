//! What is in an image and said about it, besides its symbols.

use super::*;

/// Constants of three types, one of them used twice.
const CONSTANTS: &str = r#"
%id.int = type { i32 }
%id.bool = type { i8 }
%id.pair = type { %pair }
%pair = type { i8, i64, i8 }
@n.int = private unnamed_addr addrspace(1) constant [4 x i8] c"int\00"
@n.bool = private unnamed_addr addrspace(1) constant [5 x i8] c"bool\00"
@n.pair = private unnamed_addr addrspace(1) constant [5 x i8] c"pair\00"
@d.int = internal addrspace(1) constant %id.int { i32 7 }
@d.bool = internal addrspace(1) constant %id.bool { i8 1 }
@d.pair = internal addrspace(1) constant %id.pair { %pair { i8 2, i64 3, i8 4 } }
declare spir_func i32 @_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_(ptr addrspace(1), ptr addrspace(1), ptr)
declare spir_func i1 @_Z37__sycl_getScalar2020SpecConstantValueIbET_PKcPKvS4_(ptr addrspace(1), ptr addrspace(1), ptr)
declare spir_func void @_Z40__sycl_getComposite2020SpecConstantValueI4pairET_PKcPKvS4_(ptr sret(%pair), ptr addrspace(1), ptr addrspace(1), ptr)

define spir_kernel void @uses(ptr %out, ptr %buffer) #0 {
  %place = alloca %pair
  %a = call spir_func i32 @_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_(ptr addrspace(1) @n.int, ptr addrspace(1) @d.int, ptr %buffer)
  %b = call spir_func i1 @_Z37__sycl_getScalar2020SpecConstantValueIbET_PKcPKvS4_(ptr addrspace(1) @n.bool, ptr addrspace(1) @d.bool, ptr %buffer)
  call spir_func void @_Z40__sycl_getComposite2020SpecConstantValueI4pairET_PKcPKvS4_(ptr sret(%pair) %place, ptr addrspace(1) @n.pair, ptr addrspace(1) @d.pair, ptr %buffer)
  %c = call spir_func i32 @_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_(ptr addrspace(1) @n.int, ptr addrspace(1) @d.int, ptr %buffer)
  %sum = add i32 %a, %c
  %result = select i1 %b, i32 %sum, i32 0
  store i32 %result, ptr %out
  ret void
}
define spir_kernel void @uses_none() #1 { ret void }
attributes #0 = { "sycl-module-id"="b.cpp" }
attributes #1 = { "sycl-module-id"="a.cpp" }
"#;

fn constants(image: &Image) -> BTreeMap<String, Vec<u32>> {
    let set = image.properties.set("SYCL/specialization constants");
    let constants = set.into_iter().flat_map(|set| set.iter());
    constants
        .map(|(name, value)| (name.to_owned(), value.as_u32s().expect("numbers")))
        .collect()
}

#[test]
fn specialization_constants_become_spirvs_own() {
    let folder = Folder::new();
    module(&folder, "c.ll", CONSTANTS);
    let [uses, none] = &split(&folder, "c.ll", "-spec-const=native")[..] else {
        panic!("two images")
    };
    let expected = [
        ("bool", vec![1, 0, 1]),
        ("int", vec![0, 0, 4]),
        // Three scalars and the padding behind the last.
        ("pair", vec![2, 0, 1, 3, 8, 8, 4, 16, 1, u32::MAX, 17, 7]),
    ];
    assert_eq!(
        constants(uses),
        expected.map(|(name, words)| (name.to_owned(), words)).into()
    );
    let defaults = uses
        .properties
        .get("SYCL/specialization constants default values", "all");
    let mut bytes = vec![7, 0, 0, 0, 1, 2];
    bytes.extend([0; 7]);
    bytes.extend(3_u64.to_le_bytes());
    bytes.extend([4, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(defaults.and_then(|value| value.as_bytes()), Some(&bytes[..]));
    assert_eq!(
        uses.text
            .matches("call spir_func i32 @_Z20__spirv_SpecConstantii(i32 0, i32 7)")
            .count(),
        2
    );
    assert!(
        uses.text.contains("@_Z29__spirv_SpecConstantCompositeaxa_Rpair("),
        "{}",
        uses.text
    );
    assert!(
        !uses.text.contains("2020SpecConstantValue") && !uses.text.contains("@d.pair"),
        "{}",
        uses.text
    );
    assert!(constants(none).is_empty());
    // Nothing is done unless asked for.
    let [uses, _] = &split(&folder, "c.ll", "")[..] else {
        panic!("two images")
    };
    assert_eq!(uses.text.matches("call spir_func").count(), 4);
}

/// Memory for as many elements as a constant says.
const ALLOCATION: &str = r#"
%id = type { i64 }
@n.size = private unnamed_addr addrspace(1) constant [5 x i8] c"size\00"
@d.size = internal addrspace(1) constant %id { i64 10 }
declare ptr addrspace(4) @llvm.sycl.alloca.p4.p1.p1.p0.f64(ptr addrspace(1), ptr addrspace(1), ptr, double, i64)

define spir_kernel void @k(ptr %out, i64 %i) #0 {
  %memory = call ptr addrspace(4) @llvm.sycl.alloca.p4.p1.p1.p0.f64(ptr addrspace(1) @n.size, ptr addrspace(1) @d.size, ptr null, double 0.0, i64 16)
  %place = getelementptr double, ptr addrspace(4) %memory, i64 %i
  store double 1.0, ptr addrspace(4) %place
  ret void
}
attributes #0 = { "sycl-module-id"="a.cpp" }
"#;

#[test]
fn constants_say_how_much_memory_a_work_item_has() {
    let folder = Folder::new();
    module(&folder, "a.ll", ALLOCATION);
    let options = "-spec-const=emulation -generate-device-image-default-spec-consts";
    for (options, expected) in [
        (
            "-spec-const=native",
            &[&[
                "@_Z20__spirv_SpecConstantix(i32 0, i64 10)",
                "alloca double, i64 %",
            ][..]][..],
        ),
        (
            options,
            &[
                &["alloca double, i64 10, align 16"][..],
                &["alloca double, i64 10, align 16"],
            ],
        ),
    ] {
        let images = split(&folder, "a.ll", options);
        assert_eq!(images.len(), expected.len());
        for (number, (image, expected)) in images.iter().zip(expected).enumerate() {
            for part in *expected {
                assert!(image.text.contains(part), "{part}: {}", image.text);
            }
            assert!(!image.text.contains("llvm.sycl.alloca"), "{}", image.text);
            assert!(image.text.contains("addrspacecast ptr %"), "{}", image.text);
            if number == 0 {
                let size = ("size".to_owned(), vec![0, 0, 8]);
                assert_eq!(constants(image), [size].into());
            }
        }
    }
}

#[test]
fn a_function_says_in_one_way_how_many_registers_it_has() {
    let folder = Folder::new();
    module(
        &folder,
        "r.ll",
        r#"define spir_kernel void @k() #0 { ret void }
           attributes #0 = { "sycl-module-id"="a.cpp" "sycl-grf-size"="256" "sycl-register-alloc-mode"="2" }"#,
    );
    let text = tool_under_test(&folder, "-split=auto r.ll").stderr;
    let expected = "Unsupported use of both register_alloc_mode and grf_size";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn specialization_constants_become_loads_or_their_defaults() {
    let folder = Folder::new();
    module(&folder, "c.ll", CONSTANTS);
    let options = "-spec-const=emulation -generate-device-image-default-spec-consts";
    let images = split(&folder, "c.ll", options);
    let [uses, defaults, none] = &images[..] else {
        panic!("{} images", images.len())
    };
    let expected = [
        ("bool", vec![1, 0, 1, u32::MAX, 1, 3]),
        ("int", vec![0, 0, 4]),
        ("pair", vec![2, 0, 24]),
    ];
    assert_eq!(
        constants(uses),
        expected.map(|(name, words)| (name.to_owned(), words)).into()
    );
    for offset in [0, 4, 8] {
        let place = format!("getelementptr i8, ptr %buffer, i32 {offset}");
        assert!(uses.text.contains(&place), "{}", uses.text);
    }
    assert!(constants(defaults).is_empty());
    let mark = defaults
        .properties
        .get("SYCL/misc properties", "specConstsReplacedWithDefault");
    assert_eq!(mark.and_then(|value| value.as_u32()), Some(1));
    assert!(
        defaults.text.contains("store %pair { i8 2, i64 3, i8 4 }"),
        "{}",
        defaults.text
    );
    assert_eq!(
        (&*defaults.entry_points, &*none.entry_points),
        (&["uses".to_owned()][..], &["uses_none".to_owned()][..])
    );

    module(
        &folder,
        "bad.ll",
        &CONSTANTS.replace("ptr addrspace(1) @n.bool", "ptr addrspace(1) null"),
    );
    let said = tool_under_test(&folder, "-spec-const=native bad.ll").fails(1);
    assert!(said.contains("not a literal string"), "{said}");
}

#[test]
fn variables_are_described() {
    let folder = Folder::new();
    let body = r#"
        @everywhere = addrspace(1) global i32 0 #2
        @own = addrspace(1) global i64 0 #3
        @unused = addrspace(1) global i32 0 #5
        @unlisted = addrspace(1) global i32 0 #6
        @pipe = internal addrspace(1) constant i32 0 #4
        @llvm.compiler.used = appending global [3 x ptr] [ptr addrspacecast (ptr addrspace(1) @everywhere to ptr), ptr addrspacecast (ptr addrspace(1) @unused to ptr), ptr @f], section "llvm.metadata"
        define internal void @f() { ret void }
        define spir_kernel void @a() #0 { store i32 1, ptr addrspace(1) @everywhere ret void }
        define spir_kernel void @b() #1 { call void @stores() %y = load i32, ptr addrspace(1) @pipe ret void }
        define void @stores() { store i64 1, ptr addrspace(1) @own ret void }
        attributes #0 = { "sycl-module-id"="a.cpp" }
        attributes #1 = { "sycl-module-id"="b.cpp" }
        attributes #2 = { "sycl-device-global-size"="4" "sycl-unique-id"="every \22where\22" }
        attributes #3 = { "sycl-device-global-size"="8" "sycl-unique-id"="own" "sycl-device-image-scope"="true" }
        attributes #4 = { "sycl-host-pipe-size"="16" "sycl-unique-id"="pipe" }
        attributes #5 = { "sycl-device-global-size"="4" "sycl-unique-id"="unused" }
        attributes #6 = { "sycl-device-global-size"="4" "sycl-unique-id"="unlisted" }
    "#;
    module(&folder, "g.ll", body);
    let images = split(
        &folder,
        "g.ll",
        &format!("-device-globals {SYMBOLS} -emit-program-metadata"),
    );
    let [b, a] = &images[..] else { panic!("two images") };
    for image in [a, b] {
        let of = |key: &str| {
            image
                .properties
                .get("SYCL/device globals", key)
                .and_then(|value| value.as_u32s())
        };
        assert_eq!(of("every \"where\""), Some(vec![4, 0]));
        assert_eq!(of("own"), Some(vec![8, 1]));
        // What only the list kept is gone.
        assert!(
            of("unused").is_none() && !image.text.contains("@unused"),
            "{}",
            image.text
        );
        assert_eq!(image.symbols("exported"), ["everywhere", "unlisted"]);
        assert!(
            !image.text.contains("ptr addrspacecast"),
            "the list is cut down:\n{}",
            image.text
        );
        assert!(image.text.contains("[1 x ptr] [ptr @f]"), "{}", image.text);
    }
    let pipe = b
        .properties
        .get("SYCL/host pipes", "pipe")
        .and_then(|value| value.as_u32s());
    assert_eq!(pipe, Some(vec![16]));
    // A global of which each image has its own copy must not be used in two.
    let shared = body.replace("store i32 1, ptr addrspace(1) @everywhere", "call void @stores()");
    module(&folder, "shared.ll", &shared);
    let said = tool_under_test(&folder, "-device-globals shared.ll").fails(1);
    assert!(
        said.contains("device_global variable 'own' with property \"device_image_scope\""),
        "{said}"
    );
    tool_under_test(&folder, "-device-globals -split=none shared.ll").ok();
}

#[test]
fn sanitizers_lists_of_kernels_are_device_globals() {
    let folder = Folder::new();
    let body = r#"
        @a.name = private addrspace(1) constant [2 x i8] c"a\00"
        @b.name = private addrspace(1) constant [2 x i8] c"b\00"
        @__MsanKernelMetadata_app = appending dso_local local_unnamed_addr addrspace(1) global [2 x { i64, i64 }] [{ i64, i64 } { i64 ptrtoint (ptr addrspace(1) @a.name to i64), i64 1 }, { i64, i64 } { i64 ptrtoint (ptr addrspace(1) @b.name to i64), i64 1 }] #2
        @__asan_check_shadow_bounds = weak_odr addrspace(1) constant i32 1
        @__msan_track_origins = weak_odr addrspace(1) constant i32 1
        @llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @__MsanKernelMetadata_app to ptr)], section "llvm.metadata"
        define spir_kernel void @a(i32 %shadow) #0 {
          call spir_func void @__msan_maybe_warning_4(i32 0, i32 0)
          call spir_func void @__msan_maybe_warning_4(i32 %shadow, i32 0)
          call spir_func void @__msan_other(i32 0)
          %x = load i32, ptr addrspace(1) @__msan_track_origins
          ret void
        }
        define spir_kernel void @b() #1 { ret void }
        declare spir_func void @__msan_maybe_warning_4(i32, i32)
        declare spir_func void @__msan_other(i32)
        attributes #0 = { "sycl-module-id"="a.cpp" }
        attributes #1 = { "sycl-module-id"="b.cpp" }
        attributes #2 = { "sycl-device-global-size"="1" "sycl-device-image-scope" "sycl-unique-id"="_Z20__SanitizerKernelMetadata" }
    "#;
    for split_mode in ["source", "none"] {
        module(&folder, "s.ll", body);
        let images = split(&folder, "s.ll", &format!("-device-globals -split={split_mode}"));
        assert_eq!(images.len(), if split_mode == "none" { 1 } else { 2 });
        for image in &images {
            let line = |start: &str| {
                let found = image.text.lines().find(|line| line.starts_with(start));
                found
                    .unwrap_or_else(|| panic!("no `{start}` in\n{}", image.text))
                    .to_owned()
            };
            let list = line("@__MsanKernelMetadata_app = ");
            assert!(
                list.starts_with("@__MsanKernelMetadata_app = dso_local local_unnamed_addr addrspace(1) global %0 { [2 x { i64, i64 }] ["),
                "{list}"
            );
            assert_eq!(line("%0 = "), "%0 = type { [2 x { i64, i64 }] }");
            assert!(list.contains(", !spirv.Decorations !"), "{list}");
            assert!(
                image
                    .text
                    .contains(r#"!{i32 6147, i32 0, !"_Z20__SanitizerKernelMetadata"}"#),
                "{}",
                image.text
            );
            let value = |set: &str, key: &str| image.properties.get(set, key);
            assert_eq!(
                value("SYCL/device globals", "_Z20__SanitizerKernelMetadata")
                    .and_then(|value| value.as_u32s()),
                Some(vec![32, 1])
            );
            assert_eq!(
                value("SYCL/misc properties", "sanUsed").and_then(|value| value.as_str()),
                Some("msan")
            );
            // Where nothing uses a setting, it is not kept for others.
            assert!(
                !image.text.contains("__asan_check_shadow_bounds"),
                "{}",
                image.text
            );
        }
        let calls = |image: &Image| {
            image
                .text
                .matches("call spir_func void @__msan_maybe_warning_4(i32 %shadow")
                .count()
        };
        assert_eq!(images.iter().map(calls).sum::<usize>(), 1);
        assert!(images.iter().all(|image| !image.text.contains("warning_4(i32 0")));
        assert!(
            images
                .iter()
                .any(|image| image.text.contains("call spir_func void @__msan_other(i32 0)"))
        );
        let setting = "@__msan_track_origins = linkonce_odr addrspace(1) constant i32 1";
        assert!(
            images.iter().any(|image| image.text.contains(setting)),
            "{}",
            images[0].text
        );
    }

    // A link to SPIR-V keeps them as well, for whoever makes the images.
    module(
        &folder,
        "s.ll",
        &body.replace("call spir_func void @__msan", "; "),
    );
    folder.offkit("link s.ll -o s.syclbin").ok();
    let shown = folder.offkit("show s.syclbin").ok();
    assert!(shown.contains("_Z20__SanitizerKernelMetadata"), "{shown}");
    folder.offkit("extract s.syclbin -o linked").ok();
    let code = folder.read("linked/s.syclbin.0.ir.0.spv");
    assert!(
        code.windows(14).any(|bytes| bytes == b"__SanitizerKer"),
        "the name stands in a decoration"
    );

    // What was split once is left as it is.
    module(&folder, "s.ll", body);
    let text = split(&folder, "s.ll", "-split=none")[0].text.clone();
    folder.write("again.ll", &text);
    let again = split(&folder, "again.ll", "-split=none")[0].text.clone();
    assert_eq!(again.matches("= type {").count(), 1, "{again}");
}

#[test]
fn the_library_for_bfloat16_is_added_where_it_is_used() {
    need!("llvm-as");
    let folder = Folder::new();
    let body = r#"
        define spir_kernel void @k(ptr %p) { %x = call spir_func float @__devicelib_ConvertBF16ToFINTEL(ptr %p) ret void }
        declare spir_func float @__devicelib_ConvertBF16ToFINTEL(ptr)
    "#;
    module(&folder, "b.ll", body);
    let library = "
        define spir_func float @__devicelib_ConvertBF16ToFINTEL(ptr %p) { call spir_func void @helper() ret float 0.0 }
        define spir_func void @helper() { ret void }
    ";
    std::fs::create_dir(folder.path("libraries")).expect("a folder");
    for kind in ["fallback", "native"] {
        module(&folder, "l.ll", library);
        let output = format!("libraries/libsycl-{kind}-bfloat16.bc");
        folder
            .run(tool("llvm-as").expect("asked for"), ["l.ll", "-o", &output])
            .ok();
    }
    let images = split(&folder, "b.ll", &format!("{SYMBOLS} -device-lib-dir=libraries"));
    let [image, fallback, native] = &images[..] else {
        panic!("{} images", images.len())
    };
    let function = "__devicelib_ConvertBF16ToFINTEL";
    assert_eq!(image.symbols("imported"), [function]);
    for (library, number) in [(fallback, 0), (native, 1)] {
        assert_eq!(library.symbols("exported"), [function]);
        assert_eq!(library.external, [function, "helper"]);
        let kind = library.properties.get("SYCL/devicelib metadata", "bfloat16");
        assert_eq!(kind.and_then(|kind| kind.as_u32()), Some(number));
    }
    let [_] = &split(&folder, "b.ll", SYMBOLS)[..] else {
        panic!("one image")
    };
}

#[test]
fn what_instructions_need_counts_where_the_front_end_says_nothing() {
    need!("clang-22");
    let folder = Folder::new();
    folder.bitcode(
        "needs",
        "static double squared(double x) { return x * x; }
         kernel void plain(global float *a) { a[0] = a[1]; }
         kernel void twice(global double *a) { a[0] = squared(a[1]); }
         float shared(float x) { return x; }",
    );
    let listing = folder.offkit("post-link --json --split source needs.bc").json();
    let of = |key: &str| listing.iter().map(|image| image[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("kernels"), [json!(["twice"]), json!(["plain"]), json!([])]);
    let aspects = listing
        .iter()
        .map(|image| image["properties"]["SYCL/device requirements"]["aspects"].clone());
    assert_eq!(
        aspects.collect::<Vec<_>>(),
        [json!("06000000"), json!(""), json!("")]
    );
    // SYCL's compilers go by what their front end says, and so does their tool.
    let images = split(&folder, "needs.bc", "");
    assert!(
        property_set::to_text(&images[0].properties)
            .unwrap()
            .contains("aspects=2|AAAAAAAAAAA\n")
    );
}

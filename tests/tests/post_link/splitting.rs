//! Which image has what.

use super::*;

#[test]
fn images_are_numbered_from_the_last_group_to_the_first() {
    let folder = Folder::new();
    module(&folder, "p.ll", PROGRAM);
    let entries = |options: &str| -> Vec<String> {
        split(&folder, "p.ll", options)
            .iter()
            .map(|image| image.entry_points.join(" "))
            .collect()
    };
    assert_eq!(entries("-split=source"), ["kb eb", "ka kc ea"]);
    assert_eq!(entries(""), entries("-split=auto"));
    assert_eq!(entries("-split=auto"), entries("-split=source"));
    assert_eq!(entries("-split=kernel"), ["kc", "kb", "ka", "eb", "ea"]);
    assert_eq!(entries("-split=none"), ["ka kb kc ea eb"]);
    let only_kernels = "-emit-only-kernels-as-entry-points";
    assert_eq!(entries(&format!("-split=source {only_kernels}")), ["kb", "ka kc"]);
}

#[test]
fn without_dependencies_an_image_holds_all_that_it_needs() {
    let folder = Folder::new();
    module(&folder, "p.ll", PROGRAM);
    let options = format!("-split=source {SYMBOLS}");
    let [b, a] = &split(&folder, "p.ll", &options)[..] else {
        panic!("two images")
    };
    assert_eq!(a.external, ["ka", "kc", "ea"]);
    assert_eq!(
        a.internal,
        ["helper", "by_table", "eb"],
        "in the order of the module"
    );
    assert_eq!(
        (a.symbols("exported"), a.symbols("imported")),
        (vec!["ea"], vec![])
    );
    assert!(
        a.text.contains("define weak_odr spir_kernel void @ka()"),
        "linkage stays:\n{}",
        a.text
    );
    assert!(a.text.contains("@table"), "what a kernel loads from comes along");
    assert_eq!(
        (b.symbols("exported"), b.symbols("imported")),
        (vec!["eb"], vec![])
    );
    assert!(
        !b.text.contains("@table") && !b.text.contains("nobody"),
        "{}",
        b.text
    );

    let said = tool_under_test(&folder, "p.ll -o out.table").stderr;
    assert_eq!(
        said,
        "warning: Undefined function undefined found in p.ll. This may result in runtime errors.\n"
    );
}

#[test]
fn with_dependencies_functions_of_other_images_are_imported() {
    let folder = Folder::new();
    module(&folder, "p.ll", PROGRAM);
    let options = format!("-split=source -allow-device-image-dependencies {SYMBOLS}");
    let [b, a] = &split(&folder, "p.ll", &options)[..] else {
        panic!("two images")
    };
    assert_eq!(a.internal, ["by_table"]);
    assert_eq!(
        (a.symbols("exported"), a.symbols("imported")),
        (vec!["ea"], vec!["eb"])
    );
    // Neither what starts with two underscores, mangled or not, nor what is built in.
    assert_eq!(
        (b.symbols("exported"), b.symbols("imported")),
        (vec!["eb"], vec!["undefined"])
    );
    assert!(
        b.declared.contains(&"_Z24__spirv_SomethingOrOtherv".to_owned()),
        "{b:#?}"
    );

    // By kernel, each exported function has an image as well.
    let options = format!("-split=kernel -allow-device-image-dependencies {SYMBOLS}");
    let images = split(&folder, "p.ll", &options);
    let ea = images
        .iter()
        .find(|image| image.entry_points == ["ea"])
        .expect("an image of its own");
    assert_eq!(
        (ea.symbols("exported"), ea.symbols("imported")),
        (vec!["ea"], vec!["eb"])
    );
    assert!(
        tool_under_test(&folder, "-allow-device-image-dependencies p.ll")
            .stderr
            .is_empty()
    );
}

#[test]
fn exported_functions_can_be_apart_from_kernels() {
    let folder = Folder::new();
    module(&folder, "p.ll", PROGRAM);
    let images = |options: &str| -> Vec<(Value, Value, Value)> {
        let listing = folder.offkit(&format!("post-link --json {options} p.ll")).json();
        listing
            .iter()
            .map(|image| {
                (
                    image["kernels"].clone(),
                    image["exports"].clone(),
                    image["imports"].clone(),
                )
            })
            .collect()
    };
    let image = |kernels: &[&str], exports: &[&str], imports: &[&str]| {
        (json!(kernels), json!(exports), json!(imports))
    };
    // Kernels are self-contained but for what is nowhere, whatever it is called; exported functions import those of
    // other files.
    let nowhere = "_Z24__spirv_SomethingOrOtherv";
    assert_eq!(
        images("--split source"),
        [
            image(&["kb"], &[], &["undefined", nowhere]),
            image(&["ka", "kc"], &[], &["__private", nowhere]),
            image(&[], &["eb"], &[nowhere]),
            image(&[], &["ea"], &["eb"]),
        ]
    );
    assert_eq!(
        images("--split none"),
        [
            image(&["ka", "kb", "kc"], &[], &["undefined", "__private", nowhere]),
            image(&[], &["ea", "eb"], &[nowhere])
        ]
    );
    // As the compilers arrange it.
    assert_eq!(
        images("--split source --exports grouped"),
        [
            image(&["kb"], &["eb"], &["undefined", nowhere]),
            image(&["ka", "kc"], &["ea"], &["eb", "__private"]),
        ]
    );
    assert_eq!(
        images("--only-kernels"),
        [
            image(&["kb"], &[], &["undefined", nowhere]),
            image(&["ka", "kc"], &[], &["__private", nowhere])
        ]
    );
}

#[test]
fn requirements_split_images_and_are_recorded() {
    let folder = Folder::new();
    let body = r#"
        define spir_kernel void @plain() #0 { ret void }
        define spir_kernel void @double() #0 !sycl_used_aspects !0 { ret void }
        define spir_kernel void @sized() #0 !reqd_work_group_size !2 !work_group_num_dim !3 { ret void }
        define spir_kernel void @grouped() #0 !intel_reqd_sub_group_size !4 !sycl_kernel_omit_args !5 { ret void }
        define spir_kernel void @registers() #1 { ret void }
        attributes #0 = { "sycl-module-id"="a.cpp" "sycl-optlevel"="2" }
        attributes #1 = { "sycl-module-id"="a.cpp" "sycl-grf-size"="256" }
        !0 = !{!1, i32 -5, i32 3}
        !1 = !{!"fp64", i32 6}
        !2 = !{i32 8, i32 4}
        !3 = !{i32 2}
        !4 = !{i32 16}
        !5 = !{i1 true, i1 false, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 true}
    "#;
    module(&folder, "r.ll", body);
    let images = split(
        &folder,
        "r.ll",
        "-emit-param-info -emit-program-metadata -emit-kernel-names",
    );
    let of = |kernel: &str| {
        let image = images.iter().find(|image| image.entry_points == [kernel]);
        image
            .unwrap_or_else(|| panic!("{kernel} alone"))
            .properties
            .clone()
    };
    let words = |sets: &PropertySets, set: &str, key: &str| {
        sets.get(&format!("SYCL/{set}"), key)
            .and_then(|value| value.as_u32s())
            .unwrap_or_default()
    };
    let number = |sets: &PropertySets, set: &str, key: &str| {
        sets.get(&format!("SYCL/{set}"), key)
            .and_then(|value| value.as_u32())
    };
    // The negative one divides images and is nobody else's business.
    assert_eq!(words(&of("double"), "device requirements", "aspects"), [3, 6]);
    assert!(
        property_set::to_text(&of("plain"))
            .unwrap()
            .starts_with("[SYCL/device requirements]\naspects=2|AAAAAAAAAAA\n")
    );
    let sized = of("sized");
    assert_eq!(
        words(&sized, "device requirements", "reqd_work_group_size_uint64_t"),
        [8, 0, 4, 0]
    );
    assert_eq!(
        words(&sized, "program metadata", "sized@reqd_work_group_size"),
        [8, 4]
    );
    assert_eq!(
        number(&sized, "program metadata", "sized@work_group_num_dim"),
        Some(2)
    );
    let grouped = of("grouped");
    assert_eq!(
        number(&grouped, "device requirements", "reqd_sub_group_size"),
        Some(16)
    );
    assert_eq!(
        number(&grouped, "program metadata", "grouped@reqd_sub_group_size"),
        Some(16)
    );
    // Nine bits: the first, the third, the last.
    assert!(
        property_set::to_text(&grouped)
            .unwrap()
            .contains("\ngrouped=2|JAAAAAAAAAQBBA\n"),
        "{}",
        property_set::to_text(&grouped).unwrap()
    );
    assert_eq!(
        number(&of("registers"), "misc properties", "sycl-grf-size"),
        Some(256)
    );
    assert_eq!(number(&of("plain"), "misc properties", "optLevel"), Some(2));
    assert!(of("plain").symbols("SYCL/kernel names").eq(["plain"]));

    // In one image the sizes of its kernels may well differ.
    let [whole] = &split(&folder, "r.ll", "-split=none")[..] else {
        panic!("one image")
    };
    let size = words(
        &whole.properties,
        "device requirements",
        "reqd_work_group_size_uint64_t",
    );
    assert!(size.is_empty(), "{size:?}");
    assert_eq!(words(&whole.properties, "device requirements", "aspects"), [3, 6]);
}

#[test]
fn pointers_lead_to_what_may_be_called_through_them() {
    let folder = Folder::new();
    let body = r#"
        @vtable = linkonce_odr addrspace(1) constant [1 x ptr] [ptr @virtual]
        @shorthand = internal alias void (), ptr @aliased
        define spir_kernel void @indirect(ptr %f, i32 %x) #0 { %y = call spir_func i32 %f(i32 %x) ret void }
        define spir_kernel void @by_alias() #0 { call spir_func void @shorthand() ret void }
        define spir_kernel void @by_virtual() #1 { %f = load ptr, ptr addrspace(1) @vtable ret void }
        define spir_func i32 @callee(i32 %x) #3 { call spir_func void @below() ret i32 %x }
        define spir_func i64 @other_type(i64 %x) #3 { ret i64 %x }
        define spir_func void @below() { ret void }
        define internal spir_func void @aliased() { ret void }
        define linkonce_odr spir_func void @virtual() #2 { ret void }
        attributes #0 = { "sycl-module-id"="a.cpp" }
        attributes #1 = { "sycl-module-id"="a.cpp" "calls-indirectly"="set1,set2" }
        attributes #2 = { "sycl-module-id"="a.cpp" "indirectly-callable"="set1" }
        attributes #3 = { "referenced-indirectly" }
    "#;
    module(&folder, "i.ll", body);
    let images = split(&folder, "i.ll", "-split=kernel");
    let of = |entry: &str| {
        images
            .iter()
            .find(|image| image.entry_points == [entry])
            .expect("an image")
    };
    let indirect = of("indirect");
    assert_eq!(
        (&*indirect.external, &*indirect.internal),
        (
            &["indirect".to_owned(), "callee".into()][..],
            &["below".to_owned()][..]
        )
    );
    assert_eq!(of("by_alias").internal, ["aliased"]);
    // Virtual functions are in images of their own, and found by the name of their set.
    let user = of("by_virtual");
    assert_eq!(
        (&user.declared[..], user.internal.len()),
        (&["virtual".to_owned()][..], 0)
    );
    let set = |image: &Image, key: &str| {
        let value = image.properties.get("SYCL/virtual functions", key);
        value.and_then(|value| value.as_str()).map(str::to_owned)
    };
    assert_eq!(
        set(user, "uses-virtual-functions-set").as_deref(),
        Some("set1,set2")
    );
    assert_eq!(
        set(of("virtual"), "virtual-functions-set").as_deref(),
        Some("set1")
    );
    assert_eq!(of("virtual").external, ["virtual"]);
}

#[test]
fn virtual_functions_that_need_an_optional_feature_have_stand_ins() {
    let folder = Folder::new();
    let body = r#"
        @vtable = linkonce_odr addrspace(1) constant [3 x ptr] [ptr @precise, ptr @measure, ptr @plain]
        @table = internal addrspace(1) constant [2 x double] [double 1.0, double 2.0]
        define spir_kernel void @creates(ptr addrspace(1) %object) #0 { store ptr addrspace(1) @vtable, ptr addrspace(1) %object ret void }
        define linkonce_odr spir_func void @precise(ptr %x, i1 %b) #2 !sycl_used_aspects !0 {
        start:
            %d = load double, ptr %x
            br i1 %b, label %more, label %end
        more:
            call spir_func void @below(ptr %x)
            br label %end
        end:
            %p = phi double [ %d, %start ], [ 1.0, %more ]
            %t = load double, ptr addrspace(1) @table
            %r = fadd double %p, %t
            store double %r, ptr %x
            ret void
        }
        define linkonce_odr spir_func i32 @measure(ptr %x) #2 !sycl_used_aspects !0 { %d = load double, ptr %x %i = fptosi double %d to i32 ret i32 %i }
        define linkonce_odr spir_func void @plain(ptr %x) #3 { store float 1.0, ptr %x ret void }
        define internal spir_func void @below(ptr %x) { store double 0.0, ptr %x ret void }
        attributes #0 = { "sycl-module-id"="a.cpp" "calls-indirectly"="plain" }
        attributes #2 = { "sycl-module-id"="a.cpp" "indirectly-callable"="precise" }
        attributes #3 = { "sycl-module-id"="a.cpp" "indirectly-callable"="plain" }
        !0 = !{i32 6}
    "#;
    module(&folder, "v.ll", body);
    let images = split(&folder, "v.ll", "-split=auto -emit-only-kernels-as-entry-points");
    let [precise, dummy, plain, kernels] = &images[..] else {
        panic!("four images, not {}", images.len())
    };
    let number = |image: &Image, set: &str, key: &str| image.properties.get(set, key)?.as_u32();
    let set = |image: &Image| {
        let value = image
            .properties
            .get("SYCL/virtual functions", "virtual-functions-set");
        value.and_then(|value| value.as_str()).map(str::to_owned)
    };
    let aspects = |image: &Image| {
        let value = image.properties.get("SYCL/device requirements", "aspects");
        value.and_then(|value| value.as_u32s())
    };
    for (image, name, is_dummy, needed) in [
        (precise, Some("precise"), None, vec![6]),
        (dummy, Some("precise"), Some(1), vec![]),
        (plain, Some("plain"), None, vec![]),
        (kernels, None, None, vec![]),
    ] {
        assert_eq!(set(image).as_deref(), name, "{}", image.text);
        assert_eq!(
            number(image, "SYCL/virtual functions", "dummy-image"),
            is_dummy,
            "{}",
            image.text
        );
        assert_eq!(aspects(image), Some(needed), "{}", image.text);
    }
    let functions = ["precise".to_owned(), "measure".into()];
    for image in [precise, dummy] {
        assert_eq!(
            (&image.external[..], &image.entry_points[..]),
            (&functions[..], &functions[..])
        );
    }
    assert_eq!(precise.internal, ["below"]);
    assert!(precise.text.contains("fadd double"), "{}", precise.text);
    // What is left is signatures.
    assert!(
        dummy.internal.is_empty() && dummy.declared.is_empty(),
        "{}",
        dummy.text
    );
    for gone in ["double", "@table", "sycl_used_aspects", "br "] {
        assert!(!dummy.text.contains(gone), "{gone} is left:\n{}", dummy.text);
    }
    let returns: Vec<&str> = dummy
        .text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("ret "))
        .collect();
    assert_eq!(returns, ["ret void", "ret i32 undef"]);

    // One file of IR is never linked to another.
    tool_under_test(&folder, "-ir-output-only -split=auto -S v.ll -o one.ll").ok();
}

#[test]
fn lists_of_kernels_hold_what_is_left() {
    let folder = Folder::new();
    let body = r#"
        @llvm.used = appending global [2 x ptr] [ptr @k1, ptr @k2], section "llvm.metadata"
        define spir_kernel void @k1() !dbg !10 { ret void }
        define spir_kernel void @k2() !dbg !11 { ret void }
        !spirv.ExecutionMode = !{!0, !1}
        !sycl_registered_kernels = !{!2}
        !llvm.dbg.cu = !{!5}
        !llvm.module.flags = !{!6}
        !0 = !{ptr @k1, i32 17, i32 8, i32 1, i32 1}
        !1 = !{ptr @k2, i32 17, i32 4, i32 1, i32 1}
        !2 = !{!3, !4}
        !3 = !{!"first", !"k1"}
        !4 = !{!"second", !"k2"}
        !5 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !7, emissionKind: FullDebug)
        !6 = !{i32 2, !"Debug Info Version", i32 3}
        !7 = !DIFile(filename: "a.cpp", directory: "/")
        !8 = !DISubroutineType(types: !9)
        !9 = !{}
        !10 = distinct !DISubprogram(name: "k1", file: !7, line: 1, type: !8, unit: !5, spFlags: DISPFlagDefinition)
        !11 = distinct !DISubprogram(name: "k2", file: !7, line: 2, type: !8, unit: !5, spFlags: DISPFlagDefinition)
    "#;
    module(&folder, "l.ll", body);
    let images = split(&folder, "l.ll", "-split=kernel");
    let [k2, k1] = &images[..] else {
        panic!("two images")
    };
    for (image, own, other) in [(k1, "k1", "k2"), (k2, "k2", "k1")] {
        assert_eq!(image.external, [own]);
        assert!(
            !image.text.contains(other),
            "nothing is left of {other}:\n{}",
            image.text
        );
        assert!(
            image.text.contains(&format!("!{{ptr @{own}, i32 17")),
            "{}",
            image.text
        );
    }
    let registered = k1.properties.set("SYCL/registered kernels").expect("a set");
    assert_eq!(registered.len(), 1);
    assert_eq!(
        registered.get("first").and_then(|value| value.as_str()),
        Some("k1")
    );
}

#[test]
fn esimd_code_can_be_split_off_and_is_not_lowered() {
    let folder = Folder::new();
    let body = r#"
        define spir_kernel void @plain() #0 { call spir_func void @both() ret void }
        define spir_kernel void @simd() #0 !sycl_explicit_simd !0 { call spir_func void @below() call spir_func void @both() ret void }
        define spir_func void @below() !sycl_explicit_simd !0 { ret void }
        define spir_func void @both() { ret void }
        attributes #0 = { "sycl-module-id"="a.cpp" }
        !0 = !{}
    "#;
    module(&folder, "e.ll", body);
    let [simd, plain] = &split(&folder, "e.ll", "-split-esimd")[..] else {
        panic!("two images")
    };
    let table = String::from_utf8(folder.read("out.table")).expect("a text");
    assert!(
        table.contains("\nout_esimd_0.ll|") && table.contains("\nout_0.ll|"),
        "one number for both:\n{table}"
    );
    assert_eq!(
        (&simd.external[..], &simd.internal[..]),
        (&["simd".to_owned()][..], &["below".to_owned(), "both".into()][..])
    );
    assert_eq!(
        (&plain.external[..], &plain.internal[..]),
        (&["plain".to_owned()][..], &["both".to_owned()][..])
    );
    let mark = |image: &Image| {
        image
            .properties
            .get("SYCL/misc properties", "isEsimdImage")
            .is_some()
    };
    assert!(mark(simd) && !mark(plain));
    let [together] = &split(&folder, "e.ll", "")[..] else {
        panic!("one image")
    };
    assert_eq!(together.entry_points, ["plain", "simd"]);
    let said = tool_under_test(&folder, "-lower-esimd e.ll").fails(1);
    assert!(said.contains("`simd` is explicit SIMD code"), "{said}");
}

#[test]
fn targets_leave_out_what_they_cannot_run() {
    let folder = Folder::new();
    let body = r#"
        define spir_kernel void @double() #0 !sycl_used_aspects !0 { ret void }
        define spir_kernel void @small() #0 !intel_reqd_sub_group_size !2 { ret void }
        attributes #0 = { "sycl-module-id"="a.cpp" }
        !0 = !{!1}
        !1 = !{!"fp64", i32 6}
        !2 = !{i32 8}
    "#;
    module(&folder, "t.ll", body);
    let targets = ["intel_gpu_tgllp", "intel_gpu_pvc", "intel_gpu_skl", "future_gpu"];
    let outputs = targets
        .map(|target| format!("-o {target},{target}.table"))
        .join(" ");
    tool_under_test(
        &folder,
        &format!("t.ll -properties -split=kernel -o t.table {outputs}"),
    )
    .ok();
    let rows = |name: &str| {
        String::from_utf8(folder.read(&format!("{name}.table")))
            .expect("a text")
            .lines()
            .count()
            - 1
    };
    assert_eq!(rows("t"), 2);
    // No double, sub-groups of 16 or 32 only, everything, and one that nobody knows.
    assert_eq!(targets.map(rows), [1, 1, 2, 2]);
}

#[test]
fn images_do_not_depend_on_how_many_are_made_at_a_time() {
    need!("clang-22");
    let folder = Folder::new();
    let mut source = "float shared(float x) { return sin(x) * x; }\n".to_owned();
    for kernel in 0..24 {
        writeln!(
            source,
            "static float own{kernel}(float x) {{ return shared(x) + {kernel}; }}"
        )
        .unwrap();
        writeln!(
            source,
            "kernel void k{kernel}(global float *a) {{ a[0] = own{kernel}(a[1]); }}"
        )
        .unwrap();
    }
    folder.bitcode("many", &source);
    for jobs in [1, 2, 5] {
        let listing = folder
            .offkit(&format!(
                "post-link many.bc --split kernel --json --jobs {jobs} -o out{jobs}"
            ))
            .json();
        assert_eq!(listing.len(), 25);
        // What the device supplies is nobody's to import, and clang's copies of kernels are nobody's to call.
        assert!(
            listing.iter().all(|image| image["imports"] == json!([])),
            "{listing:#?}"
        );
        assert_eq!(listing[24]["exports"], json!(["shared"]));
    }
    for number in 0..25 {
        let name = format!("many_{number}.bc");
        let one = folder.read(&format!("out1/{name}"));
        assert!(
            one == folder.read(&format!("out2/{name}")) && one == folder.read(&format!("out5/{name}")),
            "{name}"
        );
    }
}

//! What a plan says of kernels: who meets again where, what stays strided, what is between barriers.

use offkit_compile::{Arithmetic, Cut, Plan, Shape, Variant, prepare};
use offkit_kernel::ir::{BlockId, Module, Operand, Operation, Terminator, ValueId};
use offkit_spirv::grammar::Op;

const TYPES: &str = r#"offkit-kernel 1
type #0 void
type #1 scalar i32
type #2 pointer CrossWorkgroup #1
type #3 scalar i64
type #4 vector i64 3
type #5 scalar bool
variable &0 "id" input GlobalInvocationId i64x3 32
kernel "k" @0

function @0 "k" #0
  parameter %0 #2
  parameter %1 i32
"#;

const VARIANT: Variant = Variant {
    width: 8,
    rows: true,
    full: true,
    narrow_ids: true,
    contract: true,
    check_bounds: false,
    cut: Cut::AsSeen,
    arithmetic: Arithmetic {
        no_signed_zeros: false,
        relaxed: false,
        exact_quotients: false,
    },
};

fn plan(body: &str) -> Plan {
    planned(body).1
}

/// The plan of a kernel, with the module that it is of.
fn planned(body: &str) -> (Module, Plan) {
    plan_of(&format!("{TYPES}{body}"), VARIANT)
}

/// The same, of a whole module for some variant.
fn plan_of(module: &str, variant: Variant) -> (Module, Plan) {
    let module = Module::from_text(module).expect("a module");
    let prepared = prepare(&module, 0).expect("it is prepared");
    let plan = Plan::new(&prepared, 0, variant).expect("a plan");
    (prepared, plan)
}

/// The shapes of all stored values and their addresses, in order.
fn stored(plan: &Plan) -> Vec<(Shape, Shape)> {
    let shape = |operand| match operand {
        offkit_kernel::ir::Operand::Value(value) => plan.shapes.word(value, 0),
        offkit_kernel::ir::Operand::Constant(_) => Shape::Uniform,
    };
    let blocks = plan.function.blocks.iter();
    let instructions = blocks.flat_map(|block| &block.instructions);
    let stores =
        instructions.filter(|instruction| instruction.operation == offkit_kernel::ir::Operation::Store);
    stores
        .map(|store| (shape(store.operands[0]), shape(store.operands[1])))
        .collect()
}

/// A loop that work-items leave one by one: what it counts is the same for those who are in it, and differs outside.
#[test]
fn what_leaves_a_loop_at_different_times_differs() {
    let plan = plan(
        r"block ^0
  %2 i64x3 = input &0 ()
  %3 i64 = extract 0 (%2)
  %4 #2 = address 0 [4] (%0 %3) in_bounds
  %5 i32 = load (%4) align 4
  end jump ^1
block ^1
  %6 i32 = phi [^0 i32:0 ^2 %8]
  %7 bool = op SLessThan (%6 %5)
  end branch %7 ^2 ^3
block ^2
  %8 i32 = op IAdd (%6 i32:1)
  end jump ^1
block ^3
  store (%4 %6) align 4
  end return none
",
    );
    assert_eq!(stored(&plan), [(Shape::Strided(4), Shape::Varying)]);
    let region = &plan.regions[0];
    assert!(!region.is_plain);
    assert!(region.loops[0].is_divergent);
}

/// A loop whose rounds some work-items end early by its head, and others by another way: whoever goes round first comes
/// to what is below in a later round.
#[test]
fn a_way_back_to_the_head_is_no_way_on() {
    let plan = plan(
        r"block ^0
  %2 i64x3 = input &0 ()
  %3 i64 = extract 0 (%2)
  %4 #2 = address 0 [4] (%0 %3) in_bounds
  %5 i32 = load (%4) align 4
  end jump ^1
block ^1
  %6 i32 = phi [^0 %5 ^2 %8]
  %7 bool = op SGreaterThan (%6 i32:100)
  end branch %7 ^2 ^3
block ^2
  %8 i32 = op IAdd (%6 i32:4294967196)
  end jump ^1
block ^3
  %9 bool = op SGreaterThan (%6 i32:50)
  end branch %9 ^4 ^5
block ^4
  store (%4 i32:1) align 4
  end jump ^5
block ^5
  end return none
",
    );
    let region = &plan.regions[0];
    assert_eq!(region.loops.len(), 1);
    assert!(region.loops[0].is_divergent);
    // What is behind the loop is executed by all who were there before it.
    let blocks = plan.function.blocks.iter();
    let last = blocks
        .map(|block| &block.terminator)
        .position(|end| *end == Terminator::Return(None));
    let control = region.control[last.expect("an end")].expect("a block of the region");
    assert_eq!(control.mask, BlockId(0));
    // Not so in the loop: who goes back by the other way comes to its end in a later round.
    let inside = region.loops[0].range;
    let in_loop = region.order[inside.0..=inside.1].iter();
    let masks = in_loop.map(|block| {
        region.control[block.0 as usize]
            .expect("a block of the region")
            .mask
    });
    assert!(masks.into_iter().all(|mask| mask != BlockId(0)));
}

/// A 32-bit index may wrap; an address that is computed from it stays strided, anything else does not.
#[test]
fn addresses_stay_strided_where_an_index_may_wrap() {
    let plan = plan(
        r"block ^0
  %2 i64x3 = input &0 ()
  %3 i64 = extract 0 (%2)
  %4 i32 = convert unsigned (%3)
  %5 i32 = op IAdd (%4 %1)
  %6 i64 = convert signed (%5)
  %7 #2 = address 0 [4] (%0 %6) in_bounds
  %8 i32 = op IMul (%1 i32:3)
  %9 i32 = op IAdd (%4 %8)
  %10 i64 = convert signed (%9)
  %11 i64 = op ShiftRightArithmetic (%10 i64:8)
  %12 i32 = convert unsigned (%11)
  store (%7 %12) align 4
  end return none
",
    );
    assert_eq!(stored(&plan), [(Shape::Strided(4), Shape::Varying)]);
    let wraps = (0..plan.function.values.len()).any(|value| plan.shapes.may_wrap(ValueId(value as u32)));
    assert!(wraps);
}

/// What a kernel compares, or keeps, of an index that may wrap is the number of each work-item; the addresses made of it stay
/// strided, through sums of the wide number and pointers as well.
#[test]
fn an_index_that_is_more_than_an_address_leaves_addresses_strided() {
    let plan = plan(
        r"block ^0
  %2 i64x3 = input &0 ()
  %3 i64 = extract 0 (%2)
  %4 i32 = convert unsigned (%3)
  %5 i32 = op IAdd (%4 %1)
  %6 i64 = convert signed (%5)
  %7 bool = op SLessThan (%6 i64:1000)
  end branch %7 ^1 ^2
block ^1
  %8 #2 = address 0 [4] (%0 %6) in_bounds
  %9 i32 = load (%8) align 4
  %10 i64 = op IAdd (%6 i64:7)
  %11 i64 = op ShiftRightArithmetic (%10 i64:8)
  %12 i32 = convert unsigned (%11)
  %13 #2 = address 0 [4] (%0 %10) in_bounds
  store (%13 %12) align 4
  %14 #2 = address 12 [] (%13)
  %15 i64 = reinterpret (%14)
  %16 i32 = convert unsigned (%15)
  store (%14 %16) align 4
  %17 i32 = op IAdd (%16 %9)
  store (%0 %17) align 4
  end jump ^2
block ^2
  end return none
",
    );
    let expected = [
        (Shape::Strided(4), Shape::Varying),
        (Shape::Strided(4), Shape::Varying),
        (Shape::Uniform, Shape::Varying),
    ];
    assert_eq!(stored(&plan), expected);
    // The comparison is made of a number that was not counted from the first work-item's.
    let blocks = plan.function.blocks.iter();
    let compared: Vec<Operand> = blocks
        .flat_map(|block| &block.instructions)
        .filter(|found| found.operation == Operation::Elementwise(Op::SLessThan))
        .map(|found| found.operands[0])
        .collect();
    let [Operand::Value(compared)] = compared[..] else {
        panic!("one comparison of a value: {compared:?}");
    };
    assert_eq!(plan.shapes.word(compared, 0), Shape::Varying);
}

/// By a large stride an index wraps from one place in an object to another, so that the address varies: a hash, a shift to
/// the highest bit, and one element more than a vector may reach over.
#[test]
fn addresses_vary_where_an_index_wraps_by_a_large_stride() {
    let shape = |index: &str| {
        let plan = plan(&format!(
            r"block ^0
  %2 i64x3 = input &0 ()
  %3 i64 = extract 0 (%2)
  %4 i32 = convert unsigned (%3)
  %5 i32 = op {index}
  %6 i64 = convert unsigned (%5)
  %7 #2 = address 0 [4] (%0 %6)
  store (%7 i32:1) align 4
  %8 #2 = address 0 [4] (%0 %5)
  store (%8 i32:1) align 4
  end return none
"
        ));
        let found = stored(&plan);
        // An address takes an index as it is as well.
        assert_eq!(found[0], found[1], "{index}");
        found[0].0
    };
    for varies in [
        "IMul (%4 i32:2654435761)",
        "IMul (%4 i32:2147483649)",
        "ShiftLeftLogical (%4 i32:31)",
        "IMul (%4 i32:2097153)",
        "IMul (%4 i32:4292870143)",
    ] {
        assert_eq!(shape(varies), Shape::Varying, "{varies}");
    }
    assert_eq!(shape("IMul (%4 i32:2097152)"), Shape::Strided(4 * 2_097_152));
    assert_eq!(shape("SNegate (%4)"), Shape::Strided(-4));
}

/// A 32-bit index that is a part of a wider number has the stride of its own 32 bits, and nothing that holds for the wider
/// number holds for it.
#[test]
fn an_index_that_is_cut_has_a_stride_of_its_own() {
    let shape = |product: &str| {
        let plan = plan(&format!(
            r"block ^0
  %2 i64x3 = input &0 ()
  %3 i64 = extract 0 (%2)
  %4 i64 = op {product}
  %5 i32 = convert unsigned (%4)
  %6 i64 = convert signed (%5)
  %7 #2 = address 0 [4] (%0 %6)
  store (%7 i32:1) align 4
  end return none
"
        ));
        stored(&plan)[0].0
    };
    // 2^32 + 1 for each: the index itself counts by one.
    assert_eq!(shape("IMul (%3 i64:4294967297)"), Shape::Strided(4));
    assert_eq!(
        shape("IMul (%3 i64:4294967297) no_signed_wrap"),
        Shape::Strided(4)
    );
    // 2^32: all are at one place.
    assert_eq!(shape("ShiftLeftLogical (%3 i64:32)"), Shape::Uniform);
    // 2^30 + 1: every fourth is at the same place but for four elements.
    let far = "IMul (%3 i64:1073741825) no_signed_wrap";
    assert_eq!(shape(far), Shape::Varying);
}

/// A private array with parts of one size is interleaved: at an index that all have there is one access. What is also read
/// in other sizes, or whose address goes elsewhere, stays one work-item's after the other's.
#[test]
fn private_arrays_are_interleaved_where_nobody_can_tell() {
    const ARRAY: &str = "type #6 array #1 24
type #7 pointer Function #6
type #8 pointer Function #1
type #9 pointer Function #3
";
    let planned = |body: &str| {
        let types = TYPES.replace("variable &0", &format!("{ARRAY}variable &0"));
        let text = format!(
            "{types}  variable #7 %2 #6
block ^0
  %3 i64x3 = input &0 ()
  %4 i64 = extract 0 (%3)
  %5 i32 = convert unsigned (%4)
  %6 #8 = address 0 [4] (%2 %1)
  %7 #8 = address 8 [4] (%2 %5)
{body}  end return none
"
        );
        plan_of(&text, VARIANT).1
    };
    let plain = planned(
        "  store (%6 %5) align 4
  store (%7 i32:3) align 4
  %8 i32 = load (%6) align 4
  %9 #2 = address 0 [4] (%0 %4)
  store (%9 %8) align 4
",
    );
    let variable = plain.function.variables[0].address;
    assert_eq!(plain.interleaved.part(Operand::Value(variable)), Some(4));
    // The second index is each work-item's own: 32 bytes to the next element and 4 to the next work-item.
    assert_eq!(
        stored(&plain),
        [
            (Shape::Strided(4), Shape::Strided(1)),
            (Shape::Strided(36), Shape::Uniform),
            (Shape::Strided(4), Shape::Varying),
        ]
    );
    // A number of bytes that is a multiple of a part, wherever it comes from.
    let stepped = |step: u32| {
        planned(&format!(
            "  end jump ^1
block ^1
  %8 i32 = phi [^0 i32:0 ^1 %10]
  %9 #8 = address 0 [1] (%2 %8)
  store (%9 %5) align 4
  %10 i32 = op IAdd (%8 i32:{step})
  %11 bool = op SLessThan (%10 %1)
  end branch %11 ^1 ^2
block ^2
"
        ))
    };
    assert_eq!(stored(&stepped(4))[0].0, Shape::Strided(4));
    assert_eq!(stored(&stepped(6))[0].0, Shape::Varying);
    for body in [
        // Read in another size.
        "  store (%6 %5) align 4\n  %8 #9 = reinterpret (%6)\n  store (%8 i64:1) align 4\n",
        // Told to somebody.
        "  store (%6 %5) align 4\n  %8 i64 = reinterpret (%6)\n  %9 i32 = convert unsigned (%8)\n  %10 #2 = address 0 [4] (%0 %4)\n  store (%10 %9) align 4\n",
        // No whole number of parts from the start.
        "  store (%6 %5) align 4\n  %8 #8 = address 2 [] (%6)\n  store (%8 i32:1) align 2\n",
    ] {
        let plan = planned(body);
        let variable = plan.function.variables[0].address;
        assert_eq!(plan.interleaved.part(Operand::Value(variable)), None, "{body}");
        assert_eq!(stored(&plan)[0].0, Shape::Varying, "{body}");
    }
}

/// As compilers write `int a[24] = {0}` and `{1, 2}`: copies of a table of bytes, long or short.
#[test]
fn private_arrays_are_interleaved_that_begin_as_copies_of_bytes() {
    for (count, content) in [(12, "0"), (24, "0"), (12, "1 0 0 0 2"), (24, "1 0 0 0 2")] {
        let size = 4 * count;
        let zeros = " 0".repeat(size - content.split(' ').count());
        let types = TYPES.replace(
            "variable &0",
            &format!(
                "type #6 array #1 {count}
type #7 pointer Function #6
type #8 pointer Function #1
type #9 scalar i8
type #10 array #9 {size}
type #11 pointer Function #10
constant $0 #10 [{content}{zeros}]
variable &0"
            ),
        );
        let text = format!(
            "{types}  variable #7 %2 #6
  variable #11 %3 #10 initializer $0
block ^0
  copy (%2 %3 i64:{size}) align 4
  %4 i64x3 = input &0 ()
  %5 i64 = extract 0 (%4)
  %6 #8 = address 0 [4] (%2 %1)
  %7 i32 = load (%6) align 4
  %8 #2 = address 0 [4] (%0 %5)
  store (%8 %7) align 4
  end return none
"
        );
        let plan = plan_of(&text, VARIANT).1;
        let variable = plan.function.variables[0].address;
        let part = plan.interleaved.part(Operand::Value(variable));
        assert_eq!(part, Some(4), "{size} bytes: {content}");
    }
}

/// A barrier in a loop makes two regions, and a third if the loop is left between.
#[test]
fn barriers_part_regions_wherever_they_are() {
    let plan = plan(
        r"block ^0
  %2 i64x3 = input &0 ()
  %3 i64 = extract 0 (%2)
  %4 #2 = address 0 [4] (%0 %3) in_bounds
  end jump ^1
block ^1
  %5 i32 = phi [^0 i32:0 ^1 %6]
  store (%4 %5) align 4
  collective barrier work_group uniform () order Workgroup 272
  %6 i32 = op IAdd (%5 i32:1)
  %7 bool = op SLessThan (%6 %1)
  end branch %7 ^1 ^2
block ^2
  store (%4 i32:7) align 4
  end return none
",
    );
    assert_eq!(plan.regions.len(), 2);
    // What the loop counts is kept from one round to the next.
    assert!(plan.regions.iter().any(|region| !region.reads.is_empty()));
    assert!(plan.regions.iter().all(|region| region.is_plain));
}

/// A loop that sums what it reads from a row, times what it reads where a number from a second place leads it; other
/// indices are %10, the same for all, and %22, a column's.
fn sums_products(first: &str, second: &str) -> Plan {
    plan(&format!(
        r"block ^0
  %2 i64x3 = input &0 ()
  %3 i64 = extract 0 (%2)
  %4 i64 = op IMul (%3 i64:100)
  %5 #2 = address 0 [4] (%0 %4)
  %6 i64 = op IAdd (%4 i64:100)
  end jump ^1
block ^1
  %7 i64 = phi [^0 %4 ^1 %16]
  %8 #2 = phi [^0 %5 ^1 %17]
  %9 i32 = phi [^0 i32:0 ^1 %15]
  %10 i64 = op ISub (%7 %4)
  %21 i64 = op IAdd (%3 %7)
  %22 i64 = op ISub (%21 %4)
  {first}
  {second}
  %12 i32 = load (%11) align 4
  %23 i64 = convert signed (%12)
  %13 #2 = address 0 [4] (%0 %23)
  %14 i32 = load (%13) align 4
  %24 i32 = op IMul (%20 %14)
  %15 i32 = op IAdd (%9 %24)
  %16 i64 = op IAdd (%7 i64:1)
  %17 #2 = address 4 [] (%8)
  %18 bool = op SLessThan (%16 %6)
  end branch %18 ^1 ^2
block ^2
  %19 #2 = address 0 [4] (%0 %3)
  store (%19 %15) align 4
  end return none
"
    ))
}

/// Two rows of each work-item's own are worth reading in order; what lies side by side, or is the same for all, is not.
#[test]
fn rows_of_each_work_items_own_are_seen() {
    let row_read = "%20 i32 = load (%8) align 4";
    let [by_index, by_pointer] = ["%11 #2 = address 0 [4] (%0 %7)", "%11 #2 = address 4096 [] (%8)"];
    for row in [by_index, by_pointer] {
        assert!(sums_products(row_read, row).reads_rows, "{row}");
    }
    let twice = "%11 #2 = address 0 [8] (%0 %7)";
    let column = "%11 #2 = address 0 [4] (%0 %22)";
    let same = "%11 #2 = address 0 [4] (%0 %10)";
    for other in [twice, column, same] {
        assert!(!sums_products(row_read, other).reads_rows, "{other}");
    }
    let stored = format!("{row_read}\n  store (%8 %9) align 4");
    assert!(!sums_products(&stored, by_index).reads_rows);
}

/// A listing names shapes, masks, loops and regions, each instruction once.
#[test]
fn listings_say_what_is_planned() {
    let (module, plan) = planned(
        r"block ^0
  %2 i64x3 = input &0 ()
  %3 i64 = extract 0 (%2)
  %4 #2 = address 0 [4] (%0 %3) in_bounds
  %5 i32 = load (%4) align 4
  collective barrier work_group uniform () order Workgroup 272
  end jump ^1
block ^1
  %6 i32 = phi [^0 i32:0 ^1 %7]
  %7 i32 = op IAdd (%6 i32:1)
  %8 bool = op SLessThan (%7 %5)
  end branch %8 ^1 ^2
block ^2
  store (%4 %7) align 4
  end return none
",
    );
    let listing = plan.listing(&module).to_string();
    let says = |text: &str| assert_eq!(listing.matches(text).count(), 1, "{text}\n{listing}");
    says("vectors of 8 work-items along the first dimension, all of them full; ids have 31 bits\n");
    says("region 0 from the start: work-items stay together\n");
    says("region 1 behind the barrier of ^0: work-items part\n");
    says("  // to the next region\n");
    says(": work-items leave it one by one\n");
    says("    strided 1, uniform, uniform  %2 i64x3 = input &0 ()\n");
    says("    strided 4                    %4 #2 = address 0 [4] (%0 %3) in_bounds\n");
    says("    varying                      %5 i32 = load (%4) align 4\n");
    says("  // work-items part\n");
}

/// A value that is read behind the second barrier of a loop, and made in the round before: between the barriers it is made
/// anew on one of two ways, and is what it was on the other.
#[test]
fn what_is_made_on_one_way_alone_is_kept_on_the_other() {
    let body = |condition: &str| {
        plan(&format!(
            r"block ^0
  %2 i64x3 = input &0 ()
  %3 i64 = extract 0 (%2)
  %4 #2 = address 0 [4] (%0 %3) in_bounds
  end jump ^1
block ^1
  %5 i32 = phi [^0 i32:0 ^2 %8]
  %6 i32 = op IMul (%5 %1)
  end jump ^2
block ^2
  collective barrier work_group uniform () order Workgroup 272
  %7 i32 = load (%4) align 4
  %8 i32 = op IAdd (%5 i32:1)
  %9 bool = op SLessThan ({condition} %1)
  end branch %9 ^1 ^3
block ^3
  collective barrier work_group uniform () order Workgroup 272
  store (%4 %6) align 4
  end return none
"
        ))
    };
    let made = ValueId(6);
    // All go the same way.
    let plan = body("%8");
    assert_eq!(plan.shapes.word(made, 0), Shape::Uniform);
    let [_, between, last] = &plan.regions[..] else {
        panic!("{:?}", plan.regions);
    };
    assert!(between.is_plain);
    assert!(between.writes.contains(&made) && between.reads.contains(&made));
    assert!(between.renewed.is_empty());
    assert!(last.reads.contains(&made) && !last.writes.contains(&made));
    // Some of a vector make it anew.
    let plan = body("%7");
    assert_eq!(plan.shapes.word(made, 0), Shape::Varying);
    assert!(plan.regions[1].renewed.contains(&made));
    assert!(!plan.regions[1].reads.is_empty());
}

/// Where groups lie in others, what is computed from their ids is as regular as a global id; parts of ids are not.
#[test]
fn ids_of_groups_that_lie_in_others_make_global_ids() {
    let text = |size: &str, part: &str| {
        format!(
            r#"offkit-kernel 1
type #0 void
type #1 scalar i32
type #2 pointer CrossWorkgroup #1
type #3 scalar i64
type #4 vector i64 3
type #5 scalar i16
variable &0 "group" input WorkgroupId #4 32
variable &1 "size" input {size} #4 32
variable &2 "local" input LocalInvocationId #4 32
kernel "k" @0

function @0 "k" #0
  parameter %0 #2
block ^0
  %1 #4 = input &0 ()
  %2 #3 = extract 0 (%1)
  %3 {part} = convert unsigned (%2)
  %4 #3 = convert unsigned (%3)
  %5 #4 = input &1 ()
  %6 #3 = extract 0 (%5)
  %7 #3 = op IMul (%4 %6)
  %8 #4 = input &2 ()
  %9 #3 = extract 0 (%8)
  %10 #3 = op IAdd (%9 %7)
  %11 #2 = address 0 [4] (%0 %10)
  store (%11 i32:1)
  end return none
"#
        )
    };
    let address = |size: &str, part: &str, cut: Cut| {
        let (_, plan) = plan_of(&text(size, part), Variant { cut, ..VARIANT });
        stored(&plan)[0].0
    };
    for size in ["WorkgroupSize", "EnqueuedWorkgroupSize"] {
        for cut in [Cut::AsSeen, Cut::Single, Cut::Merged] {
            assert_eq!(address(size, "#1", cut), Shape::Strided(4), "{size} {cut:?}");
        }
        assert_eq!(address(size, "#5", Cut::AsSeen), Shape::Strided(4));
        for cut in [Cut::Single, Cut::Merged] {
            assert_eq!(address(size, "#5", cut), Shape::Varying, "{size} {cut:?}");
        }
    }
    assert_eq!(address("NumWorkgroups", "#1", Cut::Merged), Shape::Varying);
}

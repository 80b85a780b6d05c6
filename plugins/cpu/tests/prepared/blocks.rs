//! Blocks of memory that a sub-group reads and writes: clang has no name for them.

use offkit_compile::prepare;
use offkit_kernel::ir::{CollectiveKind, Module, Operation};

use crate::random::run;

#[test]
fn each_work_item_has_its_part_of_a_block() {
    let text = "offkit-kernel 1\n\
        type #0 void\ntype #1 scalar i32\ntype #2 pointer CrossWorkgroup #1\ntype #3 vector i32 2\n\
        variable &0 \"lane\" input SubgroupLocalInvocationId i32 4\n\
        kernel \"k\" @0\n\
        function @0 \"k\" #0\n  parameter %0 #2\n\
        block ^0\n  %1 #1 = input &0 ()\n  %2 #1 = op IMul (%1 i32:3)\n  %3 #2 = address 0 [4] (%0 %1)\n  \
        store (%3 %2)\n  %4 #2 = address 32 [4] (%0 %1)\n  %5 #1 = op IAdd (%2 i32:100)\n  store (%4 %5)\n  \
        collective barrier work_group uniform ()\n  \
        %6 #3 = collective block_read sub_group uniform (%0)\n  %7 #3 = op IAdd (%6 %6)\n  \
        %8 #2 = address 64 [] (%0)\n  collective block_write sub_group uniform (%8 %7)\n  end return none\n";
    let mut module = Module::from_text(text).unwrap_or_else(|error| panic!("{error}"));
    // On every machine.
    module.kernels[0].sub_group_size = Some(8);
    let prepared = prepare(&module, 0).expect("nothing is refused");
    let mut instructions = prepared.functions[0]
        .blocks
        .iter()
        .flat_map(|block| &block.instructions);
    let is_barrier = |operation: &Operation| match operation {
        Operation::Collective(collective) => collective.kind == CollectiveKind::Barrier,
        _ => true,
    };
    assert!(
        instructions.all(|instruction| is_barrier(&instruction.operation)),
        "{prepared}"
    );
    let bytes = run(prepared, 8);
    assert_eq!(bytes, run(module, 8));
    let words: Vec<u32> = bytes
        .chunks(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    let expected: Vec<u32> = (0..8)
        .map(|lane| 6 * lane)
        .chain((0..8).map(|lane| 6 * lane + 200))
        .collect();
    assert_eq!(words[16..], expected);
}

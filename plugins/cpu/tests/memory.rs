//! Device memory as the host uses it.

use offkit_plugin_cpu::{Allocation, AllocationKind, Memory, MemoryError};

#[test]
fn allocations_are_aligned_zeroed_and_apart() {
    let memory = Memory::new();
    let mut ranges = Vec::new();
    for align in [1, 64, 4096, 1 << 16] {
        for size in [1, 100, 5000] {
            let address = memory.allocate(size, align, AllocationKind::Shared).unwrap();
            assert!(address.is_multiple_of(align.max(64) as u64));
            let mut bytes = vec![1; size];
            memory.read(address, &mut bytes).unwrap();
            assert!(bytes.iter().all(|byte| *byte == 0));
            ranges.push((address, address + size as u64));
        }
    }
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[1].0 - pair[0].1 >= 64));
}

/// Bytes of this process that are in the machine's memory.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let told = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = told.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kibibytes: usize = line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
    kibibytes << 10
}

#[cfg(target_os = "linux")]
#[test]
fn what_nobody_uses_takes_no_memory() {
    const SIZE: usize = 1 << 29;
    let memory = Memory::new();
    let before = resident();
    let address = memory.allocate(SIZE, 128, AllocationKind::Buffer).unwrap();
    memory.write(address + SIZE as u64 / 2, &[1]).unwrap();
    assert!(resident() < before + SIZE / 2);
}

#[test]
fn lookup_finds_the_allocation_around_an_address() {
    let memory = Memory::new();
    let base = memory.allocate(100, 8, AllocationKind::Device).unwrap();
    let expected = Some(Allocation {
        base,
        size: 100,
        kind: AllocationKind::Device,
    });
    assert_eq!(memory.lookup(base), expected);
    assert_eq!(memory.lookup(base + 99), expected);
    assert_eq!(memory.lookup(base + 100), None);
    assert_eq!(memory.lookup(base - 1), None);
    memory.free(base).unwrap();
    assert_eq!(memory.lookup(base), None);
    assert_eq!(memory.free(base), Err(MemoryError::NotAnAllocation(base)));
}

#[test]
fn accesses_outside_are_refused() {
    let memory = Memory::new();
    let base = memory.allocate(16, 8, AllocationKind::Buffer).unwrap();
    let out_of_bounds = |address, size| Err(MemoryError::OutOfBounds { address, size });
    assert_eq!(memory.write(base + 12, &[0; 8]), out_of_bounds(base + 12, 8));
    assert_eq!(memory.read(base - 1, &mut [0]), out_of_bounds(base - 1, 1));
    assert_eq!(memory.fill(base, &[1, 2], 18), out_of_bounds(base, 18));
    assert_eq!(memory.copy(base, base + 8, 9), out_of_bounds(base + 8, 9));
    assert_eq!(memory.check(base, u64::MAX), out_of_bounds(base, u64::MAX));
    assert_eq!(
        memory.fill(base, &[1, 2, 3], 4),
        Err(MemoryError::BadPattern { size: 4, pattern: 3 })
    );
    assert_eq!(
        memory.allocate(0, 8, AllocationKind::Buffer),
        Err(MemoryError::ZeroSize)
    );
    assert_eq!(
        memory.allocate(8, 3, AllocationKind::Buffer),
        Err(MemoryError::BadAlignment(3))
    );
    let huge = usize::MAX / 2;
    assert_eq!(
        memory.allocate(huge, 8, AllocationKind::Buffer),
        Err(MemoryError::OutOfMemory(huge))
    );
}

#[test]
fn fills_and_overlapping_copies() {
    let memory = Memory::new();
    let size = 200_000u64;
    let base = memory.allocate(size as usize, 8, AllocationKind::Buffer).unwrap();
    let read = |offset: u64, length: usize| {
        let mut bytes = vec![0; length];
        memory.read(base + offset, &mut bytes).unwrap();
        bytes
    };
    memory.fill(base + 1, &[1, 2, 3], 150_000).unwrap();
    assert_eq!(read(0, 8), [0, 1, 2, 3, 1, 2, 3, 1]);
    assert_eq!(read(149_999, 4), [2, 3, 0, 0]);
    // One value, in a range that starts and ends between words; and a pattern longer than all that is written
    // at a time.
    memory.fill(base + 3, &[9, 9], 200).unwrap();
    assert_eq!(read(0, 5), [0, 1, 2, 9, 9]);
    assert_eq!(read(201, 4)[..2], [9, 9]);
    assert_ne!(read(203, 1), [9]);
    let long: Vec<u8> = (0..40_000u32).map(|index| (index % 251) as u8).collect();
    memory.fill(base + 5, &long, 80_000).unwrap();
    assert!(read(5, 40_000) == long && read(40_005, 40_000) == long);
    assert_eq!(read(80_005, 3), [1, 2, 3]);
    for (destination, source) in [(7, 0), (0, 7), (5, 4)] {
        let expected = read(source, 190_000);
        memory.copy(base + destination, base + source, 190_000).unwrap();
        assert!(
            read(destination, 190_000) == expected,
            "{source} to {destination}"
        );
    }
}

#[test]
fn host_memory_is_used_in_place() {
    let memory = Memory::new();
    let mut values = vec![7u32; 8];
    let address = values.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the vector outlives its registration, and is not touched while others may.
    unsafe { memory.register_host(address, 32).unwrap() };
    memory.write(address + 4, &9u32.to_le_bytes()).unwrap();
    let own = memory.allocate(64, 4, AllocationKind::Buffer).unwrap();
    // SAFETY: it is not registered, for the device has it.
    let overlap = unsafe { memory.register_host(own + 16, 16) };
    assert!(matches!(overlap, Err(MemoryError::Overlap { existing, .. }) if existing.base == own));
    assert!(memory.free(address).is_err(), "it is the host's");
    memory.forget_host(address, 32).unwrap();
    assert_eq!(values[..3], [7, 9, 7]);
    assert!(memory.write(address, &[0]).is_err());
}

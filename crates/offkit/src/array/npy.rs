//! Arrays as `.npy` files, the format of NumPy's `save`, versions 1 to 3.

use super::{Array, ElementType, memory, shape_text};

/// What stands before this array's data in a `.npy` file: format version 1, or 2 where the shape is
/// too long for it.
pub(crate) fn header(array: &Array) -> Vec<u8> {
    let kind = match array.element {
        ElementType::Int {
            signed: true,
            bytes: 1,
        } => "|i1".to_owned(),
        ElementType::Int {
            signed: false,
            bytes: 1,
        } => "|u1".to_owned(),
        ElementType::Int { signed: true, bytes } => format!("<i{bytes}"),
        ElementType::Int { signed: false, bytes } => format!("<u{bytes}"),
        ElementType::Float { bytes } => format!("<f{bytes}"),
    };
    let shape = shape_text(&array.shape);
    let text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic, version, length and text end on a multiple of 64, with a line break.
    let end = |start: usize| (start + text.len() + 1).next_multiple_of(64);
    let mut bytes = b"\x93NUMPY".to_vec();
    let end = match u16::try_from(end(10) - 10) {
        Ok(length) => {
            bytes.extend_from_slice(&[1, 0]);
            bytes.extend_from_slice(&length.to_le_bytes());
            end(10)
        }
        Err(_) => {
            bytes.extend_from_slice(&[2, 0]);
            bytes.extend_from_slice(&((end(12) - 12) as u32).to_le_bytes());
            end(12)
        }
    };
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(end - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// Reads a `.npy` file, of either byte order and either order of elements: what comes out has the same elements at the
/// same indices, little endian and in row-major order.
///
/// Refused, with the offset where it helps: arrays of records, elements that are no numbers, and a size that does not
/// fit the shape.
pub(crate) fn parse(bytes: &[u8]) -> Result<Array, String> {
    let (text_start, data_start) = header_range(bytes)?;
    let (header, data) = bytes.split_at(data_start);
    let header = std::str::from_utf8(&header[text_start..])
        .map_err(|_| format!("offset {text_start:#x}: the header is not text"))?;
    let missing = |key: &str| format!("offset {text_start:#x}: no `{key}` in the header");

    let kind = field(header, "descr").ok_or_else(|| missing("descr"))?;
    let kind = kind.strip_prefix('\'').and_then(|kind| kind.split_once('\''));
    let (kind, _) = kind.ok_or("an array of records: expected plain numbers")?;
    let (element, is_big_endian) = element(kind)?;
    let shape = field(header, "shape").ok_or_else(|| missing("shape"))?;
    let shape =
        extents(shape).ok_or_else(|| format!("offset {text_start:#x}: the shape is not a tuple of sizes"))?;
    let order = field(header, "fortran_order").ok_or_else(|| missing("fortran_order"))?;
    let is_column_major = match order {
        order if order.starts_with("False") => false,
        order if order.starts_with("True") => true,
        _ => {
            return Err(format!(
                "offset {text_start:#x}: `fortran_order` is neither True nor False"
            ));
        }
    };
    let expected = shape
        .iter()
        .try_fold(element.size() as u64, |product, &extent| {
            product.checked_mul(extent)
        })
        .ok_or("the shape is too large")?;
    if expected != data.len() as u64 {
        return Err(format!(
            "offset {data_start:#x}: {} bytes of data, expected {expected} for shape {shape:?} of {element}",
            data.len(),
        ));
    }
    let mut copy = memory(expected)?;
    // A dimension of one index moves no element, and a file may have millions of them.
    let moving: Vec<u64> = shape.iter().copied().filter(|extent| *extent != 1).collect();
    // With one dimension both orders are the same, and all can be copied at once.
    match is_column_major && moving.len() > 1 {
        true => copy_row_major(data, element.size(), &moving, &mut copy),
        false => copy.extend_from_slice(data),
    }
    if is_big_endian {
        copy.chunks_exact_mut(element.size()).for_each(<[u8]>::reverse);
    }
    Ok(Array {
        element,
        shape,
        data: copy,
    })
}

/// Copies elements of `size` bytes from column-major order, in which the first index changes fastest, to row-major
/// order, in which the last does.
fn copy_row_major(data: &[u8], size: usize, shape: &[u64], out: &mut Vec<u8>) {
    // An array of none has no bytes, so every extent is as large as an address at most.
    let mut steps = Vec::new();
    let mut step = size;
    for &extent in shape {
        steps.push(step);
        step = step.saturating_mul(extent as usize);
    }
    let mut index = vec![0; shape.len()];
    let mut from = 0;
    while let Some(element) = data.get(from..from + size) {
        out.extend_from_slice(element);
        // The next index: the last one that is not at its end moves on, and those behind it begin anew.
        let mut dimension = shape.len();
        loop {
            let Some(before) = dimension.checked_sub(1) else {
                return;
            };
            dimension = before;
            index[dimension] += 1;
            from += steps[dimension];
            if index[dimension] < shape[dimension] {
                break;
            }
            from -= steps[dimension] * shape[dimension] as usize;
            index[dimension] = 0;
        }
    }
}

/// Where the header's text and the data begin.
fn header_range(bytes: &[u8]) -> Result<(usize, usize), String> {
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err("not a `.npy` file: offset 0x0: expected the bytes 93 4E 55 4D 50 59".into());
    }
    let (start, length) = match bytes.get(6..12) {
        Some(&[1, _, low, high, ..]) => (10, u32::from(u16::from_le_bytes([low, high]))),
        Some(&[2 | 3, _, a, b, c, d]) => (12, u32::from_le_bytes([a, b, c, d])),
        Some(&[version, ..]) => return Err(format!("offset 0x6: format version {version}, expected 1 to 3")),
        _ => return Err("offset 0x6: the file ends in its header".into()),
    };
    let end = start as u64 + u64::from(length);
    match usize::try_from(end) {
        Ok(end) if end <= bytes.len() => Ok((start, end)),
        _ => Err(format!(
            "offset 0x8: a header that ends at {end:#x}, but the file ends at {:#x}",
            bytes.len()
        )),
    }
}

/// What follows `'key':` in the header, which is a dictionary as Python writes it.
fn field<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    // NumPy writes keys by Python's `repr`, which takes these quotes.
    let (_, value) = header.split_once(&format!("'{key}':"))?;
    Some(value.trim_start())
}

/// The sizes of a tuple such as `(2, 3)`, `(4,)` or `()`.
fn extents(text: &str) -> Option<Vec<u64>> {
    let (sizes, _) = text.strip_prefix('(')?.split_once(')')?;
    let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
    sizes.map(|size| size.parse().ok()).collect()
}

/// The element type that NumPy writes as byte order, kind and size, `<f4`, and whether it is big endian.
fn element(kind: &str) -> Result<(ElementType, bool), String> {
    let unknown = || format!("elements of type `{kind}`: expected integers or floating-point numbers");
    let (order, rest) = kind.split_at_checked(1).ok_or_else(unknown)?;
    let element = match rest {
        "i1" | "i2" | "i4" | "i8" | "u1" | "u2" | "u4" | "u8" | "f2" | "f4" | "f8" => {
            let (class, bytes) = rest.split_at(1);
            let bytes = bytes.parse().map_err(|_| unknown())?;
            match class {
                "f" => ElementType::Float { bytes },
                class => ElementType::Int {
                    signed: class == "i",
                    bytes,
                },
            }
        }
        // NumPy's `bool` takes a byte for each element.
        "b1" => ElementType::Int {
            signed: false,
            bytes: 1,
        },
        _ => return Err(unknown()),
    };
    match order {
        "<" | "|" => Ok((element, false)),
        // That of the machine, which no file should say.
        "=" => Ok((element, cfg!(target_endian = "big"))),
        ">" => Ok((element, true)),
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;

    /// The bytes of a file with this array.
    fn write(array: &Array) -> Vec<u8> {
        [header(array), array.data.clone()].concat()
    }

    #[test]
    fn what_is_written_is_read() {
        let array = sample();
        let bytes = write(&array);
        assert_eq!(parse(&bytes), Ok(array.clone()));
        assert!(
            String::from_utf8_lossy(&bytes)
                .contains("'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)")
        );
        assert_eq!((bytes.len() - array.data.len()) % 64, 0, "NumPy aligns the data");
        let many_dimensions = Array {
            shape: [vec![1; 1 << 15], vec![6]].concat(),
            ..array
        };
        assert_eq!(parse(&write(&many_dimensions)), Ok(many_dimensions));
    }

    #[test]
    fn damaged_files_are_refused_at_every_length_and_bit() {
        let bytes = write(&sample());
        for length in 0..bytes.len() {
            assert!(parse(&bytes[..length]).is_err(), "cut to {length} bytes");
        }
        let mut header = bytes.clone();
        for bit in 0..8 * 128 {
            header[bit / 8] ^= 1 << (bit % 8);
            let _ = parse(&header);
            header[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn elements_keep_their_indices_in_every_order() {
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3, 2), }\n";
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend_from_slice(&(header.len() as u16).to_le_bytes());
        file.extend_from_slice(header.as_bytes());
        // The element at [i, j, k] is ijk, as three digits.
        for k in 0..2_i16 {
            for j in 0..3 {
                for i in 0..2 {
                    file.extend_from_slice(&(100 * i + 10 * j + k).to_be_bytes());
                }
            }
        }
        let array = parse(&file).unwrap();
        let elements: Vec<i16> = array
            .data
            .chunks(2)
            .map(|bytes| i16::from_le_bytes([bytes[0], bytes[1]]))
            .collect();
        assert_eq!(elements, [0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121]);
    }

    #[test]
    fn dimensions_of_one_index_cost_nothing_for_each_element() {
        const SIDE: usize = 1 << 9;
        let shape = format!("({SIDE}, {SIDE}, {})", "1, ".repeat(1 << 16));
        let header = format!("{{'descr': '|u1', 'fortran_order': True, 'shape': {shape}, }}\n");
        let mut file = b"\x93NUMPY\x02\x00".to_vec();
        file.extend_from_slice(&(header.len() as u32).to_le_bytes());
        file.extend_from_slice(header.as_bytes());
        // The element at [i, j, 0, …] is i.
        file.extend((0..SIDE * SIDE).map(|place| (place % SIDE) as u8));
        let array = parse(&file).unwrap();
        assert_eq!(array.shape.len(), 2 + (1 << 16));
        let is_row = |(i, row): (usize, &[u8])| row.iter().all(|element| *element == i as u8);
        assert!(array.data.chunks(SIDE).enumerate().all(is_row));
    }

    #[test]
    fn other_arrays_are_refused_by_name() {
        let file = |header: &str| {
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
            bytes.extend_from_slice(header.as_bytes());
            bytes
        };
        let refused = |header: &str| parse(&file(header)).unwrap_err();
        let with = |kind: &str, order: &str, shape: &str| {
            format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}\n")
        };
        assert!(refused(&with("<c8", "False", "(0,)")).contains("<c8"));
        assert!(refused(&with("<f4", "Maybe", "(0, 2)")).contains("neither True nor False"));
        assert!(refused(&with("<f4", "False", "(4294967296, 4294967296)")).contains("too large"));
        assert!(refused(&with("<f4", "False", "(3,)")).contains("0 bytes of data, expected 12"));
        assert!(refused(&with("<f4", "False", "(-1,)")).contains("not a tuple of sizes"));
        assert!(refused("{'descr': [('a', '<f4')], }").contains("records"));
        assert!(refused("{}").contains("no `descr`"));
        // Arrays of none are arrays too.
        for (kind, order, shape) in [
            ("|u1", "False", "(0,)"),
            (">f4", "True", "(0, 18446744073709551615)"),
        ] {
            let array = parse(&file(&with(kind, order, shape)));
            assert_eq!(array.map(|array| array.data), Ok(Vec::new()), "{shape}");
        }
    }
}

//! Elements in bytes: little-endian, row-major, two I4 in a byte with the even one in the low nibble (clause DAT-02).

use crate::DType;

/// The bits of element `index` of a packed buffer; none behind its end.
pub fn element(dtype: DType, bytes: &[u8], index: usize) -> Option<u32> {
    match dtype.bits() {
        4 => bytes.get(index / 2).map(|byte| u32::from(byte >> (index % 2 * 4) & 0xf)),
        8 => bytes.get(index).map(|&byte| u32::from(byte)),
        bits => {
            let size = bits as usize / 8;
            let start = index.checked_mul(size)?;
            bytes.get(start..start.checked_add(size)?).map(little_endian)
        }
    }
}

/// The bits of every element of a packed buffer, in order. Of I4, an odd number of elements is seen as one more: the
/// high nibble of the last byte.
pub fn elements(dtype: DType, bytes: &[u8]) -> Vec<u32> {
    match dtype.bits() {
        4 => bytes.iter().flat_map(|byte| [u32::from(byte & 0xf), u32::from(byte >> 4)]).collect(),
        8 => bytes.iter().map(|&byte| u32::from(byte)).collect(),
        bits => bytes.chunks_exact(bits as usize / 8).map(little_endian).collect(),
    }
}

/// Packs elements given as bits; what lies above the width of an element is dropped. A nibble left over is zero.
pub fn pack(dtype: DType, elements: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let mut elements = elements.into_iter();
    match dtype.bits() {
        4 => {
            let mut bytes = Vec::with_capacity(elements.size_hint().0.div_ceil(2));
            while let Some(low) = elements.next() {
                let high = elements.next().unwrap_or(0);
                bytes.push((low & 0xf | (high & 0xf) << 4) as u8);
            }
            bytes
        }
        8 => elements.map(|bits| bits as u8).collect(),
        16 => elements.flat_map(|bits| (bits as u16).to_le_bytes()).collect(),
        _ => elements.flat_map(u32::to_le_bytes).collect(),
    }
}

fn little_endian(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u32::from(byte))
}

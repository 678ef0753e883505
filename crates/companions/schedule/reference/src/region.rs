//! Regions: whether they fit their tensor, and the bytes that they are (clause SCH-04).

use megakernel_schedule::Region;

/// The largest number of copies, and of most else.
pub const MOST: i64 = 2_147_483_647;

/// What is wrong with a region: where in it, and what.
pub struct Wrong {
    /// The rest of the pointer, from the region on.
    pub at: String,
    /// What was found, and what is required.
    pub message: String,
}

fn wrong(at: impl Into<String>, message: String) -> Result<(), Wrong> {
    Err(Wrong { at: at.into(), message })
}

/// Judges a region of a tensor of this shape, in a task that stands for so many.
///
/// # Errors
/// The first thing that is wrong (ES02).
pub fn check(region: &Region, shape: &[i64], times: i64) -> Result<(), Wrong> {
    // Most are no more than a box, and right.
    let fits = |(&[lo, hi], &extent): (&[i64; 2], &i64)| 0 <= lo && lo <= hi && hi <= extent;
    let is_box = !region.is_object() && region.bounds.len() == shape.len();
    if is_box && region.bounds.iter().zip(shape).all(fits) {
        return Ok(());
    }
    let inside = if region.is_object() { "/box" } else { "" };
    if region.bounds.len() != shape.len() {
        let message =
            format!("found intervals for {} axes, the tensor has {}", region.bounds.len(), shape.len());
        return wrong("", message);
    }
    for (axis, &[lo, hi]) in region.bounds.iter().enumerate() {
        if lo < 0 || hi < lo {
            let message = format!("found [{lo}, {hi}], required 0 <= lo <= hi");
            return wrong(format!("{inside}/{axis}"), message);
        }
    }
    for (number, &[axis, step, count]) in region.runs().iter().enumerate() {
        let is_axis = usize::try_from(axis).is_ok_and(|axis| axis < shape.len());
        if !is_axis || step < 0 || !(1..=MOST).contains(&count) {
            let message = format!(
                "found [{axis}, {step}, {count}], required an axis below {}, a step of 0 or more and a count from 1 to {MOST}",
                shape.len()
            );
            return wrong(format!("/runs/{number}"), message);
        }
    }
    if let Some(shift) = region.shift().filter(|shift| shift.len() != shape.len()) {
        let message = format!("found a shift of {} axes, the tensor has {}", shift.len(), shape.len());
        return wrong("", message);
    }
    if region.bounds.iter().any(|[lo, hi]| lo == hi) {
        return Ok(());
    }
    for (axis, (&[lo, hi], &extent)) in region.bounds.iter().zip(shape).enumerate() {
        let runs: i128 =
            runs_along(region, axis).map(|[step, count]| i128::from(step) * i128::from(count - 1)).sum();
        let moved = i128::from(shift(region, axis)) * i128::from(times - 1);
        let (first, last) = (i128::from(lo) + moved.min(0), i128::from(hi) + runs + moved.max(0));
        if first < 0 || last > i128::from(extent) {
            let message = format!(
                "it reaches from {first} to {last} along axis {axis}, where the tensor has 0 to {extent}"
            );
            return wrong("", message);
        }
    }
    Ok(())
}

fn runs_along(region: &Region, axis: usize) -> impl Iterator<Item = [i64; 2]> + '_ {
    let along = move |&&[of, ..]: &&[i64; 3]| usize::try_from(of) == Ok(axis);
    region.runs().iter().filter(along).map(|&[_, step, count]| [step, count])
}

fn shift(region: &Region, axis: usize) -> i64 {
    region.shift().and_then(|shift| shift.get(axis)).copied().unwrap_or(0)
}

/// The first axes, those that a box without gap does not cover wholly: the last of them may be covered in part.
fn cut(region: &Region, shape: &[i64]) -> usize {
    let whole = region.bounds.iter().zip(shape).rev().take_while(|&(bounds, &extent)| *bounds == [0, extent]);
    shape.len() - whole.count()
}

/// As how many intervals of bytes a region counts, at most as many as fit (clause SCH-04). It has been checked.
pub fn count(region: Option<&Region>, shape: &[i64]) -> u64 {
    let Some(region) = region else { return 1 };
    if region.bounds.iter().any(|[lo, hi]| lo == hi) {
        return 0;
    }
    let copies = region.runs().iter().map(|&[_, _, count]| count);
    let rows = region.bounds.iter().take(cut(region, shape).saturating_sub(1)).map(|[lo, hi]| hi - lo);
    copies.chain(rows).fold(1u64, |all, count| all.saturating_mul(count.unsigned_abs()))
}

/// Adds the intervals of bytes of a region: ascending, and with gaps between them. The tensor begins at `start`.
pub fn push(
    region: Option<&Region>,
    (shape, element): (&[i64], i64),
    start: u64,
    copy: u32,
    out: &mut Vec<[u64; 2]>,
) {
    let mut stride = element.unsigned_abs();
    let Some(region) = region else {
        return out
            .push([start, start + shape.iter().fold(stride, |all, &extent| all * extent.unsigned_abs())]);
    };
    if region.bounds.iter().any(|[lo, hi]| lo == hi) {
        return;
    }
    let first = out.len();
    let cut = cut(region, shape);
    let (mut corner, mut length) = (start, None);
    for (axis, (&extent, &[lo, hi])) in shape.iter().zip(&region.bounds).enumerate().rev() {
        corner += (lo + shift(region, axis) * i64::from(copy)).unsigned_abs() * stride;
        if axis + 1 == cut {
            length = Some((hi - lo).unsigned_abs() * stride);
        }
        stride *= extent.unsigned_abs();
    }
    let length = length.unwrap_or(stride);
    // Most regions are one interval.
    if cut <= 1 && region.runs().is_empty() {
        return out.push([corner, corner + length]);
    }
    let mut stride = element.unsigned_abs();
    let mut strides = vec![0; shape.len()];
    for (axis, &extent) in shape.iter().enumerate().rev() {
        strides[axis] = stride;
        stride *= extent.unsigned_abs();
    }
    // Dimensions to walk over: bytes between neighbours, and how many there are.
    let rows = (0..cut.saturating_sub(1))
        .map(|axis| [strides[axis], (region.bounds[axis][1] - region.bounds[axis][0]).unsigned_abs()]);
    let copies = region.runs().iter().map(|&[axis, step, count]| {
        [step.unsigned_abs() * usize::try_from(axis).map_or(0, |axis| strides[axis]), count.unsigned_abs()]
    });
    let mut begins = vec![corner];
    for [step, count] in rows.chain(copies) {
        let known = begins.len();
        for number in 1..count {
            for index in 0..known {
                begins.push(begins[index] + number * step);
            }
        }
    }
    begins.sort_unstable();
    for begin in begins {
        let end = begin + length;
        match out.get_mut(first..).and_then(<[_]>::last_mut) {
            Some(last) if begin <= last[1] => last[1] = last[1].max(end),
            _ => out.push([begin, end]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use megakernel_schedule::Copies;

    fn bytes(region: &Region, shape: &[i64], element: i64, copy: u32) -> Vec<[u64; 2]> {
        let mut out = Vec::new();
        push(Some(region), (shape, element), 100, copy, &mut out);
        out
    }

    #[test]
    fn a_box_is_as_many_intervals_as_it_has_rows() {
        let mut region = Region { bounds: vec![[1, 3], [0, 4], [2, 4]].into(), object: None };
        let shape = [3, 4, 4];
        let rows: Vec<_> =
            (0..8).map(|row| [100 + 2 * (16 + 4 * row + 2), 100 + 2 * (16 + 4 * row + 4)]).collect();
        assert_eq!(bytes(&region, &shape, 2, 0), rows);
        assert_eq!(count(Some(&region), &shape), 8);
        region.bounds[2] = [0, 4];
        assert_eq!(bytes(&region, &shape, 2, 0), [[132, 196]]);
        assert_eq!(count(Some(&region), &shape), 1);
        assert_eq!(count(None, &shape), 1);
        region.bounds[2] = [3, 3];
        assert_eq!(bytes(&region, &shape, 2, 0), [[0u64; 2]; 0]);
        assert_eq!(count(Some(&region), &shape), 0);
    }

    #[test]
    fn runs_are_copies_of_copies_and_a_shift_moves_all() {
        let copies = Copies { runs: vec![[0, 4, 2], [0, 16, 2], [0, 1, 2]], shift: Some(vec![3]) };
        let region = Region { bounds: vec![[0, 2]].into(), object: Some(Box::new(copies)) };
        let found = bytes(&region, &[64], 1, 1);
        assert_eq!(found, [[103, 106], [107, 110], [119, 122], [123, 126]]);
        assert!(check(&region, &[23], 1).is_ok() && check(&region, &[22], 1).is_err());
        assert!(check(&region, &[26], 2).is_ok() && check(&region, &[25], 2).is_err());
    }
}

//! The shapes of the messages of a queue, in order: most queues carry many of one shape.

use megakernel_collectives::Dtype;

/// Numbers, and of which dtype.
pub type Shape = (u32, Dtype);

/// The shapes of messages, those that are equal and follow each other in one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// A shape, and the number of the message behind the last one that has it.
    runs: Vec<(usize, Shape)>,
}

impl Messages {
    /// One more.
    pub fn push(&mut self, shape: Shape) {
        let end = self.len() + 1;
        match self.runs.last_mut() {
            Some(last) if last.1 == shape => last.0 = end,
            _ => self.runs.push((end, shape)),
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.runs.last().map_or(0, |&(end, _)| end)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The shape of a message.
    pub fn get(&self, number: usize) -> Option<Shape> {
        let run = self.runs.partition_point(|&(end, _)| end <= number);
        self.runs.get(run).map(|&(_, shape)| shape)
    }

    /// Shapes, each with how many messages in a row have it.
    pub fn runs(&self) -> impl Iterator<Item = (usize, Shape)> + '_ {
        let starts = std::iter::once(0).chain(self.runs.iter().map(|&(end, _)| end));
        self.runs.iter().zip(starts).map(|(&(end, shape), start)| (end - start, shape))
    }

    /// The first message of which both have the shape, and not the same one.
    pub fn first_difference(&self, other: &Messages) -> Option<usize> {
        // Shapes change where runs end: what differs does so from such a place on.
        let ends = |messages: &Messages| messages.runs.iter().map(|&(end, _)| end).collect::<Vec<_>>();
        let mut places = [vec![0], ends(self), ends(other)].concat();
        places.sort_unstable();
        places.into_iter().find(|&at| self.get(at).zip(other.get(at)).is_some_and(|(one, two)| one != two))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(shapes: &[Shape]) -> Messages {
        let mut made = Messages::default();
        shapes.iter().for_each(|&shape| made.push(shape));
        made
    }

    #[test]
    fn what_was_pushed_is_there_in_order() {
        let shapes = [(1, Dtype::F16), (1, Dtype::F16), (1, Dtype::F32), (2, Dtype::F32), (1, Dtype::F16)];
        let made = messages(&shapes);
        assert_eq!((0..made.len()).filter_map(|number| made.get(number)).collect::<Vec<_>>(), shapes);
        assert_eq!((made.len(), made.get(5)), (5, None));
        assert_eq!(made.runs().map(|(count, _)| count).collect::<Vec<_>>(), [2, 1, 1, 1]);
    }

    #[test]
    fn the_first_difference_is_where_shapes_differ_first() {
        let [a, b] = [(1, Dtype::F16), (2, Dtype::F16)];
        // Every two lists of up to four messages, beside what a look at each pair of messages tells.
        let lists: Vec<Vec<Shape>> = (0..5_u32)
            .flat_map(|len| {
                (0..1_u32 << len)
                    .map(move |bits| (0..len).map(|at| if bits >> at & 1 == 0 { a } else { b }).collect())
            })
            .collect();
        for (one, other) in lists.iter().flat_map(|one| lists.iter().map(move |other| (one, other))) {
            let expected = one.iter().zip(other).position(|(x, y)| x != y);
            assert_eq!(messages(one).first_difference(&messages(other)), expected, "{one:?} {other:?}");
        }
    }
}

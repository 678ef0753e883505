//! Sets that grow together.

/// A partition of `0 .. n`.
pub(super) struct Sets(Vec<usize>);

impl Sets {
    pub fn new(count: usize) -> Sets {
        Sets((0..count).collect())
    }

    /// The number that stands for the set of an element.
    pub fn find(&mut self, element: usize) -> usize {
        let mut root = element;
        while let Some(&parent) = self.0.get(root) {
            if parent == root {
                break;
            }
            root = parent;
        }
        let mut step = element;
        while let Some(parent) = self.0.get_mut(step) {
            if *parent == root {
                break;
            }
            step = std::mem::replace(parent, root);
        }
        root
    }

    /// Makes one set of two. The smaller number stands for it.
    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if let Some(parent) = self.0.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
    }
}

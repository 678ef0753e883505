//! Ids of what a program lists. Each is the index of its record (rule S08), and each list has a type of its own, so that a
//! buffer's id cannot stand where a task's belongs.
//!
//! The data model has `i64` in these places, since a document may write any number. Ids have these types from the point on
//! where class S has judged the document and every reference holds. In JSON they are numbers. Documents of companions have lists of
//! their own, of which [`id!`](crate::id) makes the ids.

use std::ops::Index;

use serde::{Deserialize, Serialize};

use crate::model::{Buffer, Counter, Program, Task};

/// Makes the type of the ids of a list: each is the index of its record, in 32 bits.
#[macro_export]
macro_rules! id {
    ($(#[$meta:meta])* $Id:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $Id(u32);

        impl $Id {
            /// The id of the record at an index; the highest id for an index of more than 32 bits, which no list of records reaches.
            #[inline]
            pub const fn at(index: usize) -> $Id {
                $Id(if index < u32::MAX as usize { index as u32 } else { u32::MAX })
            }

            /// The ids of the records in a range of indices.
            #[inline]
            pub fn range(range: ::std::ops::Range<usize>) -> impl DoubleEndedIterator<Item = $Id> + Clone {
                range.map($Id::at)
            }

            /// The index of the record.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<u32> for $Id {
            #[inline]
            fn from(number: u32) -> $Id {
                $Id(number)
            }
        }

        impl From<$Id> for u32 {
            #[inline]
            fn from(id: $Id) -> u32 {
                id.0
            }
        }

        impl ::std::fmt::Display for $Id {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }

        /// The number alone: where it stands says what it is of.
        impl ::std::fmt::Debug for $Id {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

/// The ids of a list of a program, which its document states.
macro_rules! id_in_program {
    ($(#[$doc:meta])* $Id:ident of $Record:ident in $list:ident) => {
        id! {
            $(#[$doc])*
            #[derive(Serialize, Deserialize)]
            #[serde(transparent)]
            $Id
        }

        impl $Id {
            /// The id that a document states; the highest one for a number that is no id (rule S09).
            #[inline]
            pub fn stated(id: i64) -> $Id {
                $Id(u32::try_from(id).unwrap_or(u32::MAX))
            }
        }

        /// As a document states it.
        impl From<$Id> for i64 {
            fn from(id: $Id) -> i64 {
                id.0.into()
            }
        }

        impl<'a> Index<$Id> for Program<'a> {
            type Output = $Record<'a>;

            #[inline]
            fn index(&self, id: $Id) -> &$Record<'a> {
                &self.$list[id.index()]
            }
        }
    };
}

id_in_program! {
    /// Id of a task.
    TaskId of Task in tasks
}

id_in_program! {
    /// Id of a buffer.
    BufferId of Buffer in buffers
}

id_in_program! {
    /// Id of a counter.
    CounterId of Counter in counters
}

impl<'a> Program<'a> {
    /// The tasks with their ids.
    #[inline]
    pub fn tasks_by_id(&self) -> impl DoubleEndedIterator<Item = (TaskId, &Task<'a>)> + Clone {
        self.tasks.iter().enumerate().map(|(index, task)| (TaskId::at(index), task))
    }

    /// The buffers with their ids.
    #[inline]
    pub fn buffers_by_id(&self) -> impl DoubleEndedIterator<Item = (BufferId, &Buffer<'a>)> + Clone {
        self.buffers.iter().enumerate().map(|(index, buffer)| (BufferId::at(index), buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_no_id_is_no_other_records_id() {
        let highest = TaskId::from(u32::MAX);
        for number in [-1, i64::MIN, 1 << 32, i64::MAX] {
            assert_eq!(TaskId::stated(number), highest);
        }
        assert_eq!(TaskId::at(1 << 32), highest);
        assert_eq!(
            (TaskId::stated(7), TaskId::at(7).index(), i64::from(TaskId::from(7))),
            (TaskId::from(7), 7, 7)
        );
    }

    #[test]
    fn in_text_and_json_an_id_is_its_number() {
        let id = CounterId::from(7);
        assert_eq!((id.to_string(), format!("{id:?}")), ("7".to_owned(), "7".to_owned()));
        assert_eq!(serde_json::to_string(&id).expect("serialises"), "7");
        assert_eq!(serde_json::from_str::<CounterId>("7").expect("reads back"), id);
        assert!(serde_json::from_str::<CounterId>("-1").is_err());
    }
}

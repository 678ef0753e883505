//! Conversions, judging and files of tensors: clauses NUM-01 to NUM-04, NUM-10 and NUM-11.


#![allow(clippy::panic)]

mod convert;
mod judging;

//! Memory from fixed-size blocks: a heap as the global allocator of a program, and pools that need no heap.
//!
//! ```
//! # #[cfg(feature = "heap")] {
//! #[global_allocator]
//! static GLOBAL: ashlar::Ashlar = ashlar::Ashlar;
//!
//! let squares: Vec<u64> = (0..1000).map(|i| i * i).collect();
//! assert_eq!(squares[999], 998_001);
//! # }
//! ```
//!
//! With the feature `allocator-api2` collections can have an allocator of their own, by that crate's trait
//! (`allocator_api2::vec::Vec::new_in`, `hashbrown::HashMap::new_in`):
//!
//! | allocator | its memory |
//! |---|---|
//! | `Ashlar` | the process heap |
//! | `&Heap` | a heap with a budget, which ends at once |
//! | `&Arena` | chunks of another allocator, which go together |
//! | `&StaticPool` | blocks of one size, inside of the pool |
//!
//! [`StaticPool`] needs no C++ compiler, no system and no `std`: it is what is left with
//! `default-features = false`.
#![no_std]
#![warn(missing_docs)]

#[cfg(feature = "allocator-api2")]
mod allocator;
#[cfg(feature = "allocator-api2")]
mod arena;
#[cfg(feature = "heap")]
mod heap;
#[cfg(all(feature = "heap", feature = "allocator-api2"))]
mod heap_instance;
mod pool;
#[cfg(target_os = "linux")]
mod tag;

#[cfg(feature = "allocator-api2")]
pub use arena::Arena;
#[cfg(feature = "heap")]
pub use heap::Ashlar;
#[cfg(all(feature = "heap", feature = "allocator-api2"))]
pub use heap_instance::{Heap, HeapStats};
pub use pool::{PoolBox, StaticPool};
#[cfg(target_os = "linux")]
pub use tag::{with_tag, Tag};

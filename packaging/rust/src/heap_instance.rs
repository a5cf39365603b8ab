//! Heaps beside the process heap, by their C++ library.
use core::alloc::Layout;
use core::ffi::{c_char, CStr};
use core::fmt;

use crate::heap::Blocks;

/// The C++ library's heap: not null, where it has its own data.
#[repr(C)]
struct Body {
    _private: [u8; 0],
}

extern "C" {
    fn ashlar_rust_heap_begin(budget: usize, name: *const c_char, id: *mut u64) -> *mut Body;
    fn ashlar_rust_heap_end(heap: *mut Body);
    fn ashlar_rust_heap_alloc(heap: *mut Body, id: u64, size: usize, alignment: usize) -> *mut u8;
    fn ashlar_rust_heap_dealloc(heap: *mut Body, id: u64, block: *mut u8);
    fn ashlar_rust_heap_realloc(heap: *mut Body, block: *mut u8, size: usize) -> *mut u8;
    fn ashlar_rust_heap_usable_size(heap: *mut Body, block: *const u8) -> usize;
    fn ashlar_rust_heap_trim(heap: *mut Body) -> usize;
    fn ashlar_rust_heap_stats(heap: *mut Body, stats: *mut HeapStats);
}

/// What a [`Heap`] says of itself, in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapStats {
    /// Of blocks in use, and of free ones that threads keep in their caches.
    pub in_use: usize,
    /// What the budget bounds: pages in use, and free ones that still have their memory.
    pub committed: usize,
    /// The most that `committed` ever was.
    pub peak_committed: usize,
}

/// A heap of its own, beside that of the process: with a budget, with figures, and with an end.
///
/// A collection in it borrows or owns it, and any thread may use it. Its end gives all memory back at
/// once, also of what was forgotten ([`core::mem::forget`]).
///
/// A request that the budget does not allow is an [`AllocError`](allocator_api2::alloc::AllocError):
/// `Box::try_new_in` and `Vec::try_reserve` return an error. What cannot fail, as `Vec::push`, ends the
/// program then.
///
/// ```
/// use allocator_api2::{boxed::Box, vec::Vec};
///
/// let tenant = ashlar::Heap::new(c"tenant 7", 4 << 20);
/// let mut squares: Vec<u64, _> = Vec::new_in(&tenant);
/// squares.extend((0..1000).map(|i| i * i));
/// let last = Box::new_in(squares[999], &tenant);
/// assert_eq!(*last, 998_001);
/// assert!(squares.try_reserve(1 << 20).is_err(), "these 8 MiB are more than the budget");
/// assert!(tenant.stats().committed <= 4 << 20);
/// ```
///
/// Nothing in a heap outlives it:
/// ```compile_fail,E0505
/// use allocator_api2::vec::Vec;
/// let heap = ashlar::Heap::new(c"gone", 1 << 20);
/// let words: Vec<u8, _> = Vec::new_in(&heap);
/// drop(heap);
/// drop(words);
/// ```
pub struct Heap {
    body: *mut Body,
    id: u64,
}

// SAFETY: any thread may call every function. The end is called by the one that has the heap alone.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

impl Heap {
    /// A heap that holds at most `budget` bytes ([`usize::MAX`]: as much as there is). Faults and statistics call
    /// it `name`.
    ///
    /// A size in use has whole slabs, mostly of 64 KiB, so a budget of less than a few hundred KiB serves few
    /// sizes. The heap's own data, some 50 KiB at first, come on top. Where the system refuses those, the
    /// heap is as one whose budget is used up.
    pub fn new(name: &'static CStr, budget: usize) -> Self {
        let mut id = 0;
        // SAFETY: the name stays.
        let body = unsafe { ashlar_rust_heap_begin(budget, name.as_ptr(), &mut id) };
        Self { body, id }
    }

    /// The heap's figures now. O(sizes in use).
    pub fn stats(&self) -> HeapStats {
        let mut stats = HeapStats::default();
        // SAFETY: it takes any heap.
        unsafe { ashlar_rust_heap_stats(self.body, &mut stats) };
        stats
    }

    /// Gives the free memory of the heap, and of the calling thread's cache of it, back to the system now.
    /// Returns the bytes that went back.
    pub fn trim(&self) -> usize {
        // SAFETY: as above.
        unsafe { ashlar_rust_heap_trim(self.body) }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: nobody else has the heap or a block of it.
        unsafe { ashlar_rust_heap_end(self.body) }
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Heap, {:?}", self.stats())
    }
}

// SAFETY: as the C++ library promises. A heap that moves is the same body.
unsafe impl Blocks for Heap {
    #[inline]
    fn take(&self, layout: Layout) -> *mut u8 {
        unsafe { ashlar_rust_heap_alloc(self.body, self.id, layout.size(), layout.align()) }
    }
    fn take_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = self.take(layout);
        if !block.is_null() {
            // SAFETY: the block is this call's.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }
    #[inline]
    unsafe fn give(&self, block: *mut u8) {
        ashlar_rust_heap_dealloc(self.body, self.id, block);
    }
    unsafe fn resize(&self, block: *mut u8, size: usize) -> *mut u8 {
        ashlar_rust_heap_realloc(self.body, block, size)
    }
    unsafe fn usable_size(&self, block: *const u8) -> usize {
        ashlar_rust_heap_usable_size(self.body, block)
    }
}

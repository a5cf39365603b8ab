//! The heap of the process, by its C++ library.
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_int, c_uint, c_void};
use core::{mem, ptr};

extern "C" {
    fn ashlar_rust_alloc(size: usize, alignment: usize) -> *mut u8;
    fn ashlar_rust_alloc_zeroed(size: usize, alignment: usize) -> *mut u8;
    fn ashlar_rust_dealloc(block: *mut u8);
    fn ashlar_rust_realloc(block: *mut u8, size: usize) -> *mut u8;
    fn ashlar_rust_usable_size(block: *const u8) -> usize;
    fn ashlar_trim() -> usize;
    fn ashlar_limit(bytes: usize) -> c_int;
    fn ashlar_on_limit(
        callback: Option<unsafe extern "C" fn(usize, *mut c_void)>,
        argument: *mut c_void,
        percent: c_uint,
    ) -> c_int;
}

/// What every block is aligned to, also after `Blocks::resize` has moved it.
const GRANULE: usize = 16;

/// What the process heap and heap instances have in common. No size is 0.
///
/// # Safety
/// Blocks do not overlap, have the size and alignment that were asked for, and stay where they are until
/// they are freed. Nothing unwinds.
pub(crate) unsafe trait Blocks {
    /// Uninitialised memory, or null.
    fn take(&self, layout: Layout) -> *mut u8;
    fn take_zeroed(&self, layout: Layout) -> *mut u8;
    unsafe fn give(&self, block: *mut u8);
    /// The block with its first bytes, perhaps elsewhere and then at a multiple of GRANULE; or null.
    unsafe fn resize(&self, block: *mut u8, size: usize) -> *mut u8;
    unsafe fn usable_size(&self, block: *const u8) -> usize;

    /// The block with its first bytes, perhaps elsewhere; or null, and then it stays as it was. To a size
    /// that is not larger, and an alignment that the block has, it is not null.
    #[inline]
    unsafe fn change(&self, block: *mut u8, from: Layout, to: Layout) -> *mut u8 {
        if to.align() <= GRANULE {
            return self.resize(block, to.size());
        }
        let usable = self.usable_size(block);
        let fits = block as usize % to.align() == 0 && to.size() <= usable;
        if fits && to.size() >= usable / 2 {
            return block;
        }
        let moved = self.take(to);
        if !moved.is_null() {
            ptr::copy_nonoverlapping(block, moved, from.size().min(to.size()));
            self.give(block);
        } else if fits {
            return block;
        }
        moved
    }
}

/// The heap of the process. All values of the type are the same heap.
///
/// Any thread may free what another one allocated. A process may fork. A free of what is no live block
/// ends the process with one line on standard error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ashlar;

// SAFETY: as the C++ library promises.
unsafe impl Blocks for Ashlar {
    #[inline]
    fn take(&self, layout: Layout) -> *mut u8 {
        unsafe { ashlar_rust_alloc(layout.size(), layout.align()) }
    }
    #[inline]
    fn take_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { ashlar_rust_alloc_zeroed(layout.size(), layout.align()) }
    }
    #[inline]
    unsafe fn give(&self, block: *mut u8) {
        ashlar_rust_dealloc(block);
    }
    #[inline]
    unsafe fn resize(&self, block: *mut u8, size: usize) -> *mut u8 {
        ashlar_rust_realloc(block, size)
    }
    unsafe fn usable_size(&self, block: *const u8) -> usize {
        ashlar_rust_usable_size(block)
    }
}

// SAFETY: as of Blocks.
unsafe impl GlobalAlloc for Ashlar {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.take(layout)
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        self.give(block);
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.take_zeroed(layout)
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let to = Layout::from_size_align_unchecked(new_size, layout.align());
        self.change(block, layout, to)
    }
}

impl Ashlar {
    /// Gives the free memory of the heap, and of the calling thread's cache, back to the system now.
    /// Returns the bytes that went back. Otherwise that happens a second after their last use.
    pub fn trim(&self) -> usize {
        // SAFETY: it may be called by any thread at any time.
        unsafe { ashlar_trim() }
    }

    /// From now on the heap holds no more than `bytes`; 0: as much as there is. A request beyond that is
    /// refused after the free memory has gone back and the function of [`on_limit`](Ashlar::on_limit) was
    /// called: `try_reserve` and the like return an error then, and what cannot fail ends the program.
    /// Returns false, and does nothing, beside a sanitizer. The environment's `ASHLAR_LIMIT=512M` does
    /// the same at the start.
    ///
    /// Not counted are the heap's own tables, and heap instances, which have budgets.
    pub fn limit(&self, bytes: usize) -> bool {
        // SAFETY: as above.
        unsafe { ashlar_limit(bytes) == 0 }
    }

    /// From now on `drop_caches` is called with the bytes that it should free, or as many as it can: each
    /// time that the heap comes to `percent` of its limit (0: 80 %), and for each request that the limit
    /// would refuse, which is tried again afterwards. `None`: no function is called. Returns false, and
    /// does nothing, beside a sanitizer and for more than 100 %.
    ///
    /// The thread that allocates runs the function, wherever it is: so the function may allocate and free,
    /// but it has to try a lock that the thread may have, and not to wait for it. Several threads may be
    /// in it at one time. A panic in it aborts.
    pub fn on_limit(&self, drop_caches: Option<fn(usize)>, percent: u32) -> bool {
        unsafe extern "C" fn call(bytes: usize, function: *mut c_void) {
            // Null where two calls of `on_limit` meet. Whatever else stands there, it is one of their functions.
            if !function.is_null() {
                mem::transmute::<*mut c_void, fn(usize)>(function)(bytes);
            }
        }
        let (callback, function) = match drop_caches {
            None => (None, ptr::null_mut()),
            Some(function) => (Some(call as _), function as *mut c_void),
        };
        // SAFETY: the function lives as long as the program, and any thread may call it.
        unsafe { ashlar_on_limit(callback, function, percent) == 0 }
    }
}

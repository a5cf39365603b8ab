//! Names for what a part of a program allocates.
use core::ffi::{c_char, c_int, c_void, CStr};
use core::mem;
use core::ptr;
use core::sync::atomic::{compiler_fence, AtomicPtr, Ordering};

/// As `struct ashlar_tag` of `ashlar/core/tag.h`.
#[repr(C)]
struct Scope {
    name: *const c_char,
    outer: *const Scope,
    check: usize,
}

/// The drop-in library's function.
type Tags = unsafe extern "C" fn(mends: c_int, ended: *const Scope) -> *mut *const Scope;

extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

unsafe extern "C" fn no_tags(_mends: c_int, _ended: *const Scope) -> *mut *const Scope {
    ptr::null_mut()
}

/// The first call looks for the library.
fn tags() -> Tags {
    static KNOWN: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    let mut found = KNOWN.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: the loader looks in all that is loaded.
        found = unsafe { dlsym(ptr::null_mut(), c"ashlar_tags_of_malloc".as_ptr()) };
        if found.is_null() {
            found = no_tags as Tags as *mut c_void;
        }
        KNOWN.store(found, Ordering::Relaxed);
    }
    // SAFETY: it is one of the two functions.
    unsafe { mem::transmute::<*mut c_void, Tags>(found) }
}

/// Returns what `act` returns. The malloc blocks that the calling thread allocates meanwhile have the tag
/// `name` in profiles, where ashlar's drop-in library serves the process and samples.
///
/// Of tags in tags the innermost counts. A thread that works for another one is given the name. Blocks of
/// [`Ashlar`](crate::Ashlar) as the global allocator are not sampled.
pub fn with_tag<R>(name: &'static CStr, act: impl FnOnce() -> R) -> R {
    /// Also when `act` panics.
    struct Ends<'a>(&'a Scope);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            // SAFETY: the scope was begun in this thread, and is where it was.
            unsafe {
                let innermost = tags()(0, ptr::null());
                if ptr::eq(*innermost, self.0) {
                    *innermost = self.0.outer;
                } else {
                    tags()(1, self.0);
                }
            }
        }
    }
    let mut scope = Scope {
        name: name.as_ptr(),
        outer: ptr::null(),
        check: 0,
    };
    let place = ptr::addr_of!(scope);
    // SAFETY: the function may be called by any thread at any time.
    let innermost = unsafe { tags()(0, ptr::null()) };
    if innermost.is_null() {
        return act();
    }
    // SAFETY: the place is this thread's alone.
    unsafe {
        if *innermost == place {
            tags()(1, place); // a longjmp left what was there
        }
        scope.outer = *innermost;
    }
    scope.check = place as usize ^ name.as_ptr() as usize ^ 0x6173_6874;
    let ends = Ends(&scope);
    compiler_fence(Ordering::Release);
    // SAFETY: as above.
    unsafe { *innermost = ends.0 };
    act()
}

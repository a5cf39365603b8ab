//! Names for what a part of a program allocates.
use core::ffi::{c_char, c_int, c_void, CStr};
use core::mem::{self, MaybeUninit};
use core::ptr::{self, NonNull};
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
    fn malloc(size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
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

/// Where the thread has its innermost scope. None: nothing looks at tags.
fn innermost() -> Option<NonNull<*const Scope>> {
    // SAFETY: the function may be called by any thread at any time.
    NonNull::new(unsafe { tags()(0, ptr::null()) })
}

/// The scope at `place` begins in this thread. It stays there until it ends.
unsafe fn begin(place: *mut Scope, name: &'static CStr, innermost: NonNull<*const Scope>) {
    let innermost = innermost.as_ptr();
    if ptr::eq(*innermost, place) {
        tags()(1, place); // a longjmp left what was there
    }
    place.write(Scope {
        name: name.as_ptr(),
        outer: *innermost,
        check: place as usize ^ name.as_ptr() as usize ^ 0x6173_6874,
    });
    compiler_fence(Ordering::Release);
    *innermost = place;
}

/// The scope at `place`, which was begun in this thread, ends.
unsafe fn end(place: *const Scope) {
    if let Some(innermost) = innermost() {
        let innermost = innermost.as_ptr();
        if ptr::eq(*innermost, place) {
            *innermost = (*place).outer;
        } else {
            tags()(1, place);
        }
    }
}

/// A name for what the calling thread allocates from here until this is dropped: its malloc blocks have the
/// tag in profiles, where ashlar's drop-in library serves the process and samples.
///
/// ```
/// let _here = ashlar::Tag::enter(c"parser");
/// let words: Vec<&str> = "a b c".split(' ').collect();
/// # assert_eq!(words.len(), 3);
/// ```
///
/// Of tags in tags the innermost counts. A thread that works for another one is given the name. Blocks of
/// `Ashlar` as the global allocator are not sampled. Tags are dropped in the order of
/// variables, the newest first; otherwise one line on standard error says so. Where something looks at
/// tags, one costs a small malloc and its free; in a loop that counts them take [`with_tag`].
///
/// A tag stays in its thread:
/// ```compile_fail,E0277
/// let here = ashlar::Tag::enter(c"parser");
/// std::thread::spawn(move || drop(here));
/// ```
#[must_use = "a tag that is dropped at once is none"]
#[derive(Debug)]
pub struct Tag(*mut Scope); // from malloc, since this may move or be forgotten; null: nothing looks at tags

impl Tag {
    /// The tag `name` begins.
    pub fn enter(name: &'static CStr) -> Self {
        let Some(innermost) = innermost() else {
            return Self(ptr::null_mut());
        };
        // SAFETY: the place stays until the drop.
        unsafe {
            let place = malloc(mem::size_of::<Scope>()).cast::<Scope>();
            if !place.is_null() {
                begin(place, name, innermost);
            }
            Self(place)
        }
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: it was begun in this thread.
            unsafe {
                end(self.0);
                free(self.0.cast());
            }
        }
    }
}

/// Returns what `act` returns, and it runs in a [`Tag`], which costs no malloc here.
pub fn with_tag<R>(name: &'static CStr, act: impl FnOnce() -> R) -> R {
    /// Also when `act` panics.
    struct Ends(*const Scope);
    impl Drop for Ends {
        fn drop(&mut self) {
            // SAFETY: the scope was begun in this thread, and is where it was.
            unsafe { end(self.0) }
        }
    }
    let Some(innermost) = innermost() else {
        return act();
    };
    let mut scope = MaybeUninit::uninit();
    let ends = Ends(scope.as_ptr());
    // SAFETY: the place stays until `ends` is dropped, before it.
    unsafe { begin(scope.as_mut_ptr(), name, innermost) };
    let result = act();
    drop(ends);
    result
}

// Reports to the thread sanitizer the slow path of Swift's Mutex, which is in the toolchain's own
// library and so not instrumented: a lock taken there after another thread's unlock would look like
// no order at all. To be preloaded; scripts/test compiles it.
//
// The fast path is inlined in what uses it, and instrumented: it acquires and releases the same
// address. Both functions are methods of Synchronization._MutexHandle, whose address, which is the
// lock's, is the context of Swift's calling convention.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define CONTEXT __attribute__((swift_context))

// Nowhere in processes that run without the sanitizer.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

typedef SWIFT void (*Lock)(uint32_t thread, CONTEXT void *handle);
typedef SWIFT void (*Unlock)(CONTEXT void *handle);

SWIFT void lock_slow(uint32_t thread, CONTEXT void *handle)
    __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void unlock_slow(CONTEXT void *handle)
    __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

SWIFT void lock_slow(uint32_t thread, CONTEXT void *handle) {
    static Lock original;
    if (!original)
        original =
            (Lock)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
    original(thread, handle);
    if (__tsan_acquire) __tsan_acquire(handle);
}

SWIFT void unlock_slow(CONTEXT void *handle) {
    static Unlock original;
    if (!original)
        original = (Unlock)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
    if (__tsan_release) __tsan_release(handle);
    original(handle);
}

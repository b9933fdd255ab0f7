// Tells the thread sanitizer of Swift's Mutex. Preloaded by Scripts/stress.
//
// A `Mutex` that no other thread wants is taken and given back by atomic operations in the caller's own code, which the
// sanitizer sees. One that is contended goes through two functions of the runtime's library, which was built without
// the sanitizer: the order that they make is lost, and whatever the mutex protects is reported as a race. These
// functions stand in front of them and say what happened.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

typedef SWIFT void lock_function(uint32_t thread, SELF void *mutex);
typedef SWIFT void unlock_function(SELF void *mutex);

SWIFT void lock_slowly(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT void unlock_slowly(SELF void *mutex) __asm__(UNLOCK);

static lock_function *original_lock;
static unlock_function *original_unlock;

// Before anything runs: looking a symbol up must not happen inside a lock.
__attribute__((constructor)) static void find_originals(void) {
  original_lock = (lock_function *)dlsym(RTLD_NEXT, LOCK);
  original_unlock = (unlock_function *)dlsym(RTLD_NEXT, UNLOCK);
}

SWIFT void lock_slowly(uint32_t thread, SELF void *mutex) {
  original_lock(thread, mutex);
  if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slowly(SELF void *mutex) {
  if (__tsan_release) __tsan_release(mutex);
  original_unlock(mutex);
}

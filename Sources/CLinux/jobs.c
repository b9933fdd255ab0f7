#include "CLinux.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SWIFT __attribute__((swiftcall))

// The hooks of Swift's concurrency for jobs without an executor of their own (swift/Runtime/Concurrency.h), which the
// library exports. Each is called in place of the function that it is given.
typedef struct SwiftJob SwiftJob;
typedef SWIFT void (*Enqueue)(SwiftJob *);
typedef SWIFT void (*EnqueueWithDelay)(unsigned long long, SwiftJob *);
typedef SWIFT void (*EnqueueWithDeadline)(long long, long long, long long, long long, int, SwiftJob *);

extern SWIFT void (*swift_task_enqueueGlobal_hook)(SwiftJob *, Enqueue);
extern SWIFT void (*swift_task_enqueueGlobalWithDelay_hook)(unsigned long long, SwiftJob *, EnqueueWithDelay);
extern SWIFT void (*swift_task_enqueueGlobalWithDeadline_hook)(long long, long long, long long, long long, int, SwiftJob *,
                                                               EnqueueWithDeadline);
// The executor of such a job is the generic one: two words that are zero.
extern SWIFT void swift_job_run(SwiftJob *, void *, uintptr_t);

static clinux_job_handler enqueue_job;
static clinux_later_job_handler enqueue_job_later;

static SWIFT void enqueue(SwiftJob *job, Enqueue original) {
  (void)original;
  enqueue_job(job);
}

static SWIFT void enqueue_with_delay(unsigned long long nanoseconds, SwiftJob *job, EnqueueWithDelay original) {
  (void)original;
  enqueue_job_later(job, nanoseconds);
}

// A deadline on Swift's continuous clock (1), which is CLOCK_BOOTTIME, or its suspending one, which is CLOCK_MONOTONIC.
static SWIFT void enqueue_with_deadline(long long seconds, long long nanoseconds, long long tolerance_seconds,
                                        long long tolerance_nanoseconds, int clock, SwiftJob *job,
                                        EnqueueWithDeadline original) {
  (void)tolerance_seconds, (void)tolerance_nanoseconds, (void)original;
  struct timespec now = {0, 0};
  clock_gettime(clock == 1 ? CLOCK_BOOTTIME : CLOCK_MONOTONIC, &now);
  long long whole = 0, rest = 0, left = 0;
  if (__builtin_sub_overflow(seconds, (long long)now.tv_sec, &whole) ||
      __builtin_mul_overflow(whole, 1000000000LL, &whole) ||
      __builtin_sub_overflow(nanoseconds, (long long)now.tv_nsec, &rest) || __builtin_add_overflow(whole, rest, &left)) {
    left = seconds > 0 ? INT64_MAX : 0;
  }
  enqueue_job_later(job, left > 0 ? (uint64_t)left : 0);
}

void clinux_take_global_jobs(clinux_job_handler handler, clinux_later_job_handler later_handler) {
  enqueue_job = handler;
  enqueue_job_later = later_handler;
  swift_task_enqueueGlobal_hook = enqueue;
  swift_task_enqueueGlobalWithDelay_hook = enqueue_with_delay;
  swift_task_enqueueGlobalWithDeadline_hook = enqueue_with_deadline;
}

void clinux_run_job(void *job) { swift_job_run(job, NULL, 0); }

#include "CLinux.h"

#include <stddef.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))

// The hook of Swift's concurrency for jobs without an executor of their own (swift/Runtime/Concurrency.h), which the
// library exports. It is called in place of the function that it is given.
typedef struct SwiftJob SwiftJob;
typedef SWIFT void (*Enqueue)(SwiftJob *);

extern SWIFT void (*swift_task_enqueueGlobal_hook)(SwiftJob *, Enqueue);
// The executor of such a job is the generic one: two words that are zero.
extern SWIFT void swift_job_run(SwiftJob *, void *, uintptr_t);

static clinux_job_handler enqueue_job;

static SWIFT void enqueue(SwiftJob *job, Enqueue original) {
  (void)original;
  enqueue_job(job);
}

void clinux_take_global_jobs(clinux_job_handler handler) {
  enqueue_job = handler;
  swift_task_enqueueGlobal_hook = enqueue;
}

void clinux_run_job(void *job) { swift_job_run(job, NULL, 0); }

// Bounds the processor time of event loops. Loaded into a client with LD_PRELOAD: each thread that SwiftNIO names as one of
// its process-wide loops gets LOOP_PERCENT percent of a processor, and no more, by the kernel's deadline scheduler. So a loop's
// thread is the limit however many processors there are, and several loops fit on a machine with few.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

enum { POLICY_DEADLINE = 6, RESET_ON_FORK = 1, PERIOD = 2000000 };

static void bound_this_thread(void) {
  const char *text = getenv("LOOP_PERCENT");
  long percent = text ? strtol(text, NULL, 10) : 0;
  if (percent < 1 || percent > 95) return;
  struct attributes attributes = {
    .size = sizeof attributes, .policy = POLICY_DEADLINE, .flags = RESET_ON_FORK,
    .runtime = (uint64_t)PERIOD / 100 * (uint64_t)percent, .deadline = PERIOD, .period = PERIOD,
  };
  if (syscall(SYS_sched_setattr, 0, &attributes, 0) == 0) return;
  // A client whose loops are not bounded must not look fast.
  perror("sched_setattr");
  _exit(1);
}

int pthread_setname_np(pthread_t thread, const char *name) {
  int (*next)(pthread_t, const char *) = (int (*)(pthread_t, const char *))dlsym(RTLD_NEXT, "pthread_setname_np");
  if (strncmp(name, "NIO-SGLTN", 9) == 0 && pthread_equal(thread, pthread_self())) bound_this_thread();
  return next ? next(thread, name) : 0;
}

#define _GNU_SOURCE
#include "CLinux.h"

#include <sys/file.h>
#include <time.h>

long long clinux_boot_nanoseconds(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  return (long long)now.tv_sec * 1000000000LL + now.tv_nsec;
}

int clinux_lock(int fd, int exclusive) {
  return flock(fd, exclusive ? LOCK_EX | LOCK_NB : LOCK_UN);
}

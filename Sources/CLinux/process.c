#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int clinux_spawn_detached(const char *path, char *const argv[], char *const envp[], int output, int channel,
                          pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int result = posix_spawn_file_actions_init(&actions);
  if (result != 0) return result;
  result = posix_spawnattr_init(&attributes);
  if (result != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return result;
  }

  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  // These two cannot be changed, and the kernel refuses to reset them.
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  if (result == 0) result = posix_spawnattr_setsigmask(&attributes, &none);
  if (result == 0) result = posix_spawnattr_setsigdefault(&attributes, &all);
  if (result == 0) {
    result = posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  if (result == 0) result = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (result == 0 && output >= 0) {
    result = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (result == 0) result = posix_spawn_file_actions_adddup2(&actions, output, 2);
  }
  if (result == 0 && channel >= 0) result = posix_spawn_file_actions_adddup2(&actions, channel, 3);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  // This project opens all files close-on-exec; this closes those that a library or the parent process left open.
  if (result == 0) result = posix_spawn_file_actions_addclosefrom_np(&actions, channel >= 0 ? 4 : 3);
#endif
  if (result == 0) result = posix_spawn(pid, path, &actions, &attributes, argv, envp);

  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return result;
}

int clinux_limit_computing(pid_t pid, unsigned seconds) {
  struct rlimit limit = {.rlim_cur = seconds, .rlim_max = seconds};
  return prlimit(pid, RLIMIT_CPU, &limit, NULL);
}

int clinux_open_process(pid_t pid) {
#ifdef SYS_pidfd_open
  return (int)syscall(SYS_pidfd_open, pid, 0);
#else
  errno = ENOSYS;
  return -1;
#endif
}

int clinux_signal_process(int fd, int signal) {
#ifdef SYS_pidfd_send_signal
  return (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
#else
  errno = ENOSYS;
  return -1;
#endif
}

static int release_object(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  // The kernel's own pages have no file.
  if (strncmp(info->dlpi_name, "linux-", 6) == 0) return 0;
  const uintptr_t page = *(uintptr_t *)data;
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    // Segments that are written nowhere: relocations are in the others.
    if (info->dlpi_phdr[i].p_type != PT_LOAD || (info->dlpi_phdr[i].p_flags & PF_W)) continue;
    uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    uintptr_t end = (start + info->dlpi_phdr[i].p_filesz) & ~(page - 1);
    start = (start + page - 1) & ~(page - 1);
    if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
  }
  return 0;
}

void clinux_keep_free_memory(size_t bytes) {
  // The GNU C library raises its limits to the size of a block that was mapped and is freed (mallopt(3), M_MMAP_THRESHOLD).
  // Nothing is written to the block. Volatile: a compiler may leave out a block of which no use is made.
  void *volatile block = malloc(bytes);
  free(block);
}

void clinux_release_memory(void) {
  long size = sysconf(_SC_PAGESIZE);
  malloc_trim(0);
  if (size <= 0) return;
  uintptr_t page = (uintptr_t)size;
  dl_iterate_phdr(release_object, &page);
}

int clinux_raise_limits(void) {
  static const int resources[] = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_CPU, RLIMIT_AS, RLIMIT_DATA};
  int result = 0;
  for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
    struct rlimit limit;
    if (getrlimit(resources[i], &limit) != 0) {
      result = -1;
      continue;
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resources[i], &limit) != 0) result = -1;
  }
  return result;
}

int clinux_limit_open_files(pid_t pid, unsigned soft) {
  struct rlimit limit;
  if (prlimit(pid, RLIMIT_NOFILE, NULL, &limit) != 0) return -1;
  limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
  return prlimit(pid, RLIMIT_NOFILE, &limit, NULL);
}

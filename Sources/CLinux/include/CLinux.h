/// Functions of Linux that Swift's Glibc module does not import.
#ifndef CLINUX_H
#define CLINUX_H

#include <sys/types.h>

#include "glib.h"
#include "gssapi.h"

/// The process at the other end of a Unix socket, as the kernel recorded it when it connected.
struct clinux_peer {
  pid_t pid;
  uid_t uid;
  gid_t gid;
};

/// Reads SO_PEERCRED of `fd` into `peer`. Returns 0, or -1 with errno set.
int clinux_peer_credentials(int fd, struct clinux_peer *peer);

/// Starts `path` in a session of its own, with default signal handlers and an empty signal mask, standard input from
/// /dev/null, standard output and error to `output` (or to where ours go when it is -1), `channel` as descriptor 3 unless it is
/// -1, and no other file open. `channel` must not be 0, 1 or 2.
/// Returns 0 and the process in `pid`, or an errno value.
int clinux_spawn_detached(const char *path, char *const argv[], char *const envp[], int output, int channel,
                          pid_t *pid);

/// A set of epoll(7), closed on exec, that is readable while `fd` is, or while its other end is gone. Returns its descriptor, or
/// -1 with errno set.
int clinux_watch_reading(int fd);

/// A descriptor of the process `pid`, closed on exec, that becomes readable when the process has ended. Returns the
/// descriptor, or -1 with errno set, ENOSYS before Linux 5.3.
int clinux_open_process(pid_t pid);

/// Sends a signal to the process of a descriptor that `clinux_open_process` has opened, and to no later one that has its
/// number. Returns 0, or -1 with errno set.
int clinux_signal_process(int fd, int signal);

/// The kernel ends the process `pid` when it has computed for `seconds`, whether we still live or not. Returns 0, or -1
/// with errno set.
int clinux_limit_computing(pid_t pid, unsigned seconds);

/// Takes a job of Swift's concurrency that no executor was given.
typedef void (*clinux_job_handler)(void *job);

/// From now on all such jobs of this process are given to the handler, which has to run each once, by `clinux_run_job`.
/// To be called before there is any.
void clinux_take_global_jobs(clinux_job_handler handler);
void clinux_run_job(void *job);

/// Takes the pages of code and constants out of this process's memory that are as in their files, and the free pages of its
/// heap: the kernel brings back those that are used again, as a rule from its cache of files.
void clinux_release_memory(void);

/// Has the heap keep up to twice as many bytes free at its end instead of giving them back to the kernel, which would fill them
/// with zeros when they are used again. `bytes` is beyond the block size from which the heap maps each block by itself. Changes
/// nothing where the program has set one of these limits, nor in another library's heap.
void clinux_keep_free_memory(size_t bytes);

/// Raises the soft limits of this process that a program may have been given for itself to its hard limits: open files, the
/// size of files, computing time, memory. Returns 0, or -1 with errno set where one can't be raised.
int clinux_raise_limits(void);

/// Sets the soft limit of open files of the process `pid` to `soft`, or to its hard limit where that is lower. Returns 0, or
/// -1 with errno set.
int clinux_limit_open_files(pid_t pid, unsigned soft);

/// Nanoseconds since the machine started, suspended time included. The wall clock has no influence on it.
long long clinux_boot_nanoseconds(void);

/// Takes or (with `exclusive` 0) gives back the lock of the open file `fd`. Returns 0, or -1 with errno set,
/// EWOULDBLOCK when another open file has it.
int clinux_lock(int fd, int exclusive);

/// Reads up to `count` bytes at `offset` that the kernel has in memory, and does not wait for a disk. Returns how many, 0 at the
/// end of the file, or -1 with errno set: EAGAIN where reading would wait, EOPNOTSUPP where this can't be asked of the file's
/// system.
ssize_t clinux_read_cached(int fd, void *space, size_t count, long long offset);

/// Takes room on the disk for the first `count` bytes of a file whose size stays. Returns 0, or -1 with errno set, EOPNOTSUPP
/// where the file system can't.
int clinux_reserve(int fd, long long count);

/// Takes a read lease of the file `fd`, which is open for reading only. When it is broken the kernel sends SIGIO to the thread
/// `thread` of this process, and to no other. Returns 0, or -1 with errno set.
int clinux_take_lease(int fd, pid_t thread);

/// Whether `fd` has its read lease and no process wants to write to the file.
int clinux_has_lease(int fd);

/// Gives it back. Returns 0, or -1 with errno set.
int clinux_end_lease(int fd);

/// Blocks SIGIO on this thread, whose number is returned, so that it can wait for it. -1 where that fails.
pid_t clinux_take_lease_signals(void);

/// Waits for SIGIO on a thread that blocks it, or for so many nanoseconds; for ever where they are negative.
void clinux_await_lease_signal(long long nanoseconds);

/// Sends SIGIO to a thread of this process that blocks it.
void clinux_send_lease_signal(pid_t thread);

/// An extended attribute of an open file, as in fgetxattr(2), fsetxattr(2) and fremovexattr(2).
ssize_t clinux_get_attribute(int fd, const char *name, void *value, size_t capacity);
int clinux_set_attribute(int fd, const char *name, const void *value, size_t count);
int clinux_remove_attribute(int fd, const char *name);

/// A netlink socket on which the kernel tells of every change to links, addresses and routes. Non-blocking.
/// Returns the descriptor, or -1 with errno set.
int clinux_open_route_monitor(void);

/// Asks the kernel over which interface it sends to `destination`, an address of `length` 4 or 16 bytes. `source`, of
/// the same length, is the address it would be sent from; it may be null.
/// Returns the interface's index; 0 when the address is this machine's own; -1 with errno set when there is no route or
/// no answer.
int clinux_route_interface(const void *destination, const void *source, unsigned length);

/// An address of IPv4 that this machine has.
struct clinux_ipv4_address {
  /// The name of its interface, ended by zero.
  char interface[16];
  /// In the order of the network.
  unsigned char bytes[4];
};

/// Finds the machine's addresses of IPv4, at most `capacity`, without a netlink socket.
/// Returns their number, or -1 with errno set.
int clinux_ipv4_addresses(struct clinux_ipv4_address *addresses, int capacity);

/// The flags of an interface (IFF_UP, IFF_RUNNING and others); -1 with errno set when there is none of that name.
int clinux_interface_flags(const char *interface);

/// Makes the content of the open file `destination` that of `source` without copying it: both share their blocks until one
/// of them is written. Returns 0, or -1 with errno set: EOPNOTSUPP or EXDEV where the file system can't.
int clinux_clone_file(int source, int destination);

/// Copies up to `count` bytes inside the kernel, from `*offset` of `source`, which moves on, to the present offset of
/// `destination`. Returns how many, 0 at the end of `source`, or -1 with errno set.
ssize_t clinux_copy_range(int source, long long *offset, int destination, size_t count);

/// The greatest number of descriptors in one message.
#define CLINUX_MOST_FILES 128

/// Sends one byte and `count` descriptors over a Unix socket, without waiting. Returns 0, or -1 with errno set.
int clinux_send_files(int socket, const int *files, unsigned count);

/// Receives one byte, and the descriptors that came with it, up to `capacity`, without waiting. They are closed on exec.
/// Those for which this process has no number left are closed. Returns how many there are in `files`, or -1 with errno set:
/// EAGAIN when nothing has come, ECONNRESET when nothing will.
int clinux_receive_files(int socket, int *files, unsigned capacity);

/// Has a terminal not show what is typed, until `clinux_show_typing`, the program's end by `exit`, or a signal that ends it
/// in the default way: SIGINT, SIGTERM, SIGHUP or SIGQUIT, which ends the program all the same. One terminal at a time.
/// Returns 0, or -1 with errno set.
int clinux_hide_typing(int terminal);

/// The terminal is as it was before `clinux_hide_typing`, and so are the signals.
void clinux_show_typing(void);

#endif

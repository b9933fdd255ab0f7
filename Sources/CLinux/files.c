#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
  char bytes[CMSG_SPACE(sizeof(int) * CLINUX_MOST_FILES)];
  struct cmsghdr header;
};

int clinux_reserve(int fd, long long count) { return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, count); }

ssize_t clinux_read_cached(int fd, void *space, size_t count, long long offset) {
  struct iovec into = {.iov_base = space, .iov_len = count};
  ssize_t got;
  do { got = preadv2(fd, &into, 1, offset, RWF_NOWAIT); } while (got < 0 && errno == EINTR);
  return got;
}

int clinux_send_files(int socket, const int *files, unsigned count) {
  if (count > CLINUX_MOST_FILES) {
    errno = EINVAL;
    return -1;
  }
  char byte = 0;
  struct iovec space = {.iov_base = &byte, .iov_len = 1};
  union control control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {.msg_iov = &space, .msg_iovlen = 1};
  if (count > 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(header), files, sizeof(int) * count);
  }
  ssize_t sent;
  do { sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL); } while (sent < 0 && errno == EINTR);
  return sent == 1 ? 0 : -1;
}

int clinux_receive_files(int socket, int *files, unsigned capacity) {
  if (capacity > CLINUX_MOST_FILES) capacity = CLINUX_MOST_FILES;
  char byte;
  struct iovec space = {.iov_base = &byte, .iov_len = 1};
  union control control;
  struct msghdr message = {.msg_iov = &space, .msg_iovlen = 1, .msg_control = control.bytes};
  // Not CMSG_SPACE: in its padding the kernel would put one more descriptor.
  message.msg_controllen = CMSG_LEN(sizeof(int) * capacity);
  ssize_t received;
  do { received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); } while (received < 0 && errno == EINTR);
  if (received < 0) return -1;
  unsigned count = 0;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t length = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t index = 0; index < length; index++) {
      int file;
      memcpy(&file, CMSG_DATA(header) + index * sizeof(int), sizeof(int));
      if (count < capacity) {
        files[count++] = file;
      } else {
        close(file);
      }
    }
  }
  if (received == 0) {
    while (count > 0) close(files[--count]);
    errno = ECONNRESET;
    return -1;
  }
  return (int)count;
}

int clinux_watch_reading(int fd) {
  int set = epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) return -1;
  struct epoll_event event = {.events = EPOLLIN};
  if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0) return set;
  int code = errno;
  close(set);
  errno = code;
  return -1;
}

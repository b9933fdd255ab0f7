#define _GNU_SOURCE
#include "CLinux.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

int clinux_clone_file(int source, int destination) { return ioctl(destination, FICLONE, source); }

ssize_t clinux_copy_range(int source, long long *offset, int destination, size_t count) {
  loff_t place = *offset;
  ssize_t copied = copy_file_range(source, &place, destination, NULL, count, 0);
  *offset = place;
  return copied;
}

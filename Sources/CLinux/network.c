#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int clinux_open_route_monitor(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (fd < 0) return -1;
  struct sockaddr_nl address;
  memset(&address, 0, sizeof(address));
  address.nl_family = AF_NETLINK;
  address.nl_groups =
      RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
  if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
    int error = errno;
    close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

struct route_question {
  struct nlmsghdr header;
  struct rtmsg route;
  char attributes[2 * RTA_SPACE(16)];
};

static void add_address(struct route_question *question, unsigned short type, const void *address, unsigned length) {
  struct rtattr *attribute = (struct rtattr *)((char *)question + NLMSG_ALIGN(question->header.nlmsg_len));
  attribute->rta_type = type;
  attribute->rta_len = RTA_LENGTH(length);
  memcpy(RTA_DATA(attribute), address, length);
  question->header.nlmsg_len = NLMSG_ALIGN(question->header.nlmsg_len) + RTA_SPACE(length);
}

/// The result of `clinux_route_interface`, from the answer to a question: `length` bytes at `header`.
static int interface_in(struct nlmsghdr *header, unsigned length) {
  if (!NLMSG_OK(header, length)) {
    errno = EPROTO;
    return -1;
  }
  if (header->nlmsg_type == NLMSG_ERROR && header->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
    int error = ((struct nlmsgerr *)NLMSG_DATA(header))->error;
    errno = error < 0 ? -error : EPROTO;
    return -1;
  }
  if (header->nlmsg_type != RTM_NEWROUTE || header->nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg))) {
    errno = EPROTO;
    return -1;
  }
  struct rtmsg *route = NLMSG_DATA(header);
  if (route->rtm_type == RTN_LOCAL) return 0;
  if (route->rtm_type != RTN_UNICAST) {
    errno = ENETUNREACH;
    return -1;
  }
  int left = RTM_PAYLOAD(header);
  for (struct rtattr *attribute = RTM_RTA(route); RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    if (attribute->rta_type == RTA_OIF && RTA_PAYLOAD(attribute) >= sizeof(int)) {
      int index;
      memcpy(&index, RTA_DATA(attribute), sizeof(index));
      return index;
    }
  }
  errno = ENETUNREACH;
  return -1;
}

int clinux_route_interface(const void *destination, const void *source, unsigned length) {
  if (length != 4 && length != 16) {
    errno = EINVAL;
    return -1;
  }
  struct route_question question;
  memset(&question, 0, sizeof(question));
  question.header.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg));
  question.header.nlmsg_type = RTM_GETROUTE;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.route.rtm_family = length == 4 ? AF_INET : AF_INET6;
  question.route.rtm_dst_len = length * 8;
  add_address(&question, RTA_DST, destination, length);
  if (source) {
    question.route.rtm_src_len = length * 8;
    add_address(&question, RTA_SRC, source, length);
  }
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return -1;
  int index = -1;
  char answer[4096] __attribute__((aligned(NLMSG_ALIGNTO)));
  ssize_t count = send(fd, &question, question.header.nlmsg_len, 0);
  // The kernel answers within the call above: there is nothing to wait for.
  if (count >= 0) count = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
  if (count >= 0) index = interface_in((struct nlmsghdr *)answer, (unsigned)count);
  int error = errno;
  close(fd);
  errno = error;
  return index;
}

/// Asks about interfaces. Returns what `ioctl` does.
static int ask_interfaces(unsigned long request, void *question) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  int result = ioctl(fd, request, question);
  int error = errno;
  close(fd);
  errno = error;
  return result;
}

int clinux_ipv4_addresses(struct clinux_ipv4_address *addresses, int capacity) {
  if (capacity <= 0) return 0;
  struct ifreq *entries = calloc((size_t)capacity, sizeof(struct ifreq));
  if (!entries) return -1;
  struct ifconf list;
  memset(&list, 0, sizeof(list));
  list.ifc_len = capacity * (int)sizeof(struct ifreq);
  list.ifc_req = entries;
  int count = -1;
  if (ask_interfaces(SIOCGIFCONF, &list) == 0) {
    count = 0;
    for (int index = 0; index < list.ifc_len / (int)sizeof(struct ifreq); index++) {
      if (entries[index].ifr_addr.sa_family != AF_INET) continue;
      struct sockaddr_in address;
      memcpy(&address, &entries[index].ifr_addr, sizeof(address));
      memset(addresses[count].interface, 0, sizeof(addresses[count].interface));
      strncpy(addresses[count].interface, entries[index].ifr_name, sizeof(addresses[count].interface) - 1);
      memcpy(addresses[count].bytes, &address.sin_addr, 4);
      count++;
    }
  }
  free(entries);
  return count;
}

int clinux_interface_flags(const char *interface) {
  struct ifreq question;
  memset(&question, 0, sizeof(question));
  if (strlen(interface) >= sizeof(question.ifr_name)) {
    errno = ENODEV;
    return -1;
  }
  strcpy(question.ifr_name, interface);
  return ask_interfaces(SIOCGIFFLAGS, &question) == 0 ? (unsigned short)question.ifr_flags : -1;
}

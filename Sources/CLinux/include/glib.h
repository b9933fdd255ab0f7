/// The structures of GLib whose fields a caller reads. GLib is loaded at run time; its headers are not needed.
#ifndef CLINUX_GLIB_H
#define CLINUX_GLIB_H

#include <stdint.h>

/// GError.
struct clinux_g_error {
  uint32_t domain;
  int code;
  char *message;
};

/// GList.
struct clinux_g_list {
  void *data;
  struct clinux_g_list *next;
  struct clinux_g_list *previous;
};

#endif

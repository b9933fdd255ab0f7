/// The structures of the C bindings of GSS-API (RFC 2744 §3 and §4) as MIT Kerberos lays them out on Linux. Its library is
/// loaded at run time; its headers are not needed.
#ifndef CLINUX_GSSAPI_H
#define CLINUX_GSSAPI_H

#include <stddef.h>
#include <stdint.h>

/// gss_buffer_desc (§3.2).
struct clinux_gss_buffer {
  size_t length;
  void *value;
};

/// gss_OID_desc (§3.3): the DER of an object identifier, without tag and length.
struct clinux_gss_oid {
  uint32_t length;
  void *elements;
};

/// gss_OID_set_desc (§3.4).
struct clinux_gss_oid_set {
  size_t count;
  struct clinux_gss_oid *elements;
};

/// gss_channel_bindings_struct (§3.11).
struct clinux_gss_channel_bindings {
  uint32_t initiator_address_type;
  struct clinux_gss_buffer initiator_address;
  uint32_t acceptor_address_type;
  struct clinux_gss_buffer acceptor_address;
  struct clinux_gss_buffer application_data;
};

#endif

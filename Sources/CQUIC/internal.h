#ifndef CQUIC_INTERNAL_H
#define CQUIC_INTERNAL_H

#include "CQUIC.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

/// Bytes of a body, kept until the server has them.
struct chunk {
  struct chunk *next;
  size_t length;
  uint8_t bytes[];
};

struct cquic_stream {
  int64_t id;
  void *user;
  struct cquic_stream *next, *previous;
  struct chunk *first, *last;
  /// The first chunk that was not given to the library.
  struct chunk *unoffered;
  /// How much of `first` has arrived.
  size_t arrived;
  size_t unacknowledged;
  int has_body, is_complete, end_is_offered;
  nghttp3_nv *trailers;
  size_t trailer_count;
  /// The request's fields, as long as it may have to be sent (again) behind the handshake.
  nghttp3_nv *fields;
  size_t field_count;
  int is_cancelled;
};

struct cquic_connection {
  cquic_events events;
  void *user;
  ngtcp2_conn *quic;
  nghttp3_conn *http;
  gnutls_session_t tls;
  ngtcp2_crypto_conn_ref reference;
  struct sockaddr_storage local, remote;
  socklen_t local_length, remote_length;
  uint64_t largest_field_section;
  struct cquic_stream *streams;
  cquic_failure failure;
  /// Whether requests may leave before the handshake is complete.
  int sends_early_data;
  int is_handshake_complete, was_resumed, early_data_was_rejected;
  /// Whether the caller has let requests leave that wait for the handshake.
  int requests_have_begun;
  /// Whether the caller wants to see what the server's own streams bring.
  int is_told_of_settings;
  int was_asked_for_certificate;
  /// The client's certificates, its own first, and its key.
  gnutls_pcert_st *certificates;
  unsigned certificate_count;
  gnutls_privkey_t key;
  /// The names of the authorities whose certificates the server wants.
  gnutls_datum_t *authorities;
  size_t authority_count;
};

/// A session ticket: GnuTLS's session, for the next handshake with the server, and the limits and the round trip of the
/// connection it is from.
struct cquic_ticket {
  gnutls_datum_t session;
  ngtcp2_transport_params parameters;
  int permits_early_data;
  /// Nanoseconds; 0 where it was not known.
  uint64_t round_trip;
};

// tls.c

/// Makes the TLS session of a connection. Below 0 when it can't be made.
int cquic_begin_tls(cquic_connection *self, const cquic_options *options);
void cquic_end_tls(cquic_connection *self);

// connection.c

void cquic_fail(cquic_connection *self, cquic_failure_kind kind, uint64_t code, const char *text);

#endif

#include "CQUIC.h"

#if __has_include(<ngtcp2/ngtcp2_crypto_gnutls.h>) && __has_include(<nghttp3/nghttp3.h>) && \
    __has_include(<gnutls/gnutls.h>)

#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Ethernet's 1500 bytes without the headers of IPv6 and UDP: how far the path is probed (RFC 9000 §14.3).
enum { largest_datagram = 1452, connection_id_length = 16, most_vectors = 16 };

int cquic_is_available(void) { return 1; }

// MARK: Failures

void cquic_fail(cquic_connection *self, cquic_failure_kind kind, uint64_t code, const char *text) {
  if (self->failure.kind != CQUIC_NOTHING) return;
  self->failure.kind = kind;
  self->failure.code = code;
  snprintf(self->failure.text, sizeof self->failure.text, "%s", text);
}

/// An error of nghttp3 ends the connection with the code that it stands for.
static void fail_http(cquic_connection *self, int error) {
  if (error == NGHTTP3_ERR_NOMEM) return cquic_fail(self, CQUIC_OUT_OF_MEMORY, 0, "out of memory");
  cquic_fail(self, CQUIC_PROTOCOL, nghttp3_err_infer_quic_app_error_code(error), nghttp3_strerror(error));
}

static void closed_by_server(cquic_connection *self) {
  ngtcp2_connection_close_error reason;
  ngtcp2_conn_get_connection_close_error(self->quic, &reason);
  char text[sizeof self->failure.text];
  size_t length = reason.reasonlen < sizeof text - 1 ? reason.reasonlen : sizeof text - 1;
  // The server's words: printable characters alone.
  for (size_t index = 0; index < length; index++) {
    uint8_t byte = reason.reason[index];
    text[index] = byte >= 0x20 && byte < 0x7f ? (char)byte : '?';
  }
  text[length] = 0;
  int is_http = reason.type == NGTCP2_CONNECTION_CLOSE_ERROR_CODE_TYPE_APPLICATION;
  cquic_fail(self, is_http ? CQUIC_CLOSED_BY_APPLICATION : CQUIC_CLOSED_BY_TRANSPORT, reason.error_code, text);
}

static void fail_quic(cquic_connection *self, int error) {
  switch (error) {
  case NGTCP2_ERR_DRAINING: return closed_by_server(self);
  case NGTCP2_ERR_IDLE_CLOSE: return cquic_fail(self, CQUIC_SILENT, 0, "nothing came for too long");
  case NGTCP2_ERR_HANDSHAKE_TIMEOUT: return cquic_fail(self, CQUIC_SILENT, 0, "the handshake took too long");
  case NGTCP2_ERR_CRYPTO: {
    uint8_t alert = ngtcp2_conn_get_tls_alert(self->quic);
    const char *name = gnutls_alert_get_strname((gnutls_alert_description_t)alert);
    return cquic_fail(self, CQUIC_TLS, alert, name ? name : "the handshake failed");
  }
  case NGTCP2_ERR_NOMEM: return cquic_fail(self, CQUIC_OUT_OF_MEMORY, 0, "out of memory");
  default:
    cquic_fail(self, CQUIC_PROTOCOL, ngtcp2_err_infer_quic_transport_error_code(error), ngtcp2_strerror(error));
  }
}

cquic_failure cquic_failure_of(const cquic_connection *self) { return self->failure; }

// MARK: Streams

static void unlink_stream(cquic_connection *self, cquic_stream *stream) {
  if (stream->previous) stream->previous->next = stream->next;
  else self->streams = stream->next;
  if (stream->next) stream->next->previous = stream->previous;
}

static void free_fields(nghttp3_nv *fields, size_t count) {
  for (size_t index = 0; index < count; index++) {
    free(fields[index].name);
    free(fields[index].value);
  }
  free(fields);
}

static void free_stream(cquic_stream *stream) {
  for (struct chunk *chunk = stream->first, *next; chunk; chunk = next) {
    next = chunk->next;
    free(chunk);
  }
  free_fields(stream->trailers, stream->trailer_count);
  free_fields(stream->fields, stream->field_count);
  free(stream);
}

/// The stream is gone.
static void forget_stream(cquic_connection *self, cquic_stream *stream, uint64_t code) {
  self->events.closed(self->user, stream->user, code);
  unlink_stream(self, stream);
  free_stream(stream);
}

static nghttp3_ssize read_body(nghttp3_conn *http, int64_t id, nghttp3_vec *vectors, size_t count, uint32_t *flags,
                               void *user, void *stream_user) {
  cquic_stream *stream = stream_user;
  (void)user;
  size_t used = 0;
  while (stream->unoffered && used < count) {
    vectors[used].base = stream->unoffered->bytes;
    vectors[used].len = stream->unoffered->length;
    stream->unoffered = stream->unoffered->next;
    used++;
  }
  if (!stream->unoffered && stream->is_complete) {
    *flags |= NGHTTP3_DATA_FLAG_EOF;
    if (stream->trailer_count > 0) {
      *flags |= NGHTTP3_DATA_FLAG_NO_END_STREAM;
      if (!stream->end_is_offered) {
        int error = nghttp3_conn_submit_trailers(http, id, stream->trailers, stream->trailer_count);
        if (error) return NGHTTP3_ERR_CALLBACK_FAILURE;
      }
    }
    stream->end_is_offered = 1;
    return (nghttp3_ssize)used;
  }
  return used ? (nghttp3_ssize)used : NGHTTP3_ERR_WOULDBLOCK;
}

// MARK: What nghttp3 tells

static int http_acknowledged(nghttp3_conn *http, int64_t id, uint64_t length, void *user, void *stream_user) {
  cquic_connection *self = user;
  cquic_stream *stream = stream_user;
  (void)http, (void)id;
  if (!stream) return 0;
  stream->arrived += length;
  stream->unacknowledged -= length < stream->unacknowledged ? length : stream->unacknowledged;
  while (stream->first && stream->first != stream->unoffered && stream->arrived >= stream->first->length) {
    struct chunk *chunk = stream->first;
    stream->arrived -= chunk->length;
    stream->first = chunk->next;
    if (!stream->first) stream->last = NULL;
    free(chunk);
  }
  self->events.acknowledged(self->user, stream->user, length);
  return 0;
}

static int http_closed(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
  (void)http, (void)id;
  if (stream_user) forget_stream(user, stream_user, code);
  return 0;
}

static void extend(cquic_connection *self, int64_t id, uint64_t length) {
  ngtcp2_conn_extend_max_stream_offset(self->quic, id, length);
  ngtcp2_conn_extend_max_offset(self->quic, length);
}

static int http_data(nghttp3_conn *http, int64_t id, const uint8_t *bytes, size_t length, void *user,
                     void *stream_user) {
  cquic_connection *self = user;
  cquic_stream *stream = stream_user;
  (void)http;
  // The window of the connection is opened as bytes arrive: no stream waits for the reader of another.
  ngtcp2_conn_extend_max_offset(self->quic, length);
  if (stream) self->events.data(self->user, stream->user, bytes, length);
  else ngtcp2_conn_extend_max_stream_offset(self->quic, id, length);
  return 0;
}

static int http_consumed(nghttp3_conn *http, int64_t id, size_t length, void *user, void *stream_user) {
  (void)http, (void)stream_user;
  extend(user, id, length);
  return 0;
}

static int http_began(nghttp3_conn *http, int64_t id, void *user, void *stream_user) {
  (void)http, (void)id, (void)user, (void)stream_user;
  return 0;
}

static int told(cquic_connection *self, cquic_stream *stream, nghttp3_rcbuf *name, nghttp3_rcbuf *value, int trailer) {
  if (!stream) return 0;
  nghttp3_vec key = nghttp3_rcbuf_get_buf(name), text = nghttp3_rcbuf_get_buf(value);
  self->events.field(self->user, stream->user, key.base, key.len, text.base, text.len, trailer);
  return 0;
}

static int http_field(nghttp3_conn *http, int64_t id, int32_t token, nghttp3_rcbuf *name, nghttp3_rcbuf *value,
                      uint8_t flags, void *user, void *stream_user) {
  (void)http, (void)id, (void)token, (void)flags;
  return told(user, stream_user, name, value, 0);
}

static int http_trailer(nghttp3_conn *http, int64_t id, int32_t token, nghttp3_rcbuf *name, nghttp3_rcbuf *value,
                        uint8_t flags, void *user, void *stream_user) {
  (void)http, (void)id, (void)token, (void)flags;
  return told(user, stream_user, name, value, 1);
}

static int http_head_ended(nghttp3_conn *http, int64_t id, int fin, void *user, void *stream_user) {
  cquic_connection *self = user;
  cquic_stream *stream = stream_user;
  (void)http, (void)id;
  if (stream) self->events.fields_ended(self->user, stream->user, 0, fin);
  return 0;
}

static int http_trailers_ended(nghttp3_conn *http, int64_t id, int fin, void *user, void *stream_user) {
  cquic_connection *self = user;
  cquic_stream *stream = stream_user;
  (void)http, (void)id;
  if (stream) self->events.fields_ended(self->user, stream->user, 1, fin);
  return 0;
}

static int http_ended(nghttp3_conn *http, int64_t id, void *user, void *stream_user) {
  cquic_connection *self = user;
  cquic_stream *stream = stream_user;
  (void)http, (void)id;
  if (stream) self->events.ended(self->user, stream->user);
  return 0;
}

static int http_stop_sending(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
  cquic_connection *self = user;
  (void)http, (void)stream_user;
  int error = ngtcp2_conn_shutdown_stream_read(self->quic, id, code);
  return error == NGTCP2_ERR_NOMEM ? NGHTTP3_ERR_CALLBACK_FAILURE : 0;
}

static int http_reset_stream(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
  cquic_connection *self = user;
  (void)http, (void)stream_user;
  int error = ngtcp2_conn_shutdown_stream_write(self->quic, id, code);
  return error == NGTCP2_ERR_NOMEM ? NGHTTP3_ERR_CALLBACK_FAILURE : 0;
}

static int http_going_away(nghttp3_conn *http, int64_t id, void *user) {
  cquic_connection *self = user;
  (void)http;
  self->events.going_away(self->user, id);
  return 0;
}

static const nghttp3_callbacks http_callbacks = {
    .acked_stream_data = http_acknowledged,
    .stream_close = http_closed,
    .recv_data = http_data,
    .deferred_consume = http_consumed,
    .begin_headers = http_began,
    .recv_header = http_field,
    .end_headers = http_head_ended,
    .begin_trailers = http_began,
    .recv_trailer = http_trailer,
    .end_trailers = http_trailers_ended,
    .stop_sending = http_stop_sending,
    .end_stream = http_ended,
    .reset_stream = http_reset_stream,
    .shutdown = http_going_away,
};

// MARK: Opening streams

/// Gives a request a stream, and its fields to nghttp3. Below 0 when there is no stream for it now.
static int open_stream(cquic_connection *self, cquic_stream *stream, const nghttp3_nv *fields, size_t count) {
  if (ngtcp2_conn_open_bidi_stream(self->quic, &stream->id, stream)) {
    stream->id = -1;
    return -1;
  }
  nghttp3_data_reader reader = {.read_data = read_body};
  if (nghttp3_conn_submit_request(self->http, stream->id, fields, count, stream->has_body ? &reader : NULL, stream)) {
    (void)ngtcp2_conn_set_stream_user_data(self->quic, stream->id, NULL);
    (void)ngtcp2_conn_shutdown_stream(self->quic, stream->id, NGHTTP3_H3_INTERNAL_ERROR);
    stream->id = -1;
    return -1;
  }
  return 0;
}

/// Opens streams for the requests that have none yet, in the order in which they were made.
static void open_waiting_streams(cquic_connection *self) {
  if (!self->http) return;
  cquic_stream *stream = self->streams;
  while (stream && stream->next) stream = stream->next;
  for (; stream; stream = stream->previous) {
    if (stream->id < 0 && open_stream(self, stream, stream->fields, stream->field_count)) return;
    free_fields(stream->fields, stream->field_count);
    stream->fields = NULL;
    stream->field_count = 0;
  }
}

// MARK: What ngtcp2 tells

/// The streams that a connection has for itself (RFC 9114 §6.2).
static int begin_http(cquic_connection *self) {
  nghttp3_settings settings;
  nghttp3_settings_default(&settings);
  settings.max_field_section_size = self->largest_field_section;
  settings.qpack_max_dtable_capacity = 4096;
  settings.qpack_encoder_max_dtable_capacity = 4096;
  settings.qpack_blocked_streams = 16;
  int error = nghttp3_conn_client_new(&self->http, &http_callbacks, &settings, nghttp3_mem_default(), self);
  if (error) return error;
  int64_t control, encoder, decoder;
  if (ngtcp2_conn_open_uni_stream(self->quic, &control, NULL) || ngtcp2_conn_open_uni_stream(self->quic, &encoder, NULL) ||
      ngtcp2_conn_open_uni_stream(self->quic, &decoder, NULL))
    return -1;
  error = nghttp3_conn_bind_control_stream(self->http, control);
  return error ? error : nghttp3_conn_bind_qpack_streams(self->http, encoder, decoder);
}

static int quic_handshake_completed(ngtcp2_conn *quic, void *user) {
  cquic_connection *self = user;
  (void)quic;
  gnutls_datum_t protocol;
  int error = gnutls_alpn_get_selected_protocol(self->tls, &protocol);
  if (error || protocol.size != 2 || memcmp(protocol.data, "h3", 2) != 0) {
    cquic_fail(self, CQUIC_TLS, 120, "the server does not speak HTTP/3");
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  self->is_handshake_complete = 1;
  self->was_resumed = gnutls_session_is_resumed(self->tls) != 0;
  if (self->sends_early_data && !(gnutls_session_get_flags(self->tls) & GNUTLS_SFLAGS_EARLY_DATA) &&
      ngtcp2_conn_early_data_rejected(quic))
    return NGTCP2_ERR_CALLBACK_FAILURE;
  if (!self->http && begin_http(self)) {
    cquic_fail(self, CQUIC_PROTOCOL, NGHTTP3_H3_GENERAL_PROTOCOL_ERROR, "the server takes no control streams");
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  self->events.handshake_completed(self->user);
  return 0;
}

/// RFC 9001 §4.6.2: whatever was sent early counts for nothing, and is sent once more behind the handshake.
static int quic_early_data_rejected(ngtcp2_conn *quic, void *user) {
  cquic_connection *self = user;
  (void)quic;
  self->early_data_was_rejected = 1;
  nghttp3_conn_del(self->http);
  self->http = NULL;
  for (cquic_stream *stream = self->streams, *next; stream; stream = next) {
    next = stream->next;
    stream->id = -1;
    if (stream->is_cancelled) forget_stream(self, stream, NGHTTP3_H3_REQUEST_CANCELLED);
  }
  return 0;
}

static int quic_data(ngtcp2_conn *quic, uint32_t flags, int64_t id, uint64_t offset, const uint8_t *bytes,
                     size_t length, void *user, void *stream_user) {
  cquic_connection *self = user;
  (void)quic, (void)offset, (void)stream_user;
  if (!self->http) return 0;
  // RFC 9000 §2.1: the streams that only the server sends on.
  if (!self->is_told_of_settings && (id & 3) == 3)
    self->is_told_of_settings = !self->events.server_stream(self->user, id, bytes, length);
  int is_end = (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0;
  // RFC 9114 §4.1.2: a body that is too short is an error of its stream. The library would end the connection for it, so that
  // it is told of the end only when the bytes before are counted.
  cquic_stream *stream = is_end && ngtcp2_is_bidi_stream(id) ? stream_user : NULL;
  if (!stream || length) {
    nghttp3_ssize used = nghttp3_conn_read_stream(self->http, id, bytes, length, is_end && !stream);
    if (used < 0) {
      fail_http(self, (int)used);
      return NGTCP2_ERR_CALLBACK_FAILURE;
    }
    // Nothing but bytes of a body, which are counted as they are told of and consumed.
    if (used > 0) extend(self, id, (uint64_t)used);
  }
  if (!stream || stream->is_cancelled) return 0;
  if (self->events.lacks_bytes(self->user, stream->user)) {
    self->events.ended(self->user, stream->user);
    return 0;
  }
  nghttp3_ssize used = nghttp3_conn_read_stream(self->http, id, NULL, 0, 1);
  if (used < 0) {
    fail_http(self, (int)used);
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  return 0;
}

static int quic_acknowledged(ngtcp2_conn *quic, int64_t id, uint64_t offset, uint64_t length, void *user,
                             void *stream_user) {
  cquic_connection *self = user;
  (void)quic, (void)offset, (void)stream_user;
  if (!self->http) return 0;
  int error = nghttp3_conn_add_ack_offset(self->http, id, length);
  if (error == 0 || error == NGHTTP3_ERR_STREAM_NOT_FOUND) return 0;
  fail_http(self, error);
  return NGTCP2_ERR_CALLBACK_FAILURE;
}

static int quic_stream_closed(ngtcp2_conn *quic, uint32_t flags, int64_t id, uint64_t code, void *user,
                              void *stream_user) {
  cquic_connection *self = user;
  (void)quic, (void)stream_user;
  if (!self->http) return 0;
  if (!(flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET)) code = NGHTTP3_H3_NO_ERROR;
  int error = nghttp3_conn_close_stream(self->http, id, code);
  if (error == NGHTTP3_ERR_STREAM_NOT_FOUND) {
    if (!ngtcp2_is_bidi_stream(id)) ngtcp2_conn_extend_max_streams_uni(self->quic, 1);
    return 0;
  }
  if (error == 0) return 0;
  fail_http(self, error);
  return NGTCP2_ERR_CALLBACK_FAILURE;
}

static int quic_stream_reset(ngtcp2_conn *quic, int64_t id, uint64_t size, uint64_t code, void *user,
                             void *stream_user) {
  cquic_connection *self = user;
  (void)quic, (void)size;
  cquic_stream *stream = stream_user;
  if (stream) self->events.reset(self->user, stream->user, code);
  if (!self->http) return 0;
  return nghttp3_conn_shutdown_stream_read(self->http, id) ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

static int quic_reading_stopped(ngtcp2_conn *quic, int64_t id, uint64_t code, void *user, void *stream_user) {
  cquic_connection *self = user;
  (void)quic, (void)code, (void)stream_user;
  if (!self->http) return 0;
  return nghttp3_conn_shutdown_stream_read(self->http, id) ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

static int quic_streams_changed(ngtcp2_conn *quic, uint64_t most, void *user) {
  cquic_connection *self = user;
  (void)quic, (void)most;
  if (self->requests_have_begun) open_waiting_streams(self);
  self->events.streams_changed(self->user);
  return 0;
}

static int quic_stream_data_changed(ngtcp2_conn *quic, int64_t id, uint64_t most, void *user, void *stream_user) {
  cquic_connection *self = user;
  (void)quic, (void)most, (void)stream_user;
  if (!self->http) return 0;
  return nghttp3_conn_unblock_stream(self->http, id) ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

static int quic_forgotten(ngtcp2_conn *quic, const ngtcp2_pkt_stateless_reset *reset, void *user) {
  (void)quic, (void)reset;
  cquic_fail(user, CQUIC_FORGOTTEN, 0, "the server has forgotten the connection");
  return 0;
}

static void quic_random(uint8_t *bytes, size_t length, const ngtcp2_rand_ctx *context) {
  (void)context;
  (void)gnutls_rnd(GNUTLS_RND_NONCE, bytes, length);
}

static int quic_new_connection_id(ngtcp2_conn *quic, ngtcp2_cid *id, uint8_t *token, size_t length, void *user) {
  (void)quic, (void)user;
  if (gnutls_rnd(GNUTLS_RND_RANDOM, id->data, length)) return NGTCP2_ERR_CALLBACK_FAILURE;
  id->datalen = length;
  return gnutls_rnd(GNUTLS_RND_RANDOM, token, NGTCP2_STATELESS_RESET_TOKENLEN) ? NGTCP2_ERR_CALLBACK_FAILURE : 0;
}

static const ngtcp2_callbacks quic_callbacks = {
    .client_initial = ngtcp2_crypto_client_initial_cb,
    .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
    .handshake_completed = quic_handshake_completed,
    .encrypt = ngtcp2_crypto_encrypt_cb,
    .decrypt = ngtcp2_crypto_decrypt_cb,
    .hp_mask = ngtcp2_crypto_hp_mask_cb,
    .recv_stream_data = quic_data,
    .acked_stream_data_offset = quic_acknowledged,
    .stream_close = quic_stream_closed,
    .recv_stateless_reset = quic_forgotten,
    .recv_retry = ngtcp2_crypto_recv_retry_cb,
    .extend_max_local_streams_bidi = quic_streams_changed,
    .rand = quic_random,
    .get_new_connection_id = quic_new_connection_id,
    .update_key = ngtcp2_crypto_update_key_cb,
    .stream_reset = quic_stream_reset,
    .extend_max_stream_data = quic_stream_data_changed,
    .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
    .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
    .get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
    .stream_stop_sending = quic_reading_stopped,
    .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
    .early_data_rejected = quic_early_data_rejected,
};

// MARK: Life

static ngtcp2_path path_of(cquic_connection *self) {
  ngtcp2_path path = {
      .local = {.addr = (ngtcp2_sockaddr *)&self->local, .addrlen = self->local_length},
      .remote = {.addr = (ngtcp2_sockaddr *)&self->remote, .addrlen = self->remote_length},
  };
  return path;
}

/// The round trip before the first one is measured. RFC 9002 §6.2.2: where an earlier connection has measured it, what is lost
/// is sent again after three of them rather than after a second. A server near by takes some time to think.
static uint64_t expected_round_trip(const cquic_ticket *ticket) {
  const uint64_t least = 25 * NGTCP2_MILLISECONDS, most = NGTCP2_SECONDS;
  if (!ticket || !ticket->round_trip) return NGTCP2_DEFAULT_INITIAL_RTT;
  return ticket->round_trip < least ? least : ticket->round_trip > most ? most : ticket->round_trip;
}

static int begin_quic(cquic_connection *self, const cquic_options *options) {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = options->now;
  settings.initial_rtt = expected_round_trip(options->ticket);
  settings.max_tx_udp_payload_size = largest_datagram;
  settings.max_window = options->connection_window;
  settings.max_stream_window = options->largest_stream_window;
  settings.handshake_timeout = options->handshake_timeout;
  settings.cc_algo = NGTCP2_CC_ALGO_CUBIC;
  ngtcp2_transport_params parameters;
  ngtcp2_transport_params_default(&parameters);
  parameters.initial_max_stream_data_bidi_local = options->stream_window;
  parameters.initial_max_stream_data_uni = 1 << 20;
  parameters.initial_max_data = options->connection_window;
  parameters.initial_max_streams_uni = 8;
  parameters.max_idle_timeout = options->idle_timeout;
  parameters.active_connection_id_limit = 7;
  parameters.grease_quic_bit = 1;
  ngtcp2_cid destination, source;
  destination.datalen = source.datalen = connection_id_length;
  if (gnutls_rnd(GNUTLS_RND_RANDOM, destination.data, connection_id_length) ||
      gnutls_rnd(GNUTLS_RND_RANDOM, source.data, connection_id_length))
    return -1;
  ngtcp2_path path = path_of(self);
  if (ngtcp2_conn_client_new(&self->quic, &destination, &source, &path, NGTCP2_PROTO_VER_V1, &quic_callbacks, &settings,
                             &parameters, NULL, self))
    return -1;
  ngtcp2_conn_set_tls_native_handle(self->quic, self->tls);
  if (!self->sends_early_data) return 0;
  ngtcp2_conn_set_early_remote_transport_params(self->quic, &options->ticket->parameters);
  return begin_http(self);
}

cquic_connection *cquic_connection_new(const cquic_options *options, const cquic_events *events, void *user) {
  if (options->local_length > sizeof(struct sockaddr_storage) || options->remote_length > sizeof(struct sockaddr_storage))
    return NULL;
  cquic_connection *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->events = *events;
  self->user = user;
  self->largest_field_section = options->largest_field_section;
  memcpy(&self->local, options->local, options->local_length);
  memcpy(&self->remote, options->remote, options->remote_length);
  self->local_length = options->local_length;
  self->remote_length = options->remote_length;
  if (cquic_begin_tls(self, options) || begin_quic(self, options)) {
    cquic_connection_free(self);
    return NULL;
  }
  return self;
}

void cquic_connection_free(cquic_connection *self) {
  if (!self) return;
  nghttp3_conn_del(self->http);
  ngtcp2_conn_del(self->quic);
  cquic_end_tls(self);
  for (cquic_stream *stream = self->streams, *next; stream; stream = next) {
    next = stream->next;
    free_stream(stream);
  }
  free(self);
}

// MARK: Datagrams

int cquic_receive(cquic_connection *self, const uint8_t *bytes, size_t length, unsigned ecn, uint64_t now) {
  if (self->failure.kind != CQUIC_NOTHING) return 0;
  ngtcp2_path path = path_of(self);
  ngtcp2_pkt_info information = {.ecn = ecn & 3};
  int error = ngtcp2_conn_read_pkt(self->quic, &path, &information, bytes, length, now);
  if (error == NGTCP2_ERR_DROP_CONN) error = NGTCP2_ERR_INTERNAL;
  if (error) fail_quic(self, error);
  return self->failure.kind == CQUIC_NOTHING;
}

static void sending_stopped(cquic_connection *self, int64_t id) {
  nghttp3_conn_shutdown_stream_write(self->http, id);
  for (cquic_stream *stream = self->streams; stream; stream = stream->next)
    if (stream->id == id) return self->events.sending_stopped(self->user, stream->user);
}

ptrdiff_t cquic_send(cquic_connection *self, uint8_t *bytes, size_t capacity, unsigned *ecn, uint64_t now) {
  if (self->failure.kind != CQUIC_NOTHING) return -1;
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  if (self->sends_early_data && !self->is_handshake_complete) {
    // The handshake may end in here, which may take the streams away: none is being written meanwhile.
    ngtcp2_pkt_info information = {0};
    ngtcp2_ssize written = ngtcp2_conn_write_pkt(self->quic, &path.path, &information, bytes, capacity, now);
    if (written < 0) {
      fail_quic(self, (int)written);
      return -1;
    }
    if (written > 0) {
      *ecn = information.ecn;
      return written;
    }
  }
  for (;;) {
    nghttp3_vec vectors[most_vectors];
    int64_t id = -1;
    int is_end = 0;
    nghttp3_ssize count = 0;
    if (self->http && ngtcp2_conn_get_max_data_left(self->quic)) {
      count = nghttp3_conn_writev_stream(self->http, &id, &is_end, vectors, most_vectors);
      if (count < 0) {
        fail_http(self, (int)count);
        return -1;
      }
    }
    ngtcp2_ssize taken = 0;
    ngtcp2_pkt_info information = {0};
    uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_MORE | (is_end ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0);
    ngtcp2_ssize written = ngtcp2_conn_writev_stream(self->quic, &path.path, &information, bytes, capacity, &taken,
                                                     flags, id, (const ngtcp2_vec *)vectors, (size_t)count, now);
    switch (written) {
    case NGTCP2_ERR_STREAM_DATA_BLOCKED: nghttp3_conn_block_stream(self->http, id); continue;
    case NGTCP2_ERR_STREAM_NOT_FOUND:
    case NGTCP2_ERR_STREAM_SHUT_WR: sending_stopped(self, id); continue;
    case NGTCP2_ERR_WRITE_MORE:
      if (nghttp3_conn_add_write_offset(self->http, id, (size_t)taken)) {
        cquic_fail(self, CQUIC_PROTOCOL, NGHTTP3_H3_INTERNAL_ERROR, "a frame can't be written");
        return -1;
      }
      continue;
    default: break;
    }
    if (written < 0) {
      fail_quic(self, (int)written);
      return -1;
    }
    if (taken >= 0 && id >= 0 && self->http && nghttp3_conn_add_write_offset(self->http, id, (size_t)taken)) {
      cquic_fail(self, CQUIC_PROTOCOL, NGHTTP3_H3_INTERNAL_ERROR, "a frame can't be written");
      return -1;
    }
    *ecn = information.ecn;
    return written;
  }
}

size_t cquic_send_quantum(cquic_connection *self) { return ngtcp2_conn_get_send_quantum(self->quic); }

void cquic_burst_ended(cquic_connection *self, uint64_t now) { ngtcp2_conn_update_pkt_tx_time(self->quic, now); }

size_t cquic_largest_datagram(void) { return largest_datagram; }

uint64_t cquic_expiry(const cquic_connection *self) {
  return self->failure.kind == CQUIC_NOTHING ? ngtcp2_conn_get_expiry(self->quic) : UINT64_MAX;
}

int cquic_expired(cquic_connection *self, uint64_t now) {
  if (self->failure.kind != CQUIC_NOTHING) return 0;
  int error = ngtcp2_conn_handle_expiry(self->quic, now);
  if (error) fail_quic(self, error);
  return self->failure.kind == CQUIC_NOTHING;
}

ptrdiff_t cquic_close(cquic_connection *self, uint8_t *bytes, size_t capacity, uint64_t code, uint64_t now) {
  if (ngtcp2_conn_is_in_closing_period(self->quic) || ngtcp2_conn_is_in_draining_period(self->quic)) return 0;
  ngtcp2_connection_close_error reason;
  ngtcp2_connection_close_error_default(&reason);
  switch (self->failure.kind) {
  case CQUIC_SILENT:
  case CQUIC_FORGOTTEN:
  case CQUIC_CLOSED_BY_TRANSPORT:
  case CQUIC_CLOSED_BY_APPLICATION: return 0;
  case CQUIC_TLS:
    ngtcp2_connection_close_error_set_transport_error_tls_alert(&reason, (uint8_t)self->failure.code, NULL, 0);
    break;
  case CQUIC_PROTOCOL:
    // The codes of HTTP/3 begin at 0x100, those of QUIC end at 0x11 or are an alert's.
    if (self->http && self->failure.code >= 0x200)
      ngtcp2_connection_close_error_set_application_error(&reason, self->failure.code, NULL, 0);
    else if (self->http && self->failure.code >= 0x100 && self->failure.code <= 0x110)
      ngtcp2_connection_close_error_set_application_error(&reason, self->failure.code, NULL, 0);
    else
      ngtcp2_connection_close_error_set_transport_error(&reason, self->failure.code, NULL, 0);
    break;
  case CQUIC_NOTHING:
  case CQUIC_OUT_OF_MEMORY: ngtcp2_connection_close_error_set_application_error(&reason, code, NULL, 0); break;
  }
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info information;
  ngtcp2_ssize written = ngtcp2_conn_write_connection_close(self->quic, &path.path, &information, bytes, capacity, &reason, now);
  return written < 0 ? 0 : written;
}

// MARK: The connection

int cquic_migrate(cquic_connection *self, const struct sockaddr *local, socklen_t length, uint64_t now) {
  if (self->failure.kind != CQUIC_NOTHING || length > sizeof self->local) return 0;
  struct sockaddr_storage before = self->local;
  socklen_t length_before = self->local_length;
  memcpy(&self->local, local, length);
  self->local_length = length;
  ngtcp2_path path = path_of(self);
  if (ngtcp2_conn_initiate_immediate_migration(self->quic, &path, now) == 0) return 1;
  self->local = before;
  self->local_length = length_before;
  return 0;
}

int cquic_may_migrate(cquic_connection *self) {
  const ngtcp2_transport_params *parameters = ngtcp2_conn_get_remote_transport_params(self->quic);
  return parameters && !parameters->disable_active_migration;
}

void cquic_keep_alive(cquic_connection *self, uint64_t interval) {
  ngtcp2_conn_set_keep_alive_timeout(self->quic, interval);
}

uint64_t cquic_streams_left(const cquic_connection *self) {
  return ngtcp2_conn_get_streams_bidi_left(self->quic);
}

uint64_t cquic_round_trip(cquic_connection *self) {
  ngtcp2_conn_stat state;
  ngtcp2_conn_get_conn_stat(self->quic, &state);
  return state.first_rtt_sample_ts == UINT64_MAX ? 0 : state.smoothed_rtt;
}

size_t cquic_certificate_count(const cquic_connection *self) {
  unsigned count = 0;
  return gnutls_certificate_get_peers(self->tls, &count) ? count : 0;
}

const uint8_t *cquic_certificate(const cquic_connection *self, size_t index, size_t *length) {
  unsigned count = 0;
  const gnutls_datum_t *all = gnutls_certificate_get_peers(self->tls, &count);
  if (!all || index >= count) return NULL;
  *length = all[index].size;
  return all[index].data;
}

uint16_t cquic_cipher_suite(const cquic_connection *self) {
  switch (gnutls_cipher_get(self->tls)) {
  case GNUTLS_CIPHER_AES_128_GCM: return 0x1301;
  case GNUTLS_CIPHER_AES_256_GCM: return 0x1302;
  case GNUTLS_CIPHER_CHACHA20_POLY1305: return 0x1303;
  default: return 0;
  }
}

int cquic_was_asked_for_certificate(const cquic_connection *self) { return self->was_asked_for_certificate; }

size_t cquic_authority_count(const cquic_connection *self) { return self->authority_count; }

const uint8_t *cquic_authority(const cquic_connection *self, size_t index, size_t *length) {
  if (index >= self->authority_count) return NULL;
  *length = self->authorities[index].size;
  return self->authorities[index].data;
}

int cquic_sends_early_data(const cquic_connection *self) { return self->sends_early_data; }

int cquic_was_resumed(const cquic_connection *self) { return self->was_resumed; }

// MARK: Requests

static nghttp3_nv view_of(const cquic_field *field) {
  nghttp3_nv view = {
      .name = (uint8_t *)field->name,
      .value = (uint8_t *)field->value,
      .namelen = field->name_length,
      .valuelen = field->value_length,
      .flags = field->is_secret ? NGHTTP3_NV_FLAG_NEVER_INDEX : NGHTTP3_NV_FLAG_NONE,
  };
  return view;
}

static uint8_t *copied(const uint8_t *bytes, size_t length) {
  uint8_t *copy = malloc(length ? length : 1);
  if (copy && length) memcpy(copy, bytes, length);
  return copy;
}

/// Copies of fields, with `free_fields` to free them; NULL when there is no memory for them.
static nghttp3_nv *copies_of(const cquic_field *fields, size_t count) {
  nghttp3_nv *copies = calloc(count ? count : 1, sizeof *copies);
  for (size_t index = 0; copies && index < count; index++) {
    copies[index] = view_of(&fields[index]);
    copies[index].name = copied(fields[index].name, fields[index].name_length);
    copies[index].value = copied(fields[index].value, fields[index].value_length);
    if (copies[index].name && copies[index].value) continue;
    free_fields(copies, index + 1);
    return NULL;
  }
  return copies;
}

cquic_stream *cquic_request(cquic_connection *self, const cquic_field *fields, size_t count, int has_body, int is_early,
                            void *stream_user) {
  if (self->failure.kind != CQUIC_NOTHING) return NULL;
  cquic_stream *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  stream->id = -1;
  stream->user = stream_user;
  stream->has_body = has_body;
  stream->fields = copies_of(fields, count);
  stream->field_count = stream->fields ? count : 0;
  int may_leave = self->http && (self->requests_have_begun || (is_early && !has_body && !self->is_handshake_complete));
  int is_open = stream->fields && may_leave && open_stream(self, stream, stream->fields, count) == 0;
  // One that waits for the handshake gets its stream then.
  if (!stream->fields || (!is_open && self->requests_have_begun)) {
    free_stream(stream);
    return NULL;
  }
  if (self->requests_have_begun) {
    free_fields(stream->fields, stream->field_count);
    stream->fields = NULL;
    stream->field_count = 0;
  }
  stream->next = self->streams;
  if (self->streams) self->streams->previous = stream;
  self->streams = stream;
  return stream;
}

void cquic_begin_requests(cquic_connection *self) {
  if (self->failure.kind != CQUIC_NOTHING || self->requests_have_begun || !self->is_handshake_complete) return;
  self->requests_have_begun = 1;
  open_waiting_streams(self);
}

int64_t cquic_stream_id(const cquic_stream *stream) { return stream->id; }

int cquic_write(cquic_connection *self, cquic_stream *stream, const uint8_t *bytes, size_t length) {
  if (self->failure.kind != CQUIC_NOTHING || stream->is_complete || length == 0) return 0;
  struct chunk *chunk = malloc(sizeof *chunk + length);
  if (!chunk) return 0;
  chunk->next = NULL;
  chunk->length = length;
  memcpy(chunk->bytes, bytes, length);
  if (stream->last) stream->last->next = chunk;
  else stream->first = chunk;
  stream->last = chunk;
  if (!stream->unoffered) stream->unoffered = chunk;
  stream->unacknowledged += length;
  if (stream->id >= 0) (void)nghttp3_conn_resume_stream(self->http, stream->id);
  return 1;
}

int cquic_finish(cquic_connection *self, cquic_stream *stream, const cquic_field *trailers, size_t count) {
  if (self->failure.kind != CQUIC_NOTHING || stream->is_complete) return 0;
  if (count > 0) {
    stream->trailers = copies_of(trailers, count);
    if (!stream->trailers) return 0;
    stream->trailer_count = count;
  }
  stream->is_complete = 1;
  if (stream->id >= 0) (void)nghttp3_conn_resume_stream(self->http, stream->id);
  return 1;
}

size_t cquic_unacknowledged(const cquic_stream *stream) { return stream->unacknowledged; }

void cquic_consumed(cquic_connection *self, cquic_stream *stream, size_t length) {
  if (self->failure.kind == CQUIC_NOTHING && stream->id >= 0)
    ngtcp2_conn_extend_max_stream_offset(self->quic, stream->id, length);
}

void cquic_cancel(cquic_connection *self, cquic_stream *stream, uint64_t code) {
  if (self->failure.kind != CQUIC_NOTHING) return;
  if (stream->id < 0) return forget_stream(self, stream, code);
  stream->is_cancelled = 1;
  (void)nghttp3_conn_shutdown_stream_read(self->http, stream->id);
  nghttp3_conn_shutdown_stream_write(self->http, stream->id);
  (void)ngtcp2_conn_shutdown_stream(self->quic, stream->id, code);
}

int cquic_set_priority(cquic_connection *self, cquic_stream *stream, unsigned urgency, int is_incremental) {
  if (self->failure.kind != CQUIC_NOTHING || stream->id < 0) return 0;
  nghttp3_pri priority = {.urgency = urgency > 7 ? 7 : urgency, .inc = is_incremental ? 1 : 0};
  return nghttp3_conn_set_stream_priority(self->http, stream->id, &priority) == 0;
}

#else

int cquic_is_available(void) { return 0; }

#endif

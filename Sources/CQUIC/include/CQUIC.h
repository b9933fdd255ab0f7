#ifndef CQUIC_H
#define CQUIC_H

// One HTTP/3 connection of a client, without sockets, clocks and threads: ngtcp2 moves and protects the bytes (RFC 9000,
// RFC 9001, RFC 9002), GnuTLS makes the handshake, nghttp3 cuts the frames and packs the fields (RFC 9114, RFC 9204).
//
// All functions of a connection are called on one thread at a time. Datagrams go in with `cquic_receive` and come out of
// `cquic_send`; whatever happened is told by the functions of `cquic_events`, from inside these calls and from
// `cquic_expired`. An event's function may not call the connection's functions.
//
// `cquic_is_available` returns 0 where the libraries were missing when this was compiled; nothing else is there then.

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef struct cquic_connection cquic_connection;
typedef struct cquic_stream cquic_stream;
/// A session ticket, for the next handshake with the server (RFC 8446 §4.6.1), and the server's limits for early data (RFC 9001 §4.6.1).
typedef struct cquic_ticket cquic_ticket;

/// The events of a connection. `user` is the connection's, `stream_user` the stream's, as they were given.
typedef struct {
  /// The handshake is complete. `cquic_begin_requests` lets requests leave once the server's certificates were judged.
  void (*handshake_completed)(void *user);
  /// How many streams may be open has changed.
  void (*streams_changed)(void *user);
  /// The server takes no requests on streams from `first` on, and no further ones (RFC 9114 §5.2).
  void (*going_away)(void *user, int64_t first);
  /// Something for the next handshake, which belongs to the function from now on.
  void (*ticket)(void *user, cquic_ticket *ticket);
  /// The next bytes of a stream that only the server sends on (RFC 9114 §6.2). 0 when no more of any are wanted.
  int (*server_stream)(void *user, int64_t stream, const uint8_t *bytes, size_t length);
  /// A field of a head (`is_trailer` 0) or of the trailers.
  void (*field)(void *user, void *stream_user, const uint8_t *name, size_t name_length, const uint8_t *value,
                size_t value_length, int is_trailer);
  /// All fields of a head or of the trailers are told.
  void (*fields_ended)(void *user, void *stream_user, int is_trailer, int is_end);
  /// Bytes of a body. The server may send as many more when `cquic_consumed` says so.
  void (*data)(void *user, void *stream_user, const uint8_t *bytes, size_t length);
  /// Whether bytes of the body are missing that were announced: then `ended` tells that the message ends all the same.
  int (*lacks_bytes)(void *user, void *stream_user);
  /// The message is complete.
  void (*ended)(void *user, void *stream_user);
  /// The server ended its side early, with a code of RFC 9114 §8.1.
  void (*reset)(void *user, void *stream_user, uint64_t code);
  /// The server wants no more of the request.
  void (*sending_stopped)(void *user, void *stream_user);
  /// So many bytes of the request's body have arrived at the server.
  void (*acknowledged)(void *user, void *stream_user, size_t length);
  /// The stream is gone, and its `cquic_stream` with it.
  void (*closed)(void *user, void *stream_user, uint64_t code);
} cquic_events;

typedef struct {
  const uint8_t *bytes;
  size_t length;
} cquic_bytes;

typedef struct {
  /// The server's name for TLS, also where it is an address; `is_name` says whether it is sent.
  const char *host;
  int is_name;
  const struct sockaddr *local;
  socklen_t local_length;
  const struct sockaddr *remote;
  socklen_t remote_length;
  /// How much a stream and the connection may bring that was not consumed yet; windows grow up to the second.
  uint64_t stream_window, largest_stream_window, connection_window;
  /// Bytes of a list of fields, as RFC 9114 §4.2.2 counts them.
  uint64_t largest_field_section;
  /// Nanoseconds.
  uint64_t idle_timeout, handshake_timeout, now;
  /// NULL for none. It may be freed behind `cquic_connection_new`, and must not be used twice.
  const cquic_ticket *ticket;
  /// Whether requests may leave before the handshake is complete, where the ticket permits it.
  int sends_early_data;
  /// The client's certificates in DER, its own first, and its key, for a server that asks; none by default.
  const cquic_bytes *certificates;
  size_t certificate_count;
  cquic_bytes key;
} cquic_options;

typedef struct {
  const uint8_t *name;
  size_t name_length;
  const uint8_t *value;
  size_t value_length;
  /// It must not be put into the compression's table (RFC 9204 §7.1.3).
  int is_secret;
} cquic_field;

/// Why a connection can't go on.
typedef enum {
  CQUIC_NOTHING,
  /// The TLS handshake failed; the code is the alert's number.
  CQUIC_TLS,
  /// The server ended the connection with a code of QUIC (RFC 9000 §20.1).
  CQUIC_CLOSED_BY_TRANSPORT,
  /// The server ended the connection with a code of HTTP/3.
  CQUIC_CLOSED_BY_APPLICATION,
  /// Nothing came for too long.
  CQUIC_SILENT,
  /// The server broke the protocol.
  CQUIC_PROTOCOL,
  /// The server has forgotten the connection (RFC 9000 §10.3).
  CQUIC_FORGOTTEN,
  CQUIC_OUT_OF_MEMORY,
} cquic_failure_kind;

typedef struct {
  cquic_failure_kind kind;
  uint64_t code;
  char text[160];
} cquic_failure;

int cquic_is_available(void);

void cquic_ticket_free(cquic_ticket *ticket);
int cquic_ticket_permits_early_data(const cquic_ticket *ticket);
/// The smoothed round trip of the connection that it is from, in nanoseconds; 0 where it was not known.
uint64_t cquic_ticket_round_trip(const cquic_ticket *ticket);

/// NULL when it can't be made.
cquic_connection *cquic_connection_new(const cquic_options *options, const cquic_events *events, void *user);
void cquic_connection_free(cquic_connection *connection);

/// A datagram has arrived. `ecn` are the two bits of its header. False when the connection can't go on.
int cquic_receive(cquic_connection *connection, const uint8_t *bytes, size_t length, unsigned ecn, uint64_t now);
/// The next datagram to send, into `bytes`. 0 when there is none now, below 0 when the connection can't go on.
ptrdiff_t cquic_send(cquic_connection *connection, uint8_t *bytes, size_t capacity, unsigned *ecn, uint64_t now);
/// How many bytes may leave in one burst. After it, call `cquic_burst_ended`.
size_t cquic_send_quantum(cquic_connection *connection);
void cquic_burst_ended(cquic_connection *connection, uint64_t now);
/// The largest datagram that `cquic_send` may write.
size_t cquic_largest_datagram(void);
/// The time of `cquic_expired`, in nanoseconds; UINT64_MAX for none.
uint64_t cquic_expiry(const cquic_connection *connection);
/// False when the connection can't go on.
int cquic_expired(cquic_connection *connection, uint64_t now);
/// The datagram that ends the connection, with a code of HTTP/3 or, where it has failed, with the failure's.
ptrdiff_t cquic_close(cquic_connection *connection, uint8_t *bytes, size_t capacity, uint64_t code, uint64_t now);
cquic_failure cquic_failure_of(const cquic_connection *connection);

/// Asks the server after so many nanoseconds of silence whether it is there; 0 for never.
void cquic_keep_alive(cquic_connection *connection, uint64_t interval);
/// How many further requests the server takes now.
uint64_t cquic_streams_left(const cquic_connection *connection);
/// The smoothed round trip, in nanoseconds; 0 while it is not known.
uint64_t cquic_round_trip(cquic_connection *connection);

/// The certificates that the server showed, its own first, in DER.
size_t cquic_certificate_count(const cquic_connection *connection);
const uint8_t *cquic_certificate(const cquic_connection *connection, size_t index, size_t *length);
/// The number of the cipher suite (RFC 8446 §B.4); 0 when it is not known.
uint16_t cquic_cipher_suite(const cquic_connection *connection);
/// Whether the server asked who the client is.
int cquic_was_asked_for_certificate(const cquic_connection *connection);
/// The names (DER) of the authorities whose certificates it wants.
size_t cquic_authority_count(const cquic_connection *connection);
const uint8_t *cquic_authority(const cquic_connection *connection, size_t index, size_t *length);
/// Whether requests leave before the handshake is complete.
int cquic_sends_early_data(const cquic_connection *connection);
/// Whether the handshake was a short one, in which the server has shown no certificate anew.
int cquic_was_resumed(const cquic_connection *connection);

/// The datagrams leave from another address from now on (RFC 9000 §9). False when the connection can't move now.
int cquic_migrate(cquic_connection *connection, const struct sockaddr *local, socklen_t length, uint64_t now);
/// Whether the server takes datagrams of the connection from other addresses (RFC 9000 §18.2, disable_active_migration).
int cquic_may_migrate(cquic_connection *connection);

/// Sends a head. Before `cquic_begin_requests` it waits, unless it `is_early`, without a body, and early data are sent:
/// then it leaves at once, and once more should the server reject that. NULL when no stream is left or the connection can't
/// go on.
cquic_stream *cquic_request(cquic_connection *connection, const cquic_field *fields, size_t count, int has_body,
                            int is_early, void *stream_user);
/// Sends the requests that wait for the end of the handshake.
void cquic_begin_requests(cquic_connection *connection);
/// Below 0 while the request waits.
int64_t cquic_stream_id(const cquic_stream *stream);
/// Copies bytes of the body, to be sent as the server allows.
int cquic_write(cquic_connection *connection, cquic_stream *stream, const uint8_t *bytes, size_t length);
/// The body is complete; perhaps trailers follow.
int cquic_finish(cquic_connection *connection, cquic_stream *stream, const cquic_field *trailers, size_t count);
/// Bytes that were given and have not arrived yet.
size_t cquic_unacknowledged(const cquic_stream *stream);
/// The reader has taken so many bytes of the body.
void cquic_consumed(cquic_connection *connection, cquic_stream *stream, size_t length);
/// Neither side sends more. The event `closed` still comes, perhaps from inside this call.
void cquic_cancel(cquic_connection *connection, cquic_stream *stream, uint64_t code);
/// Tells the server of another importance of the request (RFC 9218 §7).
int cquic_set_priority(cquic_connection *connection, cquic_stream *stream, unsigned urgency, int is_incremental);

#endif

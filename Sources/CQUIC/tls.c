#include "CQUIC.h"

#if __has_include(<ngtcp2/ngtcp2_crypto_gnutls.h>) && __has_include(<nghttp3/nghttp3.h>) && \
    __has_include(<gnutls/gnutls.h>)

#include "internal.h"

#include <stdlib.h>
#include <string.h>

static ngtcp2_conn *referenced(ngtcp2_crypto_conn_ref *reference) {
  return ((cquic_connection *)reference->user_data)->quic;
}

static cquic_connection *connection_of(gnutls_session_t tls) {
  ngtcp2_crypto_conn_ref *reference = gnutls_session_get_ptr(tls);
  return reference->user_data;
}

// MARK: Tickets

void cquic_ticket_free(cquic_ticket *ticket) {
  if (!ticket) return;
  if (ticket->session.data) gnutls_memset(ticket->session.data, 0, ticket->session.size);
  gnutls_free(ticket->session.data);
  free(ticket);
}

int cquic_ticket_permits_early_data(const cquic_ticket *ticket) { return ticket->permits_early_data; }

uint64_t cquic_ticket_round_trip(const cquic_ticket *ticket) { return ticket->round_trip; }

/// The server has sent something for the next handshake.
static int tls_ticket(gnutls_session_t tls, unsigned type, unsigned when, unsigned is_incoming,
                      const gnutls_datum_t *message) {
  (void)when, (void)message;
  if (type != GNUTLS_HANDSHAKE_NEW_SESSION_TICKET || !is_incoming) return 0;
  cquic_connection *self = connection_of(tls);
  const ngtcp2_transport_params *parameters = ngtcp2_conn_get_remote_transport_params(self->quic);
  cquic_ticket *ticket = calloc(1, sizeof *ticket);
  // Without one the next handshake is a full one.
  if (!ticket || !parameters || gnutls_session_get_data2(tls, &ticket->session)) {
    cquic_ticket_free(ticket);
    return 0;
  }
  ngtcp2_transport_params_default(&ticket->parameters);
  ticket->parameters.initial_max_streams_bidi = parameters->initial_max_streams_bidi;
  ticket->parameters.initial_max_streams_uni = parameters->initial_max_streams_uni;
  ticket->parameters.initial_max_stream_data_bidi_local = parameters->initial_max_stream_data_bidi_local;
  ticket->parameters.initial_max_stream_data_bidi_remote = parameters->initial_max_stream_data_bidi_remote;
  ticket->parameters.initial_max_stream_data_uni = parameters->initial_max_stream_data_uni;
  ticket->parameters.initial_max_data = parameters->initial_max_data;
  ticket->parameters.active_connection_id_limit = parameters->active_connection_id_limit;
  // RFC 9001 §4.6.1: any other value is an error. HTTP/3 needs three streams of its own beside the request's.
  ticket->permits_early_data = gnutls_record_get_max_early_data_size(tls) == UINT32_MAX &&
                               parameters->initial_max_streams_bidi > 0 && parameters->initial_max_streams_uni >= 3;
  ticket->round_trip = cquic_round_trip(self);
  self->events.ticket(self->user, ticket);
  return 0;
}

// MARK: Who the client is

/// The server asks for a certificate.
static int tls_certificate(gnutls_session_t tls, const gnutls_datum_t *authorities, int authority_count,
                           const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **certificates,
                           unsigned int *count, gnutls_privkey_t *key) {
  (void)algorithms, (void)algorithm_count;
  cquic_connection *self = connection_of(tls);
  if (!self->was_asked_for_certificate && authority_count > 0) {
    self->authorities = calloc((size_t)authority_count, sizeof *self->authorities);
    for (int index = 0; self->authorities && index < authority_count; index++) {
      gnutls_datum_t *name = &self->authorities[self->authority_count];
      name->data = malloc(authorities[index].size ? authorities[index].size : 1);
      if (!name->data) break;
      memcpy(name->data, authorities[index].data, authorities[index].size);
      name->size = authorities[index].size;
      self->authority_count++;
    }
  }
  self->was_asked_for_certificate = 1;
  *certificates = self->certificates;
  *count = self->certificate_count;
  *key = self->key;
  return 0;
}

static int take_identity(cquic_connection *self, const cquic_options *options) {
  if (options->certificate_count == 0) return 0;
  self->certificates = calloc(options->certificate_count, sizeof *self->certificates);
  if (!self->certificates || gnutls_privkey_init(&self->key)) return -1;
  gnutls_datum_t key = {(unsigned char *)options->key.bytes, (unsigned)options->key.length};
  if (gnutls_privkey_import_x509_raw(self->key, &key, GNUTLS_X509_FMT_DER, NULL, 0)) return -1;
  for (size_t index = 0; index < options->certificate_count; index++) {
    gnutls_datum_t certificate = {(unsigned char *)options->certificates[index].bytes,
                                  (unsigned)options->certificates[index].length};
    if (gnutls_pcert_import_x509_raw(&self->certificates[index], &certificate, GNUTLS_X509_FMT_DER, 0)) return -1;
    self->certificate_count++;
  }
  return 0;
}

/// Without authorities: the server is judged by the caller. One for all connections, never changed and never freed.
static gnutls_certificate_credentials_t credentials(void) {
  static gnutls_certificate_credentials_t shared;
  gnutls_certificate_credentials_t known = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
  if (known) return known;
  gnutls_certificate_credentials_t made;
  if (gnutls_certificate_allocate_credentials(&made)) return NULL;
  gnutls_certificate_set_retrieve_function2(made, tls_certificate);
  if (__atomic_compare_exchange_n(&shared, &known, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return made;
  gnutls_certificate_free_credentials(made);
  return known;
}

// MARK: Life

int cquic_begin_tls(cquic_connection *self, const cquic_options *options) {
  static const char priorities[] =
      "%DISABLE_TLS13_COMPAT_MODE:NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:"
      "+CHACHA20-POLY1305:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:+GROUP-SECP521R1";
  self->reference.get_conn = referenced;
  self->reference.user_data = self;
  gnutls_certificate_credentials_t shared = credentials();
  if (!shared || take_identity(self, options)) return -1;
  self->sends_early_data = options->sends_early_data && options->ticket && options->ticket->permits_early_data;
  unsigned flags = GNUTLS_CLIENT | GNUTLS_NO_END_OF_EARLY_DATA;
  if (self->sends_early_data) flags |= GNUTLS_ENABLE_EARLY_DATA;
  if (gnutls_init(&self->tls, flags)) {
    self->tls = NULL;
    return -1;
  }
  gnutls_datum_t protocol = {(unsigned char *)"h3", 2};
  if (gnutls_priority_set_direct(self->tls, priorities, NULL) ||
      gnutls_credentials_set(self->tls, GNUTLS_CRD_CERTIFICATE, shared) ||
      ngtcp2_crypto_gnutls_configure_client_session(self->tls) ||
      gnutls_alpn_set_protocols(self->tls, &protocol, 1, GNUTLS_ALPN_MANDATORY))
    return -1;
  if (options->is_name &&
      gnutls_server_name_set(self->tls, GNUTLS_NAME_DNS, options->host, strlen(options->host)))
    return -1;
  gnutls_session_set_ptr(self->tls, &self->reference);
  gnutls_handshake_set_hook_function(self->tls, GNUTLS_HANDSHAKE_NEW_SESSION_TICKET, GNUTLS_HOOK_POST, tls_ticket);
  // One that is out of date leads to a full handshake.
  if (options->ticket &&
      gnutls_session_set_data(self->tls, options->ticket->session.data, options->ticket->session.size))
    self->sends_early_data = 0;
  return 0;
}

void cquic_end_tls(cquic_connection *self) {
  if (self->tls) gnutls_deinit(self->tls);
  for (unsigned index = 0; index < self->certificate_count; index++) gnutls_pcert_deinit(&self->certificates[index]);
  free(self->certificates);
  if (self->key) gnutls_privkey_deinit(self->key);
  for (size_t index = 0; index < self->authority_count; index++) free(self->authorities[index].data);
  free(self->authorities);
}

#endif

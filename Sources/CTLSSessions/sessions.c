#include "CTLSSessions.h"

#include <malloc.h>

// Weak: a version of the library without one of them links all the same.
#define MAY_BE_MISSING __attribute__((weak))

extern int CNIOBoringSSL_SSL_CTX_set_session_cache_mode(void *context, int mode) MAY_BE_MISSING;
extern void CNIOBoringSSL_SSL_CTX_sess_set_new_cb(void *context, int (*callback)(void *, void *)) MAY_BE_MISSING;
extern int CNIOBoringSSL_SSL_set_session(void *connection, void *session) MAY_BE_MISSING;
extern int CNIOBoringSSL_SSL_session_reused(const void *connection) MAY_BE_MISSING;
extern int CNIOBoringSSL_SSL_SESSION_should_be_single_use(const void *session) MAY_BE_MISSING;
extern void CNIOBoringSSL_SSL_SESSION_free(void *session) MAY_BE_MISSING;

// ssl.h: SSL_SESS_CACHE_CLIENT and SSL_SESS_CACHE_NO_INTERNAL.
static const int client_only = 0x0001, nothing_inside = 0x0100 | 0x0200;

int ctls_sessions_are_available(void) {
  return CNIOBoringSSL_SSL_CTX_set_session_cache_mode != NULL && CNIOBoringSSL_SSL_CTX_sess_set_new_cb != NULL &&
         CNIOBoringSSL_SSL_set_session != NULL && CNIOBoringSSL_SSL_session_reused != NULL &&
         CNIOBoringSSL_SSL_SESSION_should_be_single_use != NULL && CNIOBoringSSL_SSL_SESSION_free != NULL;
}

void ctls_keep_sessions(void *context, int (*kept)(void *connection, void *session)) {
  if (!ctls_sessions_are_available()) return;
  CNIOBoringSSL_SSL_CTX_set_session_cache_mode(context, client_only | nothing_inside);
  CNIOBoringSSL_SSL_CTX_sess_set_new_cb(context, kept);
}

void ctls_resume(void *connection, void *session) {
  if (ctls_sessions_are_available()) CNIOBoringSSL_SSL_set_session(connection, session);
}

int ctls_was_resumed(const void *connection) {
  return ctls_sessions_are_available() ? CNIOBoringSSL_SSL_session_reused(connection) : 0;
}

int ctls_is_for_one_use(const void *session) {
  return ctls_sessions_are_available() ? CNIOBoringSSL_SSL_SESSION_should_be_single_use(session) : 1;
}

void ctls_free_session(void *session) {
  if (ctls_sessions_are_available()) CNIOBoringSSL_SSL_SESSION_free(session);
}

ptrdiff_t ctls_place_of(const void *value, const void *object) {
  const void *const *words = object;
  size_t count = malloc_usable_size((void *)object) / sizeof *words;
  ptrdiff_t place = -1;
  for (size_t i = 0; i < count; i++) {
    if (words[i] != value) continue;
    if (place >= 0) return -1;
    place = (ptrdiff_t)(i * sizeof *words);
  }
  return place;
}

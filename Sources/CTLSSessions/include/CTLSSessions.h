#ifndef CTLSSESSIONS_H
#define CTLSSESSIONS_H

// Functions that SwiftNIO's TLS library has and its Swift interface does not offer: keeping what a server gives for the
// next handshake, and showing it there (RFC 8446 §2.2, RFC 5077). Where that library no longer has these functions
// nothing is kept, and every handshake is a full one.

#include <stddef.h>

/// Whether the functions below do anything with sessions.
int ctls_sessions_are_available(void);

/// From now on `kept` is called for each session that a connection of `context` (SSL_CTX) may resume later. It returns
/// 1 when it takes the session over, which it must free, else 0.
void ctls_keep_sessions(void *context, int (*kept)(void *connection, void *session));

/// `connection` (SSL), whose handshake has not begun, is to resume `session`. Takes a reference of its own.
void ctls_resume(void *connection, void *session);

/// Whether the handshake of `connection` resumed an earlier session.
int ctls_was_resumed(const void *connection);

/// Whether `session` should be shown once only (RFC 8446 §C.4).
int ctls_is_for_one_use(const void *session);

void ctls_free_session(void *session);

/// How many bytes behind the beginning of `object`, a block of the heap, the pointer `value` is stored; -1 unless exactly one
/// word of the block has it.
ptrdiff_t ctls_place_of(const void *value, const void *object);

#endif

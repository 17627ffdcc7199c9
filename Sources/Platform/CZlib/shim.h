#pragma once
#include <zlib.h>

/// Swift cannot import a macro with a cast. Accepts gzip alone, with its header.
static inline int dray_inflate_init_gzip(z_stream *stream) {
    return inflateInit2(stream, 16 + MAX_WBITS);
}

/// Writes gzip with its header, at zlib's default level and memory.
static inline int dray_deflate_init_gzip(z_stream *stream) {
    return deflateInit2(
        stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
}

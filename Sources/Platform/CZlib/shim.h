#pragma once
#include <zlib.h>

/// A macro with a cast does not reach Swift. Takes gzip alone, with its header.
static inline int dray_inflate_init_gzip(z_stream *stream) {
    return inflateInit2(stream, 16 + MAX_WBITS);
}

#pragma once
#include <zlib.h>

/// Swift cannot import a macro with a cast. Accepts gzip alone, with its header.
static inline int dray_inflate_init_gzip(z_stream *stream) {
    return inflateInit2(stream, 16 + MAX_WBITS);
}

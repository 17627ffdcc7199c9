#pragma once
#include <openssl/evp.h>
#include "crc32c.h"
#include "sha256_lanes.h"
#include "sha256_pair.h"

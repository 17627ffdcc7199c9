#pragma once
#include <openssl/evp.h>
#include "crc32c.h"

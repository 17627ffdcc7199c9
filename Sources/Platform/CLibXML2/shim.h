#pragma once
#include <libxml/parser.h>
#include <libxml/xmlerror.h>

/// Swift cannot import a macro with a cast.
static const unsigned int dray_xml_sax2_magic = XML_SAX2_MAGIC;

#pragma once
#include <libxml/parser.h>
#include <libxml/xmlerror.h>

/// A macro with a cast does not reach Swift.
static const unsigned int dray_xml_sax2_magic = XML_SAX2_MAGIC;

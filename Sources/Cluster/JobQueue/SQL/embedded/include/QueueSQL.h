/// The files of `SQL/` as they are in the binary.
///
/// The C compiler embeds them (`#embed`): as literals of Swift they took 45 s to compile.
#ifndef QUEUE_SQL_H
#define QUEUE_SQL_H

#include <stddef.h>

/// The bytes of one file, which live as long as the process.
typedef struct {
    const unsigned char *bytes;
    size_t count;
} EmbeddedFile;

EmbeddedFile sql_access(void);
EmbeddedFile sql_audits(void);
EmbeddedFile sql_browsing(void);
EmbeddedFile sql_catalogs(void);
EmbeddedFile sql_checksum_files(void);
EmbeddedFile sql_key_conflicts(void);
EmbeddedFile sql_known_files(void);
EmbeddedFile sql_neighbours(void);
EmbeddedFile sql_selecting(void);
EmbeddedFile sql_starting(void);
EmbeddedFile sql_submitting(void);
EmbeddedFile sql_status(void);
EmbeddedFile sql_common(void);
EmbeddedFile sql_daily(void);
EmbeddedFile sql_events(void);
EmbeddedFile sql_figures(void);
EmbeddedFile sql_functions_checksum_page(void);
EmbeddedFile sql_functions_claims(void);
EmbeddedFile sql_functions_lanes(void);
EmbeddedFile sql_functions_leased_jobs(void);
EmbeddedFile sql_functions_quota_resources(void);
EmbeddedFile sql_functions_reports(void);
EmbeddedFile sql_functions_shared(void);
EmbeddedFile sql_housekeeping(void);
EmbeddedFile sql_leasing(void);
EmbeddedFile sql_load_tests(void);
EmbeddedFile sql_migration_0001_initial(void);
EmbeddedFile sql_mirrors(void);
EmbeddedFile sql_multipart(void);
EmbeddedFile sql_optional_renditions(void);
EmbeddedFile sql_origins(void);
EmbeddedFile sql_evicting(void);
EmbeddedFile sql_purging(void);
EmbeddedFile sql_cache_answers(void);
EmbeddedFile sql_rights(void);
EmbeddedFile sql_removing(void);
EmbeddedFile sql_quotas(void);
EmbeddedFile sql_recording(void);
EmbeddedFile sql_refreshing(void);
EmbeddedFile sql_reporting(void);
EmbeddedFile sql_resolving(void);
EmbeddedFile sql_schema(void);
EmbeddedFile sql_sites(void);
EmbeddedFile sql_sources(void);
EmbeddedFile sql_webhooks(void);
EmbeddedFile sql_workers(void);

#endif

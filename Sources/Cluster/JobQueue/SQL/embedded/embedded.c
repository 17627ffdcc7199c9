#pragma clang diagnostic ignored "-Wc23-extensions"

#include "QueueSQL.h"

// One entry for each file, declared in QueueSQL.h; a file that is missing does not compile.
#define EMBEDDED(name) \
    EmbeddedFile name(void) { return (EmbeddedFile){name##_bytes, sizeof name##_bytes}; }

static const unsigned char sql_access_bytes[] = {
#embed "../access.sql"
};
EMBEDDED(sql_access)

static const unsigned char sql_audits_bytes[] = {
#embed "../sites/audits.sql"
};
EMBEDDED(sql_audits)

static const unsigned char sql_browsing_bytes[] = {
#embed "../catalogs/browsing.sql"
};
EMBEDDED(sql_browsing)

static const unsigned char sql_catalogs_bytes[] = {
#embed "../catalogs/catalogs.sql"
};
EMBEDDED(sql_catalogs)

static const unsigned char sql_checksum_files_bytes[] = {
#embed "../catalogs/checksum_files.sql"
};
EMBEDDED(sql_checksum_files)

static const unsigned char sql_key_conflicts_bytes[] = {
#embed "../catalogs/key_conflicts.sql"
};
EMBEDDED(sql_key_conflicts)

static const unsigned char sql_known_files_bytes[] = {
#embed "../catalogs/known_files.sql"
};
EMBEDDED(sql_known_files)

static const unsigned char sql_neighbours_bytes[] = {
#embed "../catalogs/neighbours.sql"
};
EMBEDDED(sql_neighbours)

static const unsigned char sql_optional_renditions_bytes[] = {
#embed "../catalogs/optional_renditions.sql"
};
EMBEDDED(sql_optional_renditions)

static const unsigned char sql_selecting_bytes[] = {
#embed "../catalogs/selecting.sql"
};
EMBEDDED(sql_selecting)

static const unsigned char sql_starting_bytes[] = {
#embed "../catalogs/starting.sql"
};
EMBEDDED(sql_starting)

static const unsigned char sql_submitting_bytes[] = {
#embed "../catalogs/submitting.sql"
};
EMBEDDED(sql_submitting)

static const unsigned char sql_status_bytes[] = {
#embed "../catalogs/status.sql"
};
EMBEDDED(sql_status)

static const unsigned char sql_common_bytes[] = {
#embed "../common.sql"
};
EMBEDDED(sql_common)

static const unsigned char sql_daily_bytes[] = {
#embed "../daily.sql"
};
EMBEDDED(sql_daily)

static const unsigned char sql_events_bytes[] = {
#embed "../events.sql"
};
EMBEDDED(sql_events)

static const unsigned char sql_figures_bytes[] = {
#embed "../figures.sql"
};
EMBEDDED(sql_figures)

static const unsigned char sql_functions_checksum_page_bytes[] = {
#embed "../functions/checksum_page.sql"
};
EMBEDDED(sql_functions_checksum_page)

static const unsigned char sql_functions_claims_bytes[] = {
#embed "../functions/claims.sql"
};
EMBEDDED(sql_functions_claims)

static const unsigned char sql_functions_lanes_bytes[] = {
#embed "../functions/lanes.sql"
};
EMBEDDED(sql_functions_lanes)

static const unsigned char sql_functions_leased_jobs_bytes[] = {
#embed "../functions/leased_jobs.sql"
};
EMBEDDED(sql_functions_leased_jobs)

static const unsigned char sql_functions_quota_resources_bytes[] = {
#embed "../functions/quota_resources.sql"
};
EMBEDDED(sql_functions_quota_resources)

static const unsigned char sql_functions_reports_bytes[] = {
#embed "../functions/reports.sql"
};
EMBEDDED(sql_functions_reports)

static const unsigned char sql_functions_shared_bytes[] = {
#embed "../functions/shared.sql"
};
EMBEDDED(sql_functions_shared)

static const unsigned char sql_housekeeping_bytes[] = {
#embed "../housekeeping.sql"
};
EMBEDDED(sql_housekeeping)

static const unsigned char sql_leasing_bytes[] = {
#embed "../leasing.sql"
};
EMBEDDED(sql_leasing)

static const unsigned char sql_load_tests_bytes[] = {
#embed "../load_tests.sql"
};
EMBEDDED(sql_load_tests)

static const unsigned char sql_migration_0001_initial_bytes[] = {
#embed "../migrations/0001_initial.sql"
};
EMBEDDED(sql_migration_0001_initial)

static const unsigned char sql_mirrors_bytes[] = {
#embed "../mirrors.sql"
};
EMBEDDED(sql_mirrors)

static const unsigned char sql_multipart_bytes[] = {
#embed "../multipart.sql"
};
EMBEDDED(sql_multipart)

static const unsigned char sql_origins_bytes[] = {
#embed "../origins.sql"
};
EMBEDDED(sql_origins)

static const unsigned char sql_evicting_bytes[] = {
#embed "../sites/evicting.sql"
};
EMBEDDED(sql_evicting)

static const unsigned char sql_purging_bytes[] = {
#embed "../catalogs/purging.sql"
};
EMBEDDED(sql_purging)

static const unsigned char sql_cache_answers_bytes[] = {
#embed "../catalogs/cache_answers.sql"
};
EMBEDDED(sql_cache_answers)

static const unsigned char sql_rights_bytes[] = {
#embed "../catalogs/rights.sql"
};
EMBEDDED(sql_rights)

static const unsigned char sql_removing_bytes[] = {
#embed "../catalogs/removing.sql"
};
EMBEDDED(sql_removing)

static const unsigned char sql_quotas_bytes[] = {
#embed "../quotas.sql"
};
EMBEDDED(sql_quotas)

static const unsigned char sql_recording_bytes[] = {
#embed "../recording.sql"
};
EMBEDDED(sql_recording)

static const unsigned char sql_refreshing_bytes[] = {
#embed "../refreshing.sql"
};
EMBEDDED(sql_refreshing)

static const unsigned char sql_reporting_bytes[] = {
#embed "../reporting.sql"
};
EMBEDDED(sql_reporting)

static const unsigned char sql_resolving_bytes[] = {
#embed "../resolving.sql"
};
EMBEDDED(sql_resolving)

static const unsigned char sql_schema_bytes[] = {
#embed "../schema.sql"
};
EMBEDDED(sql_schema)

static const unsigned char sql_sites_bytes[] = {
#embed "../sites/sites.sql"
};
EMBEDDED(sql_sites)

static const unsigned char sql_sources_bytes[] = {
#embed "../catalogs/sources.sql"
};
EMBEDDED(sql_sources)

static const unsigned char sql_webhooks_bytes[] = {
#embed "../webhooks.sql"
};
EMBEDDED(sql_webhooks)

static const unsigned char sql_workers_bytes[] = {
#embed "../workers.sql"
};
EMBEDDED(sql_workers)

// floor LIST DIRECTORY: what libcurl, SHA-256 and writing cost by themselves.
//
// Two threads with sixteen transfers each fetch the URLs of LIST, hash their bodies and write them to
// DIRECTORY under the URL's path. Nothing is checked, renamed, made durable, retried or reported.
#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { threads = 2, transfers = 16 };

static char **urls;
static long count;
static atomic_long next, failed;
static int directory;

struct transfer {
    CURL *easy;
    EVP_MD_CTX *digest;
    int file;
    off_t received;
};

static size_t receive(char *bytes, size_t one, size_t size, void *context)
{
    struct transfer *transfer = context;
    (void)one;
    EVP_DigestUpdate(transfer->digest, bytes, size);
    ssize_t written = pwrite(transfer->file, bytes, size, transfer->received);
    transfer->received += size;
    return written < 0 ? 0 : (size_t)written;
}

// Opens what a URL's path names, and makes the one directory on its way.
static int create(const char *url)
{
    const char *start = strstr(url, "://");
    const char *path = start ? strchr(start + 3, '/') : NULL;
    if (!path) return -1;
    int file = openat(directory, path + 1, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (file >= 0 || errno != ENOENT) return file;
    char parent[256];
    snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path - 1), path + 1);
    mkdirat(directory, parent, 0755);
    return openat(directory, path + 1, O_WRONLY | O_CREAT | O_EXCL, 0644);
}

static int begin(CURLM *multi, struct transfer *transfer, const EVP_MD *sha256)
{
    long index = atomic_fetch_add(&next, 1);
    if (index >= count) return 0;
    transfer->file = create(urls[index]);
    if (transfer->file < 0) exit(73);
    transfer->received = 0;
    EVP_DigestInit_ex2(transfer->digest, sha256, NULL);
    curl_easy_setopt(transfer->easy, CURLOPT_URL, urls[index]);
    curl_multi_add_handle(multi, transfer->easy);
    return 1;
}

static void *run(void *unused)
{
    (void)unused;
    EVP_MD *sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    CURLM *multi = curl_multi_init();
    struct transfer *all = calloc(transfers, sizeof *all);
    long active = 0;
    for (long index = 0; index < transfers; index++) {
        all[index].easy = curl_easy_init();
        all[index].digest = EVP_MD_CTX_new();
        curl_easy_setopt(all[index].easy, CURLOPT_WRITEFUNCTION, receive);
        curl_easy_setopt(all[index].easy, CURLOPT_WRITEDATA, &all[index]);
        curl_easy_setopt(all[index].easy, CURLOPT_PRIVATE, &all[index]);
        curl_easy_setopt(all[index].easy, CURLOPT_BUFFERSIZE, 131072L);
        curl_easy_setopt(all[index].easy, CURLOPT_FAILONERROR, 1L);
        active += begin(multi, &all[index], sha256);
    }
    while (active > 0) {
        int running, left;
        curl_multi_perform(multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
            if (message->msg != CURLMSG_DONE) continue;
            struct transfer *transfer;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
            if (message->data.result != CURLE_OK) atomic_fetch_add(&failed, 1);
            unsigned char digest[EVP_MAX_MD_SIZE];
            EVP_DigestFinal_ex(transfer->digest, digest, NULL);
            close(transfer->file);
            curl_multi_remove_handle(multi, transfer->easy);
            active += begin(multi, transfer, sha256) - 1;
        }
        if (running > 0) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    return NULL;
}

int main(int argc, char **arguments)
{
    if (argc != 3) return 64;
    FILE *list = fopen(arguments[1], "r");
    directory = open(arguments[2], O_DIRECTORY | O_PATH);
    if (!list || directory < 0) return 66;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, list) > 0) {
        line[strcspn(line, "\n")] = 0;
        urls = realloc(urls, (count + 1) * sizeof *urls);
        urls[count++] = strdup(line);
    }
    curl_global_init(CURL_GLOBAL_ALL);
    pthread_t all[threads];
    for (long index = 0; index < threads; index++)
        pthread_create(&all[index], NULL, run, NULL);
    for (long index = 0; index < threads; index++) pthread_join(all[index], NULL);
    if (failed) fprintf(stderr, "floor: %ld of %ld failed\n", (long)failed, count);
    return failed ? 1 : 0;
}

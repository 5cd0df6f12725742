// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a writer has written becomes a file: under a temporary name beside its
 * place, renamed when it is complete, so that whoever opens the place finds the
 * old file or the new one and nothing between. The SHA-256 is taken on the way.
 */

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sha.h"

#define CHUNK	(1024 * 1024)

/* Ctrl-C is blocked but for the main loop's wait; do not let it starve here. */
static bool interrupted(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM));
}

static int write_all(int fd, const __u8 *data, size_t size)
{
	ssize_t done;

	while (size) {
		done = write(fd, data, size);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		data += done;
		size -= done;
	}
	return 0;
}

/* Hash @data and, if there is a file, write it. */
static int copy(int fd, const __u8 *data, __u64 size, char sha[SHA_TEXT])
{
	struct sha256_ctx context;
	__u64 at, length;
	int ret = 0;

	sha256_init(&context);
	for (at = 0; !ret && at < size; at += length) {
		length = size - at < CHUNK ? size - at : CHUNK;
		if (interrupted())
			return -EINTR;
		sha256_update(&context, length, data + at);
		if (fd >= 0)
			ret = write_all(fd, data + at, length);
	}
	sha_text(&context, sha);
	return ret;
}

/* A rename is on stable storage when its folder is. */
static int sync_folder(const char *path)
{
	char copy[PATH_MAX];
	int fd, ret;

	snprintf(copy, sizeof(copy), "%s", path);
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = fsync(fd) ? -errno : 0;
	close(fd);
	return ret;
}

/* mkstemp() makes files for the owner only; give it what open() would have. */
static int set_mode(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	return fchmod(fd, 0666 & ~mask) ? -errno : 0;
}

int store_file(const char *path, const void *data, __u64 size, bool persist,
	       char sha[SHA_TEXT])
{
	char temporary[PATH_MAX];
	int fd, ret;

	if (!path)
		return copy(-1, data, size, sha);
	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = mkstemp(temporary);
	if (fd < 0)
		return -errno;
	ret = copy(fd, data, size, sha);
	if (!ret)
		ret = set_mode(fd);
	if (!ret && persist && fsync(fd))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(temporary, path))
		ret = -errno;
	if (ret)
		unlink(temporary);
	else if (persist)
		ret = sync_folder(path);
	return ret;
}

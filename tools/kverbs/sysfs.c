// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading sysfs: single lines, and the names in a folder.
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

bool sysfs_text(char *text, size_t size, const char *path, ...)
{
	char name[512];
	va_list args;
	FILE *file;
	bool ok;

	*text = 0;
	va_start(args, path);
	vsnprintf(name, sizeof(name), path, args);
	va_end(args);
	file = fopen(name, "re");
	if (!file)
		return false;
	ok = fgets(text, size, file);
	fclose(file);
	text[strcspn(text, "\n")] = 0;
	return ok;
}

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int sysfs_list(const char *path, char ***names)
{
	struct dirent **entries;
	int nr, i;

	*names = NULL;
	nr = scandir(path, &entries, not_hidden, versionsort);
	if (nr < 0)
		return 0;
	*names = calloc(nr + 1, sizeof(**names));
	for (i = 0; i < nr; i++) {
		if (*names)
			(*names)[i] = strdup(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return *names ? nr : 0;
}

void sysfs_list_free(char **names, int nr)
{
	while (nr--)
		free(names[nr]);
	free(names);
}

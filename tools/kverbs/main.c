// SPDX-License-Identifier: GPL-2.0-only
/*
 * kverbs: drive /dev/kverbs from the command line. A table of verbs; without
 * one, the state of module and devices is shown.
 */

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "print.h"
#include "tool.h"

static int help_run(const struct verb *verb, int argc, char **argv);

static const struct choice help_choices[] = {
	{ 'c', "complete", NULL, "print verbs, arguments and options, for a shell to complete" },
	{ 0 }
};

static const struct verb help_verb = {
	.name = "help",
	.args = "[VERB]",
	.summary = "Show help, of the tool or of a verb",
	.choices = help_choices,
	.run = help_run,
};

static const struct verb * const verbs[] = {
	&devices_verb,
	&serve_verb,
	&write_verb,
	&bench_verb,
	&help_verb,
};

#define COUNT(table)	(sizeof(table) / sizeof(*(table)))

static const char intro[] =
	"Usage: kverbs [-j | -p] [VERB] [ARGUMENTS]\n"
	"\n"
	"Move data to and from a peer's memory by RDMA, through the kernel's own verbs.\n"
	"Without a verb: show the state of module and devices.\n"
	"\n"
	"Verbs:\n";

static const char outro[] =
	"\n"
	"Options:\n"
	"  -j, --json                print JSON\n"
	"  -p, --pretty              print JSON with line breaks (implies -j)\n"
	"  -V, --version             print the version\n"
	"  -h, --help                print this help; `kverbs VERB --help` tells of a verb\n"
	"\n"
	"Exit codes:\n"
	"  0  done\n"
	"  1  bad arguments; nothing was tried\n"
	"  2  module not loaded, or its device file missing or not permitted\n"
	"  3  no RDMA device, none on the route to the peer, or no route\n"
	"  4  the connection or the listener could not be made\n"
	"  5  a write or a read failed, its data differs, or the device failed\n"
	"  6  the peer closed, vanished, or did not answer in time\n"
	"  7  something local: a file, memory, the locked-memory budget\n";

static void tool_help(void)
{
	size_t i;

	fputs(intro, stdout);
	for (i = 0; i < COUNT(verbs); i++)
		printf("  %-8s %-22s %s\n", verbs[i]->name, verbs[i]->args, verbs[i]->summary);
	fputs(outro, stdout);
}

static const struct verb *find(const char *name)
{
	size_t i;

	for (i = 0; i < COUNT(verbs); i++)
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

static const struct option longs[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "pretty", no_argument, NULL, 'p' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 }
};

/* One line for the tool and one for each verb, as verb_complete() prints them. */
static void complete(void)
{
	size_t i;

	printf("kverbs\t[VERB]");
	for (i = 0; longs[i].name; i++)
		printf("\t--%s", longs[i].name);
	putchar('\n');
	for (i = 0; i < COUNT(verbs); i++)
		verb_complete(verbs[i]);
}

static bool help_set(void *context, char letter, const char *value)
{
	(void)value;
	*(bool *)context = letter == 'c';
	return true;
}

static int help_run(const struct verb *verb, int argc, char **argv)
{
	bool wanted = false;
	int first = options_parse(verb, argc, argv, help_set, &wanted);
	const struct verb *about;

	if (first < 0)
		return -1 - first;
	if (argc - first > !wanted)
		return fail_usage(verb, wanted ? "--complete takes no verb" : "one verb at most");
	if (wanted) {
		complete();
		return OUTCOME_OK;
	}
	if (first == argc) {
		tool_help();
		return OUTCOME_OK;
	}
	about = find(argv[first]);
	if (!about)
		return fail_usage(NULL, "there is no verb '%s'", argv[first]);
	verb_help(about);
	return OUTCOME_OK;
}

int main(int argc, char **argv)
{
	const struct verb *verb;
	int letter;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, "+jpVh", longs, NULL)) != -1) {
		if (options_common(letter))
			continue;
		if (letter == 'h') {
			tool_help();
			return OUTCOME_OK;
		}
		if (letter == 'V') {
			puts("kverbs " KVERBS_VERSION);
			return OUTCOME_OK;
		}
		return fail_usage(NULL, "unknown option %s", argv[optind - 1]);
	}
	if (optind == argc)
		return show_state();
	verb = find(argv[optind]);
	if (!verb)
		return fail_usage(NULL, "there is no verb '%s'", argv[optind]);
	return verb->run(verb, argc - optind, argv + optind);
}

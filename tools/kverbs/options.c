// SPDX-License-Identifier: GPL-2.0-only
/*
 * Options and help from one table per verb: what getopt_long() needs, and what
 * --help prints, are made from the same rows.
 */

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "tool.h"

#define OPTIONS_MAX	32
#define HELP_COLUMN	28

static const struct choice common[] = {
	{ 'j', "json", NULL, "print JSON" },
	{ 'p', "pretty", NULL, "print JSON with line breaks (implies -j)" },
	{ 'h', "help", NULL, "print this help" },
	{ 0 }
};

bool options_common(char letter)
{
	switch (letter) {
	case 'j':
		out_mode(true, false);
		return true;
	case 'p':
		out_mode(true, true);
		return true;
	default:
		return false;
	}
}

bool no_option(void *context, char letter, const char *value)
{
	(void)context;
	(void)letter;
	(void)value;
	return false;
}

/* The help begins on a line of its own when there is no room for it. */
static void help_rows(const struct choice *choices)
{
	const struct choice *c;
	int width;

	for (c = choices; c && c->name; c++) {
		width = printf("  -%c, --%s%s%s", c->letter, c->name, c->value ? " " : "",
			       c->value ? c->value : "");
		if (width > HELP_COLUMN - 2) {
			putchar('\n');
			width = 0;
		}
		printf("%*s%s\n", HELP_COLUMN - width, "", c->help);
	}
}

static void complete_rows(const struct choice *choices)
{
	for (; choices->name; choices++) {
		printf("\t--%s", choices->name);
		if (choices->value)
			printf("=%s", choices->value);
	}
}

void verb_complete(const struct verb *verb)
{
	printf("%s\t%s", verb->name, verb->args);
	complete_rows(verb->choices);
	complete_rows(common);
	putchar('\n');
}

void verb_help(const struct verb *verb)
{
	printf("Usage: kverbs %s %s%s[OPTIONS]\n\n%s.\n\nOptions:\n", verb->name,
	       verb->args, *verb->args ? " " : "", verb->summary);
	help_rows(verb->choices);
	help_rows(common);
	if (verb->text)
		printf("\n%s", verb->text);
}

/* Add @choices to what getopt_long() reads. */
static void add(const struct choice *choices, struct option *longs, char *shorts)
{
	size_t nr = 0;

	while (longs[nr].name)
		nr++;
	for (; choices && choices->name && nr < OPTIONS_MAX; choices++, nr++) {
		longs[nr].name = choices->name;
		longs[nr].has_arg = choices->value ? required_argument : no_argument;
		longs[nr].val = choices->letter;
		shorts += strlen(shorts);
		sprintf(shorts, choices->value ? "%c:" : "%c", choices->letter);
	}
}

static const char *long_name(const struct choice *choices, char letter)
{
	for (; choices->name; choices++)
		if (choices->letter == letter)
			return choices->name;
	return "?";
}

int options_parse(const struct verb *verb, int argc, char **argv,
		  bool (*set)(void *context, char letter, const char *value),
		  void *context)
{
	struct option longs[OPTIONS_MAX + 1] = { 0 };
	char shorts[3 * OPTIONS_MAX + 2] = ":";
	int letter;

	add(verb->choices, longs, shorts);
	add(common, longs, shorts);
	optind = 0;
	opterr = 0;
	while ((letter = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (letter == 'h') {
			verb_help(verb);
			return -1 - OUTCOME_OK;
		}
		if (letter == ':')
			return -1 - fail_usage(verb, "%s needs a value", argv[optind - 1]);
		if (letter == '?')
			return -1 - fail_usage(verb, "unknown option %s", argv[optind - 1]);
		if (!options_common(letter) && !set(context, letter, optarg))
			return -1 - fail_usage(verb, "--%s: cannot be '%s'",
					       long_name(verb->choices, letter), optarg);
	}
	return optind;
}

bool parse_number(const char *text, __u64 most, __u64 *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && !*end && *value && *value <= most;
}

bool parse_poll(const char *text, __u32 *poll)
{
	for (*poll = KVERBS_POLL_SOFTIRQ; *poll <= KVERBS_POLL_DIRECT; ++*poll)
		if (!strcmp(text, kverbs_poll_name(*poll)))
			return true;
	return false;
}

bool parse_size(const char *text, __u64 *value)
{
	unsigned int shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (*end == 'K' || *end == 'k')
		shift = 10;
	else if (*end == 'M' || *end == 'm')
		shift = 20;
	else if (*end == 'G' || *end == 'g')
		shift = 30;
	if (errno || end[shift ? 1 : 0] || !*value || *value > (__u64)LLONG_MAX >> shift)
		return false;
	*value <<= shift;
	return true;
}

const char *size_text(__u64 bytes, char text[32])
{
	static const char units[] = "KMGT";
	double value = bytes;
	int unit = -1;

	while (value >= 1024 && unit < 3) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(text, 32, "%llu bytes", bytes);
	else
		snprintf(text, 32, "%.*f %ciB", value == (__u64)value ? 0 : 1, value,
			 units[unit]);
	return text;
}

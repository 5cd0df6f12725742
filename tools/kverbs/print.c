// SPDX-License-Identifier: GPL-2.0-only
/*
 * Text and JSON from the same calls, so that they cannot drift apart. JSON is
 * written as it comes: all that has to be remembered is what is open, and
 * whether a comma is due.
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "print.h"

#define DEPTH	16

static struct {
	bool json;
	bool pretty;
	unsigned int depth;
	char closing[DEPTH];	/* '}' or ']' for what is open */
	bool comma;		/* the next element needs one */
} out;

void out_mode(bool json, bool pretty)
{
	out.json = json;
	out.pretty = pretty;
}

bool out_is_json(void)
{
	return out.json;
}

static void line_break(void)
{
	if (out.pretty)
		printf("\n%*s", 2 * (int)out.depth, "");
}

static void quoted(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	putchar('"');
	for (; *c; c++) {
		if (*c == '"' || *c == '\\')
			printf("\\%c", *c);
		else if (*c < ' ' || *c == 0x7f)
			printf("\\u%04x", *c);
		else
			putchar(*c);
	}
	putchar('"');
}

/* What comes before any element: comma, line break and key. */
static void element(const char *key)
{
	if (out.comma)
		putchar(',');
	if (out.depth)
		line_break();
	if (key) {
		quoted(key);
		printf(out.pretty ? ": " : ":");
	}
	out.comma = true;
}

static void open_with(const char *key, const char *pair)
{
	if (!out.json || out.depth == DEPTH)
		return;
	element(key);
	putchar(pair[0]);
	out.closing[out.depth++] = pair[1];
	out.comma = false;
}

void out_object(const char *key)
{
	open_with(key, "{}");
}

void out_array(const char *key)
{
	open_with(key, "[]");
}

void out_close(void)
{
	if (!out.json || !out.depth)
		return;
	out.depth--;
	if (out.comma)
		line_break();
	putchar(out.closing[out.depth]);
	out.comma = true;
}

void out_begin(void)
{
	out.comma = false;
	out_object(NULL);
}

void out_end(void)
{
	if (out.json) {
		while (out.depth)
			out_close();
		putchar('\n');
	}
	fflush(stdout);
}

/* JSON wants an element here, and there is a place for it. */
static bool wanted(const char *key)
{
	return out.json && out.depth && (key || out.closing[out.depth - 1] == ']');
}

void out_str(const char *key, const char *format, const char *value)
{
	if (wanted(key)) {
		element(key);
		if (value)
			quoted(value);
		else
			printf("null");
	} else if (!out.json && format && value) {
		printf(format, value);
	}
}

void out_num(const char *key, const char *format, long long value)
{
	if (wanted(key)) {
		element(key);
		printf("%lld", value);
	} else if (!out.json && format) {
		printf(format, value);
	}
}

void out_real(const char *key, const char *format, double value)
{
	if (wanted(key)) {
		element(key);
		printf("%.6f", value);
	} else if (!out.json && format) {
		printf(format, value);
	}
}

void out_bool(const char *key, bool value)
{
	if (wanted(key)) {
		element(key);
		printf(value ? "true" : "false");
	}
}

void out_text(const char *format, ...)
{
	va_list args;

	if (out.json)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

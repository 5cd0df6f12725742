/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KVERBS_PRINT_H
#define _KVERBS_PRINT_H

#include <stdbool.h>

#define __printf(a, b)	__attribute__((format(printf, a, b)))

/*
 * One print layer for text and JSON. Each value is printed by one call that has
 * both: its JSON key, and a printf format for text. A NULL key leaves a value
 * out of JSON (or makes an array element of it), a NULL format out of text.
 */

/**
 * out_mode() - choose the language, once
 * @json: JSON instead of text
 * @pretty: with line breaks and indentation
 */
void out_mode(bool json, bool pretty);

/**
 * out_is_json() - which language it is
 *
 * Return: true for JSON.
 */
bool out_is_json(void);

/**
 * out_begin() - begin an answer: in JSON, the outermost object
 */
void out_begin(void);

/**
 * out_end() - end it, with a newline in JSON, and flush
 */
void out_end(void);

/**
 * out_object() - begin an object
 * @key: in the object around it; NULL in an array
 */
void out_object(const char *key);

/**
 * out_array() - begin an array
 * @key: in the object around it
 */
void out_array(const char *key);

/**
 * out_close() - end the innermost object or array
 */
void out_close(void);

/**
 * out_str() - a string
 * @key: in JSON
 * @format: in text, for a string
 * @value: the string; NULL is null in JSON and nothing in text
 */
void out_str(const char *key, const char *format, const char *value);

/**
 * out_num() - a whole number
 * @key: in JSON
 * @format: in text, for a long long
 * @value: the number
 */
void out_num(const char *key, const char *format, long long value);

/**
 * out_real() - a number with a fraction
 * @key: in JSON
 * @format: in text, for a double
 * @value: the number
 */
void out_real(const char *key, const char *format, double value);

/**
 * out_bool() - yes or no
 * @key: in JSON
 * @value: which
 */
void out_bool(const char *key, bool value);

/**
 * out_text() - what is for people only
 * @format: of printf()
 */
void __printf(1, 2) out_text(const char *format, ...);

#endif /* _KVERBS_PRINT_H */

/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KVERBS_TOOL_H
#define _KVERBS_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "kverbs.h"
#include "print.h"

/**
 * enum outcome - exit codes, the same for every verb
 * @OUTCOME_OK: done
 * @OUTCOME_USAGE: bad arguments; nothing was tried
 * @OUTCOME_MODULE: module not loaded, device file missing or not permitted
 * @OUTCOME_DEVICE: no RDMA device, or none on the route; no route
 * @OUTCOME_CONNECT: the connection, or the listener, could not be made
 * @OUTCOME_TRANSFER: a write or a read failed, or its data is not what it should be
 * @OUTCOME_PEER: the peer closed, vanished, or did not answer in time
 * @OUTCOME_LOCAL: something local: a file, memory, the locked-memory budget
 */
enum outcome {
	OUTCOME_OK = 0,
	OUTCOME_USAGE = 1,
	OUTCOME_MODULE = 2,
	OUTCOME_DEVICE = 3,
	OUTCOME_CONNECT = 4,
	OUTCOME_TRANSFER = 5,
	OUTCOME_PEER = 6,
	OUTCOME_LOCAL = 7,
};

/**
 * struct choice - one option of a verb
 * @letter: short form; the long form is always there
 * @name: long form
 * @value: what its argument is called, or its words with '|' between them; NULL
 *	when it takes none
 * @help: one line
 */
struct choice {
	char letter;
	const char *name;
	const char *value;
	const char *help;
};

/**
 * struct verb - one verb of the tool
 * @name: what to type
 * @args: positional arguments, for the usage line and for completion
 * @summary: one line
 * @text: more, for --help
 * @choices: options, ended by an empty one
 * @run: does it; @argv[0] is the verb itself. Returns enum outcome
 */
struct verb {
	const char *name;
	const char *args;
	const char *summary;
	const char *text;
	const struct choice *choices;
	int (*run)(const struct verb *verb, int argc, char **argv);
};

extern const struct verb bench_verb;
extern const struct verb devices_verb;
extern const struct verb serve_verb;
extern const struct verb write_verb;

/**
 * show_state() - what the tool does without arguments
 *
 * Return: enum outcome
 */
int show_state(void);

/* options.c */

/**
 * options_parse() - read a verb's options
 * @verb: with its choices; those all verbs have are added
 * @argc: number of arguments
 * @argv: arguments; those that are no options are left, from the result on
 * @set: called for each option; false means that its value is bad
 * @context: for @set
 *
 * Return: index of the first argument that is no option; or -1 - outcome when
 * the program should end.
 */
int options_parse(const struct verb *verb, int argc, char **argv,
		  bool (*set)(void *context, char letter, const char *value),
		  void *context);

/**
 * options_common() - an option that every verb has
 * @letter: which
 *
 * Return: false if it is none of them.
 */
bool options_common(char letter);

/**
 * verb_help() - print a verb's help
 * @verb: which
 */
void verb_help(const struct verb *verb);

/**
 * verb_complete() - print what there is to complete after a verb: its name, its
 *	arguments and its options, one line, tabs between
 * @verb: which
 */
void verb_complete(const struct verb *verb);

/**
 * no_option() - for options_parse(): a verb without options of its own
 * @context: unused
 * @letter: unused
 * @value: unused
 *
 * Return: false.
 */
bool no_option(void *context, char letter, const char *value);

/**
 * parse_number() - a decimal number, nothing else
 * @text: from the command line
 * @most: largest value allowed
 * @value: out; at least 1
 *
 * Return: false if it is not one.
 */
bool parse_number(const char *text, __u64 most, __u64 *value);

/**
 * parse_size() - a number of bytes: N, or N with K, M or G (powers of 1024, in
 *	either case)
 * @text: from the command line
 * @value: out; at least 1
 *
 * Return: false if it is not one.
 */
bool parse_size(const char *text, __u64 *value);

/**
 * parse_poll() - a poll context, by its name
 * @text: from the command line
 * @poll: out: enum kverbs_poll
 *
 * Return: false if there is none of this name.
 */
bool parse_poll(const char *text, __u32 *poll);

/**
 * size_text() - a number of bytes for people
 * @bytes: how many
 * @text: out
 *
 * Return: @text.
 */
const char *size_text(__u64 bytes, char text[32]);

/* problem.c: every failure goes through these, and is printed once. */

/**
 * struct problem - a failure, before it is printed
 * @result: exit code
 * @step: what was tried, for machines, when @error has no step
 * @words: the same for people, with cause and advice
 * @local: own address, or empty
 * @peer: the peer's address, or empty
 * @error: numbers: errno, device and, from the module, all the rest
 * @counted: a transfer was begun, and the following holds
 * @blocks: of its blocks, how many ended with each enum kverbs_placement
 */
struct problem {
	enum outcome result;
	const char *step;
	struct kverbs_explanation words;
	char local[KVERBS_ADDR_TEXT];
	char peer[KVERBS_ADDR_TEXT];
	struct kverbs_error error;
	bool counted;
	__u64 blocks[KVERBS_PLACEMENT_UNSENT + 1];
};

/**
 * problem_local() - something failed at this end, outside a connection
 * @result: exit code
 * @step: for machines, such as "open_file"
 * @doing: for people, such as "opening the file"
 * @code: positive errno, or 0
 * @advice: what to do next
 * @cause: format of printf()
 *
 * Return: the problem.
 */
struct problem __printf(6, 7)
problem_local(enum outcome result, const char *step, const char *doing, int code,
	      const char *advice, const char *cause, ...);

/**
 * problem_of() - a first cause from the module
 * @error: the first cause
 * @local: own address as text, or NULL
 * @peer: the peer's address as text, or NULL
 *
 * Return: the problem; its outcome follows from step and code.
 */
struct problem problem_of(const struct kverbs_error *error, const char *local,
			  const char *peer);

/**
 * problem_of_item() - why an item failed
 * @first: the first cause of its connection; without a step it has none
 * @event: the item's final event, or NULL when there was none
 * @status: then, positive errno of the call
 * @local: own address as text, or NULL
 * @peer: the peer's address as text, or NULL
 *
 * Return: the problem of @first if it is one, otherwise that of the item.
 */
struct problem problem_of_item(const struct kverbs_error *first,
			       const struct kverbs_event *event, __u32 status,
			       const char *local, const char *peer);

/**
 * problem_budget() - an allocation that did not fit
 * @code: positive errno of kverbs_buf_alloc()
 * @bytes: how many were asked for
 * @advice: what to do next
 *
 * Return: the problem.
 */
struct problem problem_budget(int code, __u64 bytes, const char *advice);

/**
 * problem_object() - print a problem inside an answer; in text, nothing
 * @problem: what
 */
void problem_object(const struct problem *problem);

/**
 * problem_text() - a problem as a message
 * @problem: what
 * @text: out
 * @size: of @text
 *
 * Return: @text.
 */
const char *problem_text(const struct problem *problem, char *text, size_t size);

/**
 * fail() - print a problem as the whole answer
 * @problem: what
 *
 * Return: its outcome.
 */
int fail(const struct problem *problem);

/**
 * fail_usage() - complain about the arguments
 * @verb: NULL for the tool itself
 * @cause: format of printf()
 *
 * Return: OUTCOME_USAGE.
 */
int __printf(2, 3)
fail_usage(const struct verb *verb, const char *cause, ...);

/* context.c */

/**
 * context_open() - open /dev/kverbs and make sure that we understand each other
 * @query: out, if not NULL: what the module can do
 * @need_device: fail when there is no RDMA device at all
 * @problem: out, on failure
 *
 * Return: a file descriptor, or -1.
 */
int context_open(struct kverbs_query *query, bool need_device, struct problem *problem);

/**
 * module_version() - the loaded module's version
 * @text: out; empty when it has none
 * @size: of @text
 *
 * Return: false when the module is not loaded.
 */
bool module_version(char *text, size_t size);

/**
 * conn_print() - print a connection: device, addresses, QPNs, GIDs, queues
 * @query: from kverbs_conn_query()
 * @software: it is on a software device
 */
void conn_print(const struct kverbs_conn_query *query, bool software);

/**
 * device_is_software() - whether a device has no DMA of its own
 * @fd: the context
 * @name: of the device
 *
 * Return: true if so.
 */
bool device_is_software(int fd, const char *name);

/**
 * only_software() - whether all devices there are have no DMA of their own
 *
 * Return: true if so; false also when the module cannot be asked.
 */
bool only_software(void);

/**
 * features_print() - print features: in JSON, an array of their names
 * @label: in text, what stands before them
 * @features: bits of enum kverbs_feature
 */
void features_print(const char *label, __u64 features);

#define NS_PER_MS	1000000ULL

/**
 * now_ns() - the time, on the clock of the module's stamps
 *
 * Return: CLOCK_MONOTONIC, in nanoseconds.
 */
__u64 now_ns(void);

/* sysfs.c */

/**
 * sysfs_text() - the first line of a file
 * @text: out; empty on failure
 * @size: of @text
 * @path: format of printf()
 *
 * Return: false when it cannot be read.
 */
bool __printf(3, 4)
sysfs_text(char *text, size_t size, const char *path, ...);

/**
 * sysfs_list() - the names in a folder, in natural order
 * @path: the folder
 * @names: out; free with sysfs_list_free()
 *
 * Return: how many; 0 when there is no such folder.
 */
int sysfs_list(const char *path, char ***names);

/**
 * sysfs_list_free() - free such a list
 * @names: the list
 * @nr: how many
 */
void sysfs_list_free(char **names, int nr);

/* store.c */

#define SHA_TEXT	65	/* room for a SHA-256 in hexadecimal */

/**
 * store_file() - hash data, and put it into a file that is replaced as a whole
 * @path: the file, or NULL to hash only
 * @data: what to store
 * @size: bytes
 * @persist: flush file and folder to stable storage
 * @sha: out: SHA-256 in hexadecimal
 *
 * Return: 0 or a negative errno; EINTR when a blocked signal is pending. On
 * failure the file is as it was.
 */
int store_file(const char *path, const void *data, __u64 size, bool persist,
	       char sha[SHA_TEXT]);

#endif /* _KVERBS_TOOL_H */

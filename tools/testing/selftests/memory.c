// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers: what can be registered and what cannot, that the device sees what the
 * program sees, mapping of allocated ones, and the locked-memory budget.
 */
#include "link.h"

#include <fcntl.h>
#include <sys/utsname.h>

#define PAGE	4096ULL
#define NOBODY	65534

static int try(int fd, const void *mem, __u64 length, __u32 flags)
{
	__u32 id = 0;
	int ret = kverbs_buf_register(fd, mem, length, flags, &id);

	if (!ret)
		CHECK_OK(kverbs_destroy(fd, id));
	return ret;
}

static void lengths(void)
{
	static const __u64 good[] = { 1, 2, PAGE - 1, PAGE, PAGE + 1, 4 * PAGE };
	static const __u64 beyond[] = {
		4 * PAGE + 1, 1ULL << 32, (1ULL << 32) + 1, 1ULL << 63, ~0ULL - PAGE, ~0ULL,
	};
	__u8 *mem = memory(6 * PAGE);
	int fd = context();
	__u32 i;

	CHECK_SYS(munmap(mem + 4 * PAGE, 2 * PAGE));
	CHECK_ERR(try(fd, mem, 0, 0), EINVAL);
	CHECK_ERR(try(fd, NULL, 0, 0), EINVAL);
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		CHECK_OK(try(fd, mem, good[i], 0));
		CHECK_OK(try(fd, mem + 4 * PAGE - good[i], good[i], KVERBS_BUF_WRITABLE));
	}
	for (i = 0; i < ARRAY_SIZE(beyond); i++) {
		CHECK_ERR(try(fd, mem, beyond[i], 0), EFAULT);
		CHECK_ERR(try(fd, mem + 1, beyond[i], KVERBS_BUF_WRITABLE), EFAULT);
	}
	CHECK_ERR(try(fd, mem + 4 * PAGE - 1, 2, 0), EFAULT);
}

static void bad_addresses(void)
{
	static const __u64 bad[] = {
		0, 1, 4095, 0x7ffffffff000, 0x800000000000, 0xffff800000000000,
		0xffff888000000000, 0xffffffff81000000, 0xfffffffffffff000, ~0ULL,
	};
	int fd = context();
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CHECK_ERR(try(fd, (void *)bad[i], 1, 0), EFAULT);
		CHECK_ERR(try(fd, (void *)bad[i], PAGE, KVERBS_BUF_WRITABLE), EFAULT);
		CHECK_ERR(try(fd, (void *)bad[i], ~0ULL, 0), EFAULT);
	}
}

static bool before_6_2(void)
{
	struct utsname name;
	unsigned long major;
	char *end;

	CHECK_SYS(uname(&name));
	major = strtoul(name.release, &end, 10);
	CHECK_EQ(*end, '.');
	return major < 6 || (major == 6 && strtoul(end + 1, NULL, 10) < 2);
}

static void protections(void)
{
	int fd = context(), memfd = CHECK_SYS(memfd_create("shared", 0));
	__u8 *mem = memory(2 * PAGE), *shared;

	memset(mem, 1, 2 * PAGE);
	CHECK_SYS(mprotect(mem, 2 * PAGE, PROT_NONE));
	/* Before 6.2 a private mapping is pinned by force: see module/compat.h. */
	if (before_6_2())
		CHECK_OK(try(fd, mem, PAGE, 0));
	else
		CHECK_ERR(try(fd, mem, PAGE, 0), EFAULT);
	CHECK_ERR(try(fd, mem, PAGE, KVERBS_BUF_WRITABLE), EFAULT);
	CHECK_SYS(mprotect(mem, 2 * PAGE, PROT_READ));
	CHECK_OK(try(fd, mem, PAGE, 0));
	CHECK_ERR(try(fd, mem, PAGE, KVERBS_BUF_WRITABLE), EFAULT);
	/* The first page would do, the second does not. */
	CHECK_SYS(mprotect(mem, PAGE, PROT_READ | PROT_WRITE));
	CHECK_OK(try(fd, mem, PAGE, KVERBS_BUF_WRITABLE));
	CHECK_ERR(try(fd, mem, 2 * PAGE, KVERBS_BUF_WRITABLE), EFAULT);

	CHECK_SYS(ftruncate(memfd, PAGE));
	shared = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, memfd, 0);
	CHECK(shared != MAP_FAILED);
	if (before_6_2())
		CHECK_ERR(try(fd, shared, PAGE, 0), EFAULT);
	else
		CHECK_OK(try(fd, shared, PAGE, 0));
	CHECK_ERR(try(fd, shared, PAGE, KVERBS_BUF_WRITABLE), EFAULT);
	/* Beyond the end of the file. */
	CHECK_ERR(try(fd, shared + PAGE, PAGE, 0), EFAULT);
}

static void bad_exposures(void)
{
	struct link l = link_up();
	__u8 *mem = memory(2 * PAGE);
	struct kverbs_region_expose good = { .target_id = l.cb, .length = PAGE,
					     .rights = KVERBS_RIGHT_WRITE }, cmd;
	__u32 writable = registered(l.b, mem, PAGE, KVERBS_BUF_WRITABLE);
	__u32 readable = registered(l.b, mem, PAGE, 0), nr = 0;
	static const __u64 far[] = { PAGE, PAGE + 1, 1ULL << 32, 1ULL << 63, ~0ULL };
	__u32 i;

	good.buf_id = writable;
	for (i = 0; i < ARRAY_SIZE(far); i++) {
		cmd = good;
		cmd.offset = far[i];
		cmd.length = 1;
		CHECK_ERR(kverbs_region_expose(l.b, &cmd), ERANGE);
		cmd = good;
		cmd.offset = 1;
		cmd.length = far[i];
		CHECK_ERR(kverbs_region_expose(l.b, &cmd), ERANGE);
		cmd = good;
		cmd.offset = far[i];
		cmd.length = far[i];
		CHECK_ERR(kverbs_region_expose(l.b, &cmd), ERANGE);
		cmd.target_id = l.listener;
		CHECK_ERR(kverbs_region_expose(l.b, &cmd), ERANGE);
	}
	cmd = good;
	cmd.length = 0;
	CHECK_ERR(kverbs_region_expose(l.b, &cmd), EINVAL);
	cmd = good;
	cmd.rights = 0;
	CHECK_ERR(kverbs_region_expose(l.b, &cmd), EINVAL);
	cmd = good;
	cmd.rights = KVERBS_RIGHT_WRITE | 8;
	CHECK_ERR(kverbs_region_expose(l.b, &cmd), EOPNOTSUPP);
	cmd = good;
	cmd.buf_id = readable;
	CHECK_ERR(kverbs_region_expose(l.b, &cmd), EACCES);
	cmd.target_id = l.listener;
	CHECK_ERR(kverbs_region_expose(l.b, &cmd), EACCES);
	cmd.rights = KVERBS_RIGHT_READ | KVERBS_RIGHT_ATOMIC;
	CHECK_ERR(kverbs_region_expose(l.b, &cmd), EACCES);
	CHECK_OK(kverbs_region_list(l.b, l.cb, NULL, &nr));
	CHECK_EQ(nr, 0);
	CHECK_OK(kverbs_region_expose(l.b, &good));
	link_close(&l);
}

/* Registered before it is touched, filled after: the fill must arrive. */
static void first_touch(void)
{
	const __u64 length = 64 * PAGE;
	struct link l = link_up();
	struct field f = field_of(&l, length, 0);
	__u8 *mem = memory(length);
	__u32 buf = registered(l.a, mem, length, 0);

	fill(mem, length, 1);
	PUT(&l, buf, 0, f.region, 0, length);
	field_expect(&f, 0, mem, length);
	FIELD_CHECK(&f);
	/* Changed between two writes. */
	fill(mem, length, 2);
	PUT(&l, buf, 1, f.region, 1, length - 1);
	field_expect(&f, 1, mem + 1, length - 1);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* The same for what the target registered before it touched it. */
static void first_touch_of_target(void)
{
	struct link l = link_up();
	__u8 *mem, *to = memory(64 * PAGE);
	__u32 dst = registered(l.b, to, 64 * PAGE, KVERBS_BUF_WRITABLE);
	__u32 src, own, region;

	mem = source(l.a, 64 * PAGE, 0, 3, &src);
	expose(&l, l.ca, l.cb, dst, 0, 64 * PAGE, &own, &region);
	PUT(&l, src, 0, region, 0, 64 * PAGE);
	CHECK(!memcmp(to, mem, 64 * PAGE));
	link_close(&l);
}

/* The pages stay with what happens to the mapping; the data too. */
static void unmapped_source(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 8 * PAGE, 0);
	__u8 *mem, *copy = memory(8 * PAGE), *again;
	__u32 buf;

	mem = source(l.a, 8 * PAGE, 0, 4, &buf);
	memcpy(copy, mem, 8 * PAGE);
	CHECK_SYS(munmap(mem, 8 * PAGE));
	again = mmap(mem, 8 * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(again == mem);
	memset(again, 0xff, 8 * PAGE);
	PUT(&l, buf, 0, f.region, 0, 8 * PAGE);
	field_expect(&f, 0, copy, 8 * PAGE);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* After fork() the parent's writes to source and target stay the device's. */
static void forked(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 8 * PAGE, 0);
	__u8 *mem;
	__u32 buf;
	pid_t pid;

	mem = source(l.a, 8 * PAGE, 0, 5, &buf);
	pid = CHECK_SYS(fork());
	if (!pid) {
		pause();
		_exit(0);
	}
	fill(mem, 8 * PAGE, 6);
	memset(f.mem + f.guard, 0, 8 * PAGE);
	PUT(&l, buf, 0, f.region, 0, 8 * PAGE);
	field_expect(&f, 0, mem, 8 * PAGE);
	FIELD_CHECK(&f);
	kill(pid, SIGKILL);
	link_close(&l);
}

/* A buffer dropped while it is being sent is sent whole. */
static void destroyed_in_flight(void)
{
	const __u64 length = amount(8, 4, 2) * MIB;
	struct kverbs_conn_attr attr = { .depth = 2 };
	struct link l = link_with(&attr);
	struct field f = field_of(&l, length, 0);
	struct kverbs_item it;
	__u32 buf;
	__u8 *mem;

	mem = source(l.a, length, 0, 7, &buf);
	it = item(buf, 0, f.region, 0, length, KVERBS_DELIVERED);
	SUBMIT(&l, &it);
	CHECK_OK(kverbs_destroy(l.a, buf));
	CHECK_OK(kverbs_destroy(l.b, f.buf));
	CHECK_ERR(kverbs_submit(l.a, l.ca, &it, 1), ENOENT);
	NEXT_FINAL(l.a);
	field_expect(&f, 0, mem, length);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* Files and memfds, from and to. */
static void files(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4 * PAGE, 0);
	int exe = CHECK_SYS(open("/proc/self/exe", O_RDONLY));
	int file = CHECK_SYS(memfd_create("file", 0));
	__u8 *code = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE, exe, 0), *mem;
	__u8 *back = memory(4 * PAGE);
	__u32 src, dst, own, region;

	CHECK(code != MAP_FAILED);
	src = registered(l.a, code, 4 * PAGE, 0);
	PUT(&l, src, 0, f.region, 0, 4 * PAGE);
	field_expect(&f, 0, code, 4 * PAGE);
	FIELD_CHECK(&f);

	CHECK_SYS(ftruncate(file, 4 * PAGE));
	mem = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(mem != MAP_FAILED);
	dst = registered(l.b, mem, 4 * PAGE, KVERBS_BUF_WRITABLE);
	expose(&l, l.ca, l.cb, dst, 0, 4 * PAGE, &own, &region);
	PUT(&l, src, 0, region, 0, 4 * PAGE);
	CHECK_EQ(CHECK_SYS(pread(file, back, 4 * PAGE, 0)), 4 * PAGE);
	CHECK(!memcmp(back, code, 4 * PAGE));
	/* And from there on. */
	src = registered(l.a, mem, 4 * PAGE, 0);
	fill(mem, 4 * PAGE, 8);
	PUT(&l, src, 5, f.region, 0, 3 * PAGE);
	field_expect(&f, 0, mem + 5, 3 * PAGE);
	FIELD_CHECK(&f);
	link_close(&l);
}

static __u8 *map(int fd, __u64 length, __u64 offset, int flags)
{
	__u8 *mem = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, fd, offset);

	return mem == MAP_FAILED ? NULL : mem;
}

/* The errno of an mmap() that must fail. */
static int map_errno(int fd, __u64 length, __u64 offset, int flags)
{
	errno = 0;
	return map(fd, length, offset, flags) ? 0 : -errno;
}

static void alloc_and_map(void)
{
	int fd = context();
	__u64 offset, far;
	__u32 id, buf;
	__u8 *mem, *part;
	__u64 i;

	CHECK_OK(kverbs_buf_alloc(fd, 3 * PAGE + 1, -1, &id, &offset));
	mem = map(fd, 4 * PAGE, offset, MAP_SHARED);
	CHECK(mem);
	for (i = 0; i < 4 * PAGE; i++)
		CHECK_EQ(mem[i], 0);
	fill(mem, 4 * PAGE, 1);
	part = map(fd, PAGE, offset, MAP_SHARED);
	CHECK(part && !memcmp(part, mem, PAGE));
	CHECK_ERR(map_errno(fd, 5 * PAGE, offset, MAP_SHARED), EINVAL);
	CHECK_ERR(map_errno(fd, PAGE, offset, MAP_PRIVATE), EINVAL);
	CHECK(mremap(mem, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	for (far = offset + PAGE; far; far <<= 8)
		CHECK_ERR(map_errno(fd, PAGE, far, MAP_SHARED), ENOENT);
	buf = registered(fd, memory(PAGE), PAGE, KVERBS_BUF_WRITABLE);
	CHECK_ERR(map_errno(fd, PAGE, (offset / id) * buf, MAP_SHARED), EINVAL);

	/* The mapping outlives the id, and the file. */
	CHECK_OK(kverbs_destroy(fd, id));
	CHECK_ERR(map_errno(fd, PAGE, offset, MAP_SHARED), ENOENT);
	close(fd);
	CHECK(!memcmp(part, mem, PAGE));
	fill(mem, 4 * PAGE, 2);
	CHECK(!memcmp(part, mem, PAGE));
	CHECK_SYS(munmap(mem + PAGE, PAGE));
	CHECK(!memcmp(part, mem, PAGE));
}

static void alloc_bad(void)
{
	static const __u64 much[] = { 1ULL << 45, 1ULL << 62, 1ULL << 63, ~0ULL - PAGE, ~0ULL };
	__u64 offset;
	int fd = context();
	__u32 i, id;

	CHECK_ERR(kverbs_buf_alloc(fd, 0, -1, &id, &offset), EINVAL);
	CHECK_ERR(kverbs_buf_alloc(fd, PAGE, -2, &id, &offset), EINVAL);
	CHECK_ERR(kverbs_buf_alloc(fd, PAGE, 1 << 30, &id, &offset), EINVAL);
	CHECK_ERR(kverbs_buf_alloc(fd, PAGE, 1000, &id, &offset), EINVAL);
	for (i = 0; i < ARRAY_SIZE(much); i++)
		CHECK_ERR(kverbs_buf_alloc(fd, much[i], -1, &id, &offset), ENOMEM);
	CHECK_OK(kverbs_buf_alloc(fd, PAGE, 0, &id, &offset));
}

/* Allocated buffers at both ends; a child sees the same pages. */
static void alloc_and_write(void)
{
	const __u64 length = 2 * MIB + PAGE;
	struct link l = link_up();
	__u64 from_offset, to_offset;
	__u32 from, to, own, region;
	__u8 *source_mem, *target_mem;
	int status;
	pid_t pid;

	CHECK_OK(kverbs_buf_alloc(l.a, length, -1, &from, &from_offset));
	CHECK_OK(kverbs_buf_alloc(l.b, length, -1, &to, &to_offset));
	source_mem = map(l.a, length, from_offset, MAP_SHARED);
	target_mem = map(l.b, length, to_offset, MAP_SHARED);
	CHECK(source_mem && target_mem);
	pid = CHECK_SYS(fork());
	if (!pid) {
		fill(source_mem, length, 9);
		_exit(0);
	}
	CHECK(reaped(pid, &status, 60) && !status);
	expose(&l, l.ca, l.cb, to, PAGE, length - PAGE, &own, &region);
	PUT(&l, from, 1, region, 1, length - PAGE - 2);
	CHECK(!memcmp(target_mem + PAGE + 1, source_mem + 1, length - PAGE - 2));
	CHECK(!target_mem[0] && !target_mem[PAGE] && !target_mem[length - 1]);
	link_close(&l);
}

/* Become a user with @pages of budget; files already open stay usable. */
static void poor(__u64 pages)
{
	struct rlimit limit = { pages * PAGE, pages * PAGE };

	CHECK_SYS(setrlimit(RLIMIT_MEMLOCK, &limit));
	CHECK_SYS(setgid(NOBODY));
	CHECK_SYS(setuid(NOBODY));
}

static void budget(void)
{
	__u8 *mem = memory(64 * PAGE);
	int fd = context(), other = context();
	__u32 id, second;
	__u64 offset;

	poor(16);
	CHECK_OK(kverbs_buf_register(fd, mem, 16 * PAGE, 0, &id));
	CHECK_ERR(try(fd, mem, 1, 0), ENOMEM);
	CHECK_ERR(try(other, mem, 1, 0), ENOMEM);
	CHECK_ERR(kverbs_buf_alloc(fd, 1, -1, &second, &offset), ENOMEM);
	CHECK_OK(kverbs_destroy(fd, id));
	/* What is destroyed is given back at once. */
	CHECK_ERR(try(fd, mem, 16 * PAGE + 1, 0), ENOMEM);
	CHECK_ERR(try(fd, mem + 1, 16 * PAGE, 0), ENOMEM);
	CHECK_OK(try(fd, mem + 1, 16 * PAGE - 1, 0));
	CHECK_OK(try(other, mem, 16 * PAGE, 0));
	CHECK_OK(kverbs_buf_alloc(fd, 15 * PAGE + 1, -1, &id, &offset));
	CHECK_ERR(try(fd, mem, 1, 0), ENOMEM);
	CHECK_OK(kverbs_destroy(fd, id));
	CHECK_OK(try(fd, mem, 16 * PAGE, 0));
	/* What failed half-way was not kept. */
	CHECK_SYS(munmap(mem + 8 * PAGE, PAGE));
	CHECK_ERR(try(fd, mem, 16 * PAGE, 0), EFAULT);
	CHECK_OK(try(fd, mem + 9 * PAGE, 16 * PAGE, 0));
}

static bool registers_all(int fd, const __u8 *mem)
{
	return !try(fd, mem, 16 * PAGE, 0);
}

static void budget_back_by_close(void)
{
	__u8 *mem = memory(16 * PAGE);
	int fds[10], last = context();
	__u32 i, id;

	for (i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = context();
	poor(16);
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		CHECK_OK(kverbs_buf_register(fds[i], mem, 16 * PAGE, 0, &id));
		CHECK(!registers_all(last, mem));
		CHECK_SYS(close(fds[i]));
	}
	CHECK(registers_all(last, mem));
}

static void budget_back_by_kill(void)
{
	__u8 *mem = memory(16 * PAGE);
	int fd = context(), own, pipes[2], status;
	char byte;
	pid_t pid;

	CHECK_SYS(pipe(pipes));
	pid = CHECK_SYS(fork());
	if (!pid) {
		own = context();
		close(fd);
		poor(16);
		registered(own, mem, 16 * PAGE, 0);
		CHECK_EQ(write(pipes[1], "x", 1), 1);
		pause();
		_exit(0);
	}
	poor(16);
	CHECK_EQ(read(pipes[0], &byte, 1), 1);
	CHECK(!registers_all(fd, mem));
	kill(pid, SIGKILL);
	CHECK(reaped(pid, &status, 60));
	CHECK(registers_all(fd, mem));
}

/* Memory in use stays charged, whatever became of its id. */
static void budget_while_exposed(void)
{
	struct kverbs_region_expose cmd = { .length = PAGE, .rights = KVERBS_RIGHT_WRITE };
	__u8 *mem = memory(16 * PAGE);
	struct link l = link_up();

	poor(16);
	cmd.buf_id = registered(l.b, mem, 16 * PAGE, KVERBS_BUF_WRITABLE);
	cmd.target_id = l.cb;
	CHECK_OK(kverbs_region_expose(l.b, &cmd));
	CHECK_OK(kverbs_destroy(l.b, cmd.buf_id));
	CHECK(!registers_all(l.b, mem));
	CHECK_OK(kverbs_destroy(l.b, l.cb));
	CHECK(registers_all(l.b, mem));
	link_close(&l);
}

static void budget_while_mapped(void)
{
	struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	__u8 *mem = memory(16 * PAGE), *mapped;
	int fd = context(), i;
	__u64 offset;
	__u32 id;

	poor(16);
	CHECK_OK(kverbs_buf_alloc(fd, 16 * PAGE, -1, &id, &offset));
	mapped = map(fd, 16 * PAGE, offset, MAP_SHARED);
	CHECK(mapped);
	CHECK_OK(kverbs_destroy(fd, id));
	CHECK(!registers_all(fd, mem));
	mapped[0] = 1;
	CHECK_SYS(munmap(mapped, 16 * PAGE));
	/* munmap() leaves the rest to a worker. */
	for (i = 0; i < patience_ms() / 10 && !registers_all(fd, mem); i++)
		nanosleep(&pause, NULL);
	CHECK(registers_all(fd, mem));
}

static const struct test tests[] = {
	{ "lengths", lengths },
	{ "bad_addresses", bad_addresses },
	{ "protections", protections },
	{ "bad_exposures", bad_exposures },
	{ "first_touch", first_touch },
	{ "first_touch_of_target", first_touch_of_target },
	{ "unmapped_source", unmapped_source },
	{ "forked", forked },
	{ "destroyed_in_flight", destroyed_in_flight },
	{ "files", files },
	{ "alloc_and_map", alloc_and_map },
	{ "alloc_bad", alloc_bad },
	{ "alloc_and_write", alloc_and_write },
	{ "budget", budget },
	{ "budget_back_by_close", budget_back_by_close },
	{ "budget_back_by_kill", budget_back_by_kill },
	{ "budget_while_exposed", budget_while_exposed },
	{ "budget_while_mapped", budget_while_mapped },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}

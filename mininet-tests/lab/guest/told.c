// SPDX-License-Identifier: GPL-2.0
/*
 * told - writes a file that the emulator has for the guest to standard output
 *
 *	told NAME
 *
 * The emulator's files (fw_cfg) are read byte by byte at a port, from a file's beginning.
 * The kernel's driver begins anew for each page, which takes a time that grows with the
 * square of the length: 9 s for 800 kB. Status 1, and a line on standard error, where
 * there is no such file.
 */
#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>

/* of QEMU's fw_cfg device on a PC (docs/specs/fw_cfg) */
#define SELECTOR_PORT 0x510
#define DATA_PORT 0x511
#define SIGNATURE 0x00
#define DIRECTORY 0x19
#define MAX_NAME 56

struct entry {
	uint32_t size_be;
	uint16_t selector_be;
	uint16_t reserved;
	char name[MAX_NAME];
};

static void take(void *to, size_t size)
{
	for (unsigned char *byte = to; size; size--)
		*byte++ = inb(DATA_PORT);
}

int main(int argc, char **argv)
{
	struct entry entry;
	char signature[4], *data;
	uint32_t left_be;
	size_t size;

	if (argc != 2) {
		fputs("usage: told NAME\n", stderr);
		return 2;
	}
	if (ioperm(SELECTOR_PORT, 2, 1)) {
		perror("told: ioperm");
		return 1;
	}
	outw(SIGNATURE, SELECTOR_PORT);
	take(signature, sizeof(signature));
	if (memcmp(signature, "QEMU", sizeof(signature))) {
		fputs("told: this machine is not QEMU's\n", stderr);
		return 1;
	}
	outw(DIRECTORY, SELECTOR_PORT);
	take(&left_be, sizeof(left_be));
	for (uint32_t left = be32toh(left_be); left; left--) {
		take(&entry, sizeof(entry));
		if (strncmp(entry.name, argv[1], sizeof(entry.name)))
			continue;
		size = be32toh(entry.size_be);
		data = malloc(size);
		if (!data) {
			fputs("told: out of memory\n", stderr);
			return 1;
		}
		outw(be16toh(entry.selector_be), SELECTOR_PORT);
		take(data, size);
		return fwrite(data, 1, size, stdout) != size || fflush(stdout);
	}
	fprintf(stderr, "told: the emulator has no file %s\n", argv[1]);
	return 1;
}

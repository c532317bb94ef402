// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * nlreq: one request to the module, as whoever asks, and what came of it:
 *
 *	ERROR ANSWERS COUNT MESSAGE
 *
 * with the errno by name ("0": none) and "-" for what there was not. MESSAGE is "disarmed"
 * where a dump says that the module is.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rawnl.h"

static const char usage[] =
	"usage: nlreq [OPTION]... COMMAND doit|dump [REQUEST]\n"
	"       nlreq [OPTION]... bind\n"
	"  --drop-to UID     become this user once the socket is open\n"
	"  --socket-of UID   the socket is opened by a process of this user, and passed\n"
	"  --lease           of an answer to ACT show just the id of the lease\n"
	"bind joins the group of events.\n";

/* In a child without privileges; the socket comes back over a socket. */
static int foreign_socket(unsigned long uid)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	struct rawnl nl;
	int pair[2], fd;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		return -1;
	pid = fork();
	if (!pid) {
		if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid) || rawnl_open(&nl, -1))
			_exit(1);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &nl.fd, sizeof(int));
		_exit(sendmsg(pair[1], &msg, 0) < 0);
	}
	close(pair[1]);
	if (pid < 0 || recvmsg(pair[0], &msg, 0) < 0 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	waitpid(pid, NULL, 0);
	return fd;
}

static void take_lease(const void *attrs, size_t len, void *arg)
{
	size_t n;
	const void *lease = rawnl_find(attrs, len, SWIFTRDMA_A_LEASE, &n);

	if (lease)
		*(uint64_t *)arg = rawnl_u64(lease, n, SWIFTRDMA_LEASE_A_ID);
}

static int result(int err, const struct rawnl_reply *reply)
{
	printf("%s %u ", err ? strerrorname_np(-err) : "0", reply->answers);
	if (reply->has_count)
		printf("%u ", reply->count);
	else
		printf("- ");
	puts(reply->message[0] ? reply->message :
	     reply->has_count && !reply->armed ? "disarmed" : "-");
	return !!err;
}

static bool good_args(int argc, char **argv)
{
	if (argc < 1)
		return false;
	if (!strcmp(argv[0], "bind"))
		return true;
	return argc > 1 && rawnl_cmd(argv[0]) > 0 &&
	       (!strcmp(argv[1], "doit") || !strcmp(argv[1], "dump"));
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "socket-of", required_argument, NULL, 's' }, { "drop-to", required_argument, NULL, 'd' },
		{ "lease", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	struct rawnl_reply reply = {};
	unsigned long drop_to = 0;
	bool show_lease = false;
	uint64_t lease = 0;
	int c, cmd, err, fd = -1;
	struct rawnl nl;

	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			fd = foreign_socket(strtoul(optarg, NULL, 10));
			if (fd < 0) {
				perror("nlreq: a socket of another user");
				return 2;
			}
			break;
		case 'l':
			show_lease = true;
			break;
		case 'd':
			drop_to = strtoul(optarg, NULL, 10);
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	argv += optind;
	argc -= optind;
	if (!good_args(argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	err = rawnl_open(&nl, fd);
	if (err) {
		fprintf(stderr, "nlreq: family: %s\n", strerror(-err));
		return 2;
	}
	if (drop_to && (setresgid(drop_to, drop_to, drop_to) ||
			setresuid(drop_to, drop_to, drop_to))) {
		perror("nlreq: --drop-to");
		return 2;
	}
	if (!strcmp(argv[0], "bind")) {
		err = setsockopt(nl.fd, SOL_NETLINK, 1 /* NETLINK_ADD_MEMBERSHIP */, &nl.group,
				 sizeof(nl.group)) ? -errno : 0;
	} else {
		cmd = rawnl_cmd(argv[0]);
		err = rawnl_do(&nl, cmd, !strcmp(argv[1], "dump"), argc > 2 ? argv[2] : "", NULL,
			       &reply, take_lease, &lease);
	}
	if (show_lease && !err)
		printf("%llu\n", (unsigned long long)lease);
	else
		err = result(err, &reply);
	rawnl_close(&nl);
	return err;
}

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Clients of an HTTP server, most of them of no use to it, until their standard input ends.

usage: slow_clients.py KIND N PORT

  idle      connect and say nothing
  half      send half a request, then a byte of a header each second
  reader    ask for /metrics and read a byte a second
  stalled   ask for the page's events and read a byte a second
  viewer    ask for the page's events and read them all, which is of use
  refused   connect over and over with a request that is no HTTP

Prints "ready" when all N are connected, or were."""
import asyncio
import resource
import socket
import sys

HALF = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Pad: "
WHOLE = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
EVENTS = b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n"


async def connect(port):
    sock = socket.socket()
    sock.setblocking(False)
    # A small window, so that an answer cannot lie in the reader's socket.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    return sock


async def run_client(kind, port, started):
    loop = asyncio.get_running_loop()
    while True:
        try:
            sock = await connect(port)
            if kind == "half":
                await loop.sock_sendall(sock, HALF)
            elif kind == "reader":
                await loop.sock_sendall(sock, WHOLE)
            elif kind in ("stalled", "viewer"):
                await loop.sock_sendall(sock, EVENTS)
            elif kind == "refused":
                await loop.sock_sendall(sock, b"\x16\x03\x01 no HTTP\r\n\r\n")
                await loop.sock_recv(sock, 100)
                sock.close()
            started()
            while kind == "viewer" and await loop.sock_recv(sock, 65536):
                pass
            while kind not in ("refused", "viewer"):
                await asyncio.sleep(1)
                if kind == "half":
                    await loop.sock_sendall(sock, b"x")
                elif kind in ("reader", "stalled") and not await loop.sock_recv(sock, 1):
                    break
        except OSError:
            pass
        await asyncio.sleep(0.05)


async def main():
    kind, n, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_NOFILE, (n + 64, max(n + 64, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    left = n

    def started():
        nonlocal left
        left -= 1
        if left == 0:
            print("ready", flush=True)

    clients = [asyncio.create_task(run_client(kind, port, started)) for _ in range(n)]
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for client in clients:
        client.cancel()


asyncio.run(main())

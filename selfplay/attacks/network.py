"""Escapes to the network. @PORT@ is a listener of the battery on 127.0.0.1."""

from selfplay.attacks.attack import Escape

FAMILY = "network"


def _escape(name: str, body: str, unshown: str = "") -> Escape:
    return Escape(name, FAMILY, body, "unjailed", unshown)


ATTACKS = (
    _escape("connect", "import socket\nsocket.create_connection(('127.0.0.1', @PORT@), 1).close()\nreturn True"),
    _escape("make a socket", "import socket\nsocket.socket()\nreturn True"),
    _escape("listen", "import socket\nsocket.create_server(('127.0.0.1', 0)).close()\nreturn True"),
    _escape(
        "send a datagram",
        "import socket\nreturn socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', @PORT@)) == 1",
    ),
    _escape(
        "resolve a name",
        """
        import socket
        asked = socket.socket(type=socket.SOCK_DGRAM)
        asked.connect(('127.0.0.1', 53))
        return asked.send(b'\\0' * 12) == 12""",
    ),
    _escape(
        "a local socket with a name",
        """
        import socket
        server = socket.socket(socket.AF_UNIX)
        server.bind('@FOLDER@/named-socket')""",
    ),
    _escape(
        "an abstract local socket",
        """
        import os, socket
        socket.socket(socket.AF_UNIX).bind(f'\\0selfplay-battery-{os.getpid()}')
        return True""",
    ),
    _escape(
        "a datagram pair that can address others",
        "import socket\nsocket.socketpair(type=socket.SOCK_DGRAM)\nreturn True",
    ),
    _escape(
        "hand a descriptor over a pair",
        """
        import array, socket
        a, b = socket.socketpair()
        a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))])
        return True""",
    ),
    _escape(
        "read raw packets",
        "import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)\nreturn True",
        unshown="needs root",
    ),
    _escape(
        "ask the kernel's routing socket",
        "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW)\nreturn True",
    ),
    _escape(
        "talk to the hypervisor",
        "import socket\nsocket.socket(socket.AF_VSOCK)\nreturn True",
        unshown="needs the kernel's module",
    ),
    _escape(
        "use the kernel's cipher socket",
        "import socket\nsocket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)\nreturn True",
        unshown="needs the kernel's module",
    ),
    _escape(
        "asyncio server",
        """
        import asyncio
        async def main():
            server = await asyncio.start_server(lambda r, w: None, '127.0.0.1', 0)
            return len(server.sockets) > 0
        return asyncio.run(main())""",
    ),
)
